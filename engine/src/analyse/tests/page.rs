//! The page: every game is there, nothing of a file becomes markup, and the data of its script.

use super::*;
use crate::analyse::html::{self, PageStyle, Title};
use crate::analyse::lines;
use crate::analyse::review::Review;
use crate::analyse::run::PlayerTask;
use crate::eval::look::{InspectedMove, Inspection, PredictedBoard};
use shakmaty::Square;

/// The page of these games without the network's view.
fn page(games: &[PgnGame], name: &str) -> String {
    let out = fresh(name);
    let journal = searched(games, &analyst(), &task(&out));
    let reviews: Vec<Review<'_>> =
        games.iter().map(|game| reviewed(game, &journal, RULES)).collect();
    html::games(&reviews, PageStyle { network_view: &|_| None, full: false })
}

#[test]
fn the_page_shows_every_game_and_needs_no_other_file() {
    let mut games = sound(GAMES);
    games[0].tags[1].1 = "<b>&".to_owned();
    let tag = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    games[0].tags.extend([tag("WhiteElo", "1834"), tag("BlackElo", "<i>")]);
    let out = fresh("page");
    let journal = searched(&games, &analyst(), &task(&out));
    let review = |game| reviewed(game, &journal, RULES);
    let reviews: Vec<Review<'_>> = games.iter().map(review).collect();
    let sees = |game: &Game| {
        let inspected = |action| InspectedMove {
            action,
            san: String::new(),
            policy: 0.5,
            chances: vec![0.5, 0.5],
            value: 0.25,
            legality: 1.0,
            predicted_legal: true,
        };
        let predicted_board = PredictedBoard {
            action: *game.legal_actions().first()?,
            heading: "1. <e4".to_owned(),
            state: Ok(game.position().clone()),
            wrong: vec![Square::E4],
            verdict: "wrong",
        };
        Some(Inspection {
            game: game.clone(),
            chances: vec![0.5, 0.5],
            value: 0.5,
            wdl: mcts::Wdl { win: 0.2, draw: 0.6, loss: 0.2 },
            moves: game.legal_actions().into_iter().map(inspected).collect(),
            predicted_legal: 1,
            false_positives: vec![("a1h8".to_owned(), 0.7)],
            line: vec![predicted_board],
        })
    };
    let title = Title::new(&reviews, true, "no network", Effort::Nodes(40));
    let page = |network_view| {
        let style = PageStyle { network_view, full: true };
        html::head(&title) + &html::games(&reviews, style) + &html::end()
    };
    let text = page(&sees);
    assert!(text.contains("The network expects 25 %"));
    assert!(text.contains("It invents a1h8 (70 %)") && text.contains("1. &lt;e4"));
    let blind = page(&|_| None);
    assert!(!blind.contains("<td colspan='4'>") && !blind.contains("class='mind'"));
    assert!(text.contains("\"eyes\":[") && blind.contains("\"eyes\":[null,"));
    // `http-equiv` is the page's own policy.
    for outside in ["http:", "https:", "src=", "url(", "<link", "@import", "<b>"] {
        assert!(!text.contains(outside), "{outside}");
    }
    assert_eq!(text.matches("<script").count(), 2, "the page's own: data and program");
    assert!(text.contains("&lt;b&gt;&amp; (1834) – Black (&lt;i&gt;)"));
    for element in ["section", "article", "table", "svg", "div", "p", "span", "a", "g", "details"] {
        let count = |mark: String| text.matches(&mark).count();
        let open = count(format!("<{element} ")) + count(format!("<{element}>"));
        assert_eq!(open, count(format!("</{element}>")), "{element}");
    }
    assert_eq!(text.matches("<section ").count(), games.len());
    assert_eq!(text.matches("class='curve'").count(), games.len());
    assert_eq!(text.matches("class='moves'").count(), games.len());
    assert_eq!(text.matches("class='viewer replay'").count(), games.len());
    assert!(text.contains("f2f3 e7e5 g2g4 d8h4") && text.contains("f3 e5 g4 Qh4#"));
    assert!(text.contains("<th title='Moves 1 to 5'>Opening</th>"));
    assert!(text.contains("17… O-O-O") && text.contains("4. Nxf7") && text.contains("2… Qh4#"));
    assert!(text.matches("class='board'").count() > games.len());
}

#[test]
fn only_web_addresses_become_links_and_openings_are_named_by_position() {
    let site = |value: &str| format!("[Site \"{value}\"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n");
    let sites = [
        "https://lichess.org/abc",
        "http://a.b/?c=d&e='",
        "javascript:alert(1)",
        "HTTPS://x.y",
        "https://",
        "https://a b",
        "data:text/html,x",
        "Paris",
    ];
    let text = page(&sound(&sites.map(site).concat()), "sites");
    assert_eq!(text.matches(" rel='noopener noreferrer'>").count(), 2, "{text}");
    let link = "<a href='https://lichess.org/abc' rel='noopener noreferrer'>lichess.org/abc</a>";
    assert!(
        text.contains(&format!("<p class='soft'>{link} · A00 Barnes Opening: Fool&#39;s Mate</p>"))
    );
    assert!(text.contains("<a href='http://a.b/?c=d&amp;e=&#39;' rel="));
    assert!(text.contains("<p class='soft'>javascript:alert(1) · "), "as text");
    let tagged = "[ECO \"Z99\"]\n\n1. f3 e5 *\n\n[Opening \"Mine\"]\n\n1. f3 e5 *\n\n\
                  [FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]\n\n1. e4 *\n";
    let text = page(&sound(tagged), "tagged");
    for facts in ["Z99 Barnes Opening", "Mine", ""] {
        assert!(text.contains(&format!("<p class='soft'>{facts}</p>")), "{facts}: {text}");
    }
}

#[test]
fn clocks_have_a_chart_below_the_curve() {
    let text = page(&sound(GAMES), "clocks");
    assert_eq!(text.matches("class='clocks'").count(), 1, "one game has clocks");
    assert!(text.contains("\"clocks\":[300,null,null,298,"), "{text}");
}

#[test]
fn variations_step_on_the_board_with_the_moves_before_them() {
    let games = sound(GAMES);
    let out = fresh("lines");
    let journal = Journal::open(&out, &origin()).unwrap();
    let shown = |game| {
        let lines = lines::all(&reviewed(game, &journal, RULES));
        let text = serde_json::to_value(lines).unwrap();
        let line = |line: &serde_json::Value| {
            let word = |name: &str| line[name].as_str().unwrap().to_owned();
            format!("{} {} {} | {}", line["at"], line["from"], word("uci"), word("san"))
        };
        text.as_array().unwrap().iter().map(line).collect::<Vec<_>>()
    };
    let expected = [
        "1 0 c7c5 g1f3 d7d6 | c5 Nf3 d6",
        "1 1 c7c5 c2c3 d7d5 | c5 c3 d5",
        "1 1 c7c5 b2b4 | c5 b4",
        "2 0 f2f4 e5f4 | f4 exf4",
        "5 0 0000 d2d4 | -- d4",
    ];
    assert_eq!(shown(&games[0]), expected);
    assert_eq!(shown(&games[1]), ["1 0 g7g6 | g6"], "Chess960");
    let long = format!(
        "1. e4 ({} *",
        "1. d4 d5 2. Nf3 Nf6 3. Ng1 Ng8 ".to_owned() + &"Nf3 Nf6 Ng1 Ng8 ".repeat(400) + ")"
    );
    let words: usize = shown(&sound(&long)[0]).iter().map(|line| line.split(' ').count()).sum();
    assert!((700..1000).contains(&words), "a book is cut: {words}");
    journal.delete().unwrap();
}

#[test]
fn mistakes_are_given_to_try_with_all_legal_moves() {
    let text = page(&sound("1. f3 e5 2. g4 Qh4# 0-1"), "tries");
    let (_, data) = text.split_once("application/json' id='replays-1'>").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let tries = data[0]["tries"].as_array().unwrap();
    let glyph = |ply: usize| data[0]["glyphs"][ply][1].as_str().unwrap_or("").to_owned();
    let errors = (0..4).filter(|ply| ["?", "??"].contains(&glyph(*ply).as_str()));
    assert_eq!(tries.len(), errors.count());
    let last = tries.iter().find(|attempt| attempt[0] == 2).expect("2. g4 allows mate");
    let legal: Vec<&str> = last[1].as_str().unwrap().split(' ').collect();
    assert_eq!(legal.len(), 19);
    let better = data[0]["lines"].as_array().unwrap().iter().find(|line| line["at"] == 2).unwrap();
    let best = last[2][0].as_str().unwrap().split(' ').next().unwrap();
    assert!(better["uci"].as_str().unwrap().starts_with(best) && legal.contains(&best));
    assert!(
        last[2]
            .as_array()
            .unwrap()
            .iter()
            .all(|known| !known.as_str().unwrap().starts_with("g2g4"))
    );
}

#[test]
fn a_players_section_begins_the_page_and_has_every_game() {
    let text = "[White \"Ann\"]\n[Black \"<b>\"]\n[Date \"2026.01.31\"]\n[Result \"0-1\"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n\
                [White \"Bob\"]\n[Black \"ANN\"]\n[Result \"1/2-1/2\"]\n\n1. e4 e5 2. Nf3 Nc6 1/2-1/2\n\n\
                [White \"Bob\"]\n[Black \"Cid\"]\n\n1. d4 *\n";
    let games = sound(text);
    let out = fresh("player");
    let [page, csv] = ["html", "csv"].map(|ending| out.with_extension(ending));
    let blind: &dyn Fn(&Game) -> Option<Inspection> = &|_| None;
    let player = Some(PlayerTask { name: "ann", csv: Some(&csv) });
    let task = AnalysisTask { html: Some((&page, blind)), player, ..task(&out) };
    written(of(&games), &analyst(), &task);
    let text = fs::read_to_string(&page).unwrap();
    let places = ["<h1>", "id='player'", "<ol>", "id='g1'", "id='g2'", "id='g3'", "</html>"]
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part} is not in {text}")));
    assert!(places.is_sorted(), "{places:?}");
    assert!(
        text.contains("<h2>Ann <span class='soft'>2 games</span></h2>\n<p>0 won, 1 drawn, 1 lost.")
    );
    assert!(
        text.contains("<a href='#g1'>1</a><td>2026.01.31<td>White<td>&lt;b&gt;<td>0<td>A00 Barnes")
    );
    let rows: Vec<String> = fs::read_to_string(&csv).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(rows.len(), 1 + 2);
    assert!(rows[2].starts_with("2,\"\",black,\"Bob\",0.5,\"C44\","), "{}", rows[2]);
    // The moves of the file are judged as on the page.
    let accuracy = rows[1].split(',').nth(7).unwrap().parse::<f64>().unwrap().round();
    assert!(
        text.contains(&format!("<td><span class='name'>Ann</span> <span class='soft'>White</span></td><td>{accuracy:.0} %")),
        "{accuracy}"
    );
    for path in [page, csv] {
        fs::remove_file(path).unwrap();
    }
}

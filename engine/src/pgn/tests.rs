//! Files as other programs write them, and files that would take much time or memory.

use super::read::PgnGames;
use super::{PgnEntry, PgnGame, Unreadable, open_games, read_games};

fn sans(game: &PgnGame) -> String {
    game.line.moves.iter().map(|made| &*made.san).collect::<Vec<_>>().join(" ")
}

fn all(text: &str) -> Vec<PgnGame> {
    let game = |entry| match entry {
        PgnEntry::Game(game) => *game,
        PgnEntry::Unreadable { number, why, .. } => panic!("game {number}: {why}"),
    };
    read_games(text, 1).into_iter().map(game).collect()
}

#[track_caller]
fn only(text: &str) -> PgnGame {
    let mut games = all(text);
    assert_eq!(games.len(), 1);
    games.remove(0)
}

#[test]
fn games_without_tags_may_follow_each_other() {
    for text in [
        "1. e4 e5 *\n1. d4 d5 *\n1. c4 *\n",
        "1. e4 e5 *\r1. d4 d5 *\r1. c4 *\r",
        "1. e4 e5 * 1. d4 d5 * 1. c4 *",
        "e4 e5 1-0\nd4 d5 0-1\nc4 *",
        "1. e4 e5 1-0 {Black resigns}\n1. d4 d5 *{drawn}1. c4\u{a0}* ; the end",
        "[White \"A\"]\n\n1. e4 e5 1/2-1/2\n1. d4 d5 1:0\n\n1. c4",
    ] {
        let found: Vec<String> = all(text).iter().map(sans).collect();
        assert_eq!(found, ["e4 e5", "d4 d5", "c4"], "{text:?}");
    }
    // Only a first move behind a result begins a game.
    for text in [
        "1. e4 {1-0} e5\n2. Nf3 *",
        "1. e4 (1. d4 *) 1... e5 2. Nf3 *",
        "1. e4 e5 *\n{the end}",
        "1. e4 e5 1-0\n2. Nf3 *",
    ] {
        assert_eq!(all(text).len(), 1, "{text}");
    }
}

#[test]
fn odd_tags_tear_no_game() {
    let text = "[Event \"a\"]\n[]\n[1st_Tag \"x\"]\n[White.Team \"x\"]\n[White's team \"x\"]\n\
                [White \"Ann\"]\n[White Elo \"2000\"]\n[White \"Bob\"]\n[? \"x\"]\n[Opening \"Alapin\"]\n\n1. e4 *\n\n\
                []\n[Event \"b\"]\n\n1. d4 *\n";
    let [first, second] = &all(text)[..] else { panic!("two games") };
    assert_eq!((sans(first), sans(second)), ("e4".to_owned(), "d4".to_owned()));
    assert_eq!((first.tag("White"), first.tag("White_Elo")), (Some("Ann"), Some("2000")));
    assert_eq!((first.tag("Opening"), second.tag("Event")), (Some("Alapin"), Some("b")));
    assert_eq!(first.tags.len(), 7, "{:?}", first.tags);
    assert_eq!(
        first.lost,
        [
            "line 2: `[]` is no tag and is skipped",
            "line 8: a second tag White, `Bob`, is skipped",
            "line 9: `[? \"x\"]` is no tag and is skipped",
        ]
    );
}

#[test]
fn zeros_castle_or_end_a_game_that_both_lost() {
    let ready = "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. 0-0";
    let read = |text: &str| {
        let game = all(text).remove(0);
        (game.line.moves.len(), game.tag("Result").map(str::to_owned), game.lost.len())
    };
    let both_lost = Some("0-0".to_owned());
    assert_eq!(read(&format!("{ready} Nf6 *")), (8, None, 0));
    assert_eq!(read(ready), (7, None, 0));
    assert_eq!(read(&format!("[Result \"*\"]\n\n{ready} *")), (7, Some("*".to_owned()), 0));
    assert_eq!(read(&format!("[Result \"0-0\"]\n\n{ready}")), (6, both_lost.clone(), 0));
    assert_eq!(read(&format!("[Result \"0-0\"]\n\n{ready} Nf6 0-0")), (8, both_lost.clone(), 0));
    assert_eq!(read("1. e4 e5 0-0"), (2, both_lost.clone(), 0));
    assert_eq!(read("[Result \"0-0\"]\n\n1. e4 0-0 {forfeit}"), (1, both_lost, 0));
    assert_eq!(read("1. e4 e5 2. 0-0 Nc6 3. Bb5 *"), (2, None, 1), "cut, as every illegal move");
}

#[test]
fn glyphs_before_a_move_belong_to_it() {
    let game = only("$146 1. e4 $1 e5 ($142 1... c5 $14) 2. Nf3 *");
    assert_eq!((game.line.moves[0].nags.as_slice(), game.lost.len()), (&[146, 1][..], 0));
    assert_eq!(game.line.moves[1].variations[0].moves[0].nags, [142, 14]);
    let game = only("1. e4 ($142) e5 $3 *\n");
    assert_eq!(game.lost, ["line 1: the glyph $142 has no move"]);
}

#[test]
fn a_game_has_a_bound_and_the_next_one_is_read() {
    let moves = "Nf3 Nf6 Ng1 Ng8 ".repeat(1 << 20);
    for body in [moves.as_str(), &moves.replace("Ng8 ", "Ng8\n")] {
        let text = format!("[Event \"a\"]\n\n{body}1-0\n\n[Event \"b\"]\n\n1. e4 *\n");
        let [PgnEntry::Unreadable { raw, why, number: 1 }, PgnEntry::Game(next)] =
            &read_games(&text, 1)[..]
        else {
            panic!("two games")
        };
        assert_eq!((why, sans(next)), (&Unreadable::TooLarge, "e4".to_owned()));
        assert_eq!(raw, "[Event \"a\"]\n\n{ More than 16 MiB of text, left out } *\n\n");
    }
}

/// Inputs for quadratic work or growing memory: 40,000 of everything.
#[test]
fn many_parts_are_read_in_linear_time() {
    let many = |part: &str| part.repeat(40_000);
    let tags: String = (0..40_000).map(|at| format!("[Tag{at} \"x\"]\n")).collect();
    assert_eq!(only(&format!("{tags}\n1. e4 *")).tags.len(), 40_000);
    assert_eq!(only(&format!("{}\n\n1. e4 *", many("[A \"1\"] "))).tags.len(), 40_000);
    assert_eq!(only(&format!("[A \"{}\"]\n\n1. e4 *", many("\\\" "))).tags.len(), 1);
    assert_eq!(all(&many("1. e4 * ")).len(), 40_000);
    assert_eq!(only(&format!("1. e4 {}*", many("( 1. d4 "))).lost.len(), 1);
    let unknown = only(&format!("1. e4 {}*", many("x? ")));
    assert!(unknown.lost.len() < 200, "{}", unknown.lost.len());
    let quoted = format!("1. e4 {{\n{}}} e5 *", many("[A \"1\"]\n"));
    assert!(read_games(&quoted, 1).len() <= 2);
}

#[test]
fn one_stray_byte_changes_no_other_game() {
    let bytes = [
        "[White \"J\u{f6}rg\"]\n\n1. e4 *\n\n".as_bytes(),
        b"[White \"J\xf6rg \x84x\x93 \x96\"]\n\n1. d4 *\n",
    ]
    .concat();
    let names: Vec<String> = PgnGames::new(bytes.as_slice(), 1)
        .map(|entry| match entry.unwrap() {
            PgnEntry::Game(game) => game.tag("White").unwrap_or_default().to_owned(),
            PgnEntry::Unreadable { .. } => String::new(),
        })
        .collect();
    assert_eq!(names, ["J\u{f6}rg", "J\u{f6}rg \u{201e}x\u{201c} \u{2013}"]);
}

#[test]
fn a_torn_stream_keeps_its_games_and_ends_with_its_error() {
    let text: String =
        (1..=2000).map(|at| format!("[Round \"{at}\"]\n\n1. e4 e5 2. Nf3 *\n\n")).collect();
    let mut packer = flate2::read::GzEncoder::new(text.as_bytes(), flate2::Compression::fast());
    let mut packed = Vec::new();
    std::io::Read::read_to_end(&mut packer, &mut packed).unwrap();
    let path = std::env::temp_dir().join(format!("mavka-torn-{}.pgn.gz", std::process::id()));
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let found: Vec<_> = open_games(&path, 1).unwrap().collect();
    std::fs::remove_file(&path).unwrap();
    let (last, games) = found.split_last().unwrap();
    assert!(last.as_ref().is_err_and(nn::unpack::is_damage), "{last:?}");
    assert!(games.len() > 500 && games.iter().all(Result::is_ok), "{}", games.len());
    for entry in &games[..games.len() - 1] {
        assert!(matches!(entry, Ok(PgnEntry::Game(game)) if sans(game) == "e4 e5 Nf3"));
    }
}

//! Round trips of a journal, and rejection of others.

use super::*;
use crate::league::book::Book;
use crate::league::standings::Standings;
use shakmaty::Chess;
use std::fs;

const LEAGUE: &str = "name = 'l'\ngames = 10\nlimit = { nodes = 5 }\n[[agent]]\nname = 'a'\n\
                      [[agent]]\nname = 'b'\n";

fn league(text: &str) -> League {
    League::read(text).unwrap()
}

fn game(pair: usize, ending: Ending) -> Entry {
    let fen = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 3 9";
    let opening = crate::openings::read(fen, pair % 2 == 1).unwrap().remove(0);
    let mut position: Chess = opening.position.clone();
    let mut plies = Vec::new();
    for (index, word) in ["e1h1", "a7a6", "g1h1"].into_iter().enumerate() {
        let action = word.parse::<UciMove>().unwrap().to_move(&position).unwrap();
        let score = [Some(Score::Centipawns(-31)), Some(Score::Mate(-2)), None][index];
        let (depth, nodes) = (score.map(|_| 7), score.map(|_| 1 << 40));
        let elapsed = Duration::from_micros(12_345 * index as u64);
        plies.push(Ply { color: position.turn(), action, score, depth, nodes, elapsed });
        position.play_unchecked(action);
    }
    let warnings = ByColor { white: [1, 0, 0, 2, 0, 0], black: [0; 6] };
    let played = PlayedGame { plies, winner: Some(Color::Black), ending, warnings };
    let agents = ByColor { white: pair % 2, black: 1 - pair % 2 };
    Entry { pair, game: 1, agents, date: "2026.01.31".to_owned(), opening, played }
}

fn endings() -> Vec<Ending> {
    let mut all: Vec<Ending> = PLAIN.iter().map(|(_, ending)| ending.clone()).collect();
    for color in Color::ALL {
        all.extend([
            Ending::TimeLoss(color),
            Ending::IllegalMove(color, "e2\"e5".to_owned()),
            Ending::Crash(color, "exit 1\nline".to_owned()),
            Ending::Stall(color),
        ]);
    }
    all
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("mavka-league-{name}-{}", std::process::id()))
}

#[test]
fn games_come_back_as_they_were_and_a_cut_loses_one_at_most() {
    let path = path("cut");
    let _ = fs::remove_file(&path);
    let (league, who) = (league(LEAGUE), ["n1".to_owned(), "n1".to_owned()]);
    let (mut journal, past) = Journal::open(&path, &league, &who).unwrap();
    assert!(past.games.is_empty() && past.next_pair == 0);
    let written: Vec<Entry> =
        endings().into_iter().enumerate().map(|(pair, ending)| game(pair, ending)).collect();
    written.iter().for_each(|entry| journal.add(entry).unwrap());
    drop(journal);
    let text = fs::read(&path).unwrap();
    for length in (0..=text.len()).step_by(13).chain([text.len()]) {
        fs::write(&path, &text[..length]).unwrap();
        let lines = text[..length].iter().filter(|byte| **byte == b'\n').count();
        let (mut journal, Resume { games, .. }) = Journal::open(&path, &league, &who).unwrap();
        assert_eq!(games.len(), lines.saturating_sub(3), "cut at {length}");
        for (read, written) in games.iter().zip(&written) {
            assert_eq!(read.played.plies, written.played.plies);
            assert_eq!(read.played.ending, written.played.ending);
            assert_eq!(read.played.winner, written.played.winner);
            assert_eq!(read.played.warnings, written.played.warnings);
            assert_eq!(read.agents, written.agents);
            assert_eq!(read.opening.fen(), written.opening.fen());
            assert_eq!(read.opening.chess960(), written.opening.chess960());
        }
        journal.add(&game(99, Ending::Checkmate)).unwrap();
        drop(journal);
        let games = Journal::open(&path, &league, &who).unwrap().1.games;
        assert_eq!(games.last().map(|entry| entry.pair), Some(99));
    }
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_journal_cut_within_a_letter_is_continued() {
    let path = path("letter");
    let _ = fs::remove_file(&path);
    let text = LEAGUE.replace("'l'", "'Möwe'").replace("'a'", "'é'");
    let (league, who) = (league(&text), [String::new(), String::new()]);
    let mut journal = Journal::open(&path, &league, &who).unwrap().0;
    let ending = Ending::Crash(Color::White, "ゼロ".to_owned());
    journal.add(&game(0, ending.clone())).unwrap();
    drop(journal);
    let bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let (mut journal, past) = Journal::open(&path, &league, &who).unwrap();
        assert!(past.games.is_empty(), "cut at {length}");
        journal.add(&game(1, ending.clone())).unwrap();
        drop(journal);
        assert_eq!(Journal::look(&path, &league).unwrap().len(), 1, "cut at {length}");
    }
    fs::remove_file(&path).unwrap();
}

#[test]
fn agents_may_come_and_go_but_not_change() {
    let path = path("agents");
    let _ = fs::remove_file(&path);
    let who = ["n1".to_owned(), "n1".to_owned()];
    let (mut journal, _) = Journal::open(&path, &league(LEAGUE), &who).unwrap();
    journal.add(&game(0, Ending::Checkmate)).unwrap();
    drop(journal);
    let more = format!("{LEAGUE}[[agent]]\nname = 'c'\nnodes = 9\n");
    let all = ["n1".to_owned(), "n1".to_owned(), String::new()];
    let (held, past) = Journal::open(&path, &league(&more), &all).unwrap();
    assert_eq!(past.games.len(), 1);
    let second = Journal::open(&path, &league(&more), &all).err();
    assert!(
        matches!(second, Some(JournalError::Open(OpenError::InUse(_)))),
        "one writer at a time"
    );
    assert_eq!(Journal::look(&path, &league(&more)).unwrap().len(), 1, "readers are free");
    drop(held);
    let fewer = more.replace("name = 'a'", "name = 'd'");
    let past = Journal::open(&path, &league(&fewer), &all).unwrap().1;
    assert_eq!((past.games.len(), past.next_pair), (0, 1), "absent agents keep their pairs");
    let refused = |text: &str, who: &[String]| {
        Journal::open(&path, &league(text), who).err().unwrap().to_string()
    };
    let message = refused(&more.replace("nodes = 9", "nodes = 8"), &all);
    assert!(message.contains("9 nodes") && message.contains("8 nodes"), "{message}");
    let message = refused(LEAGUE, &["n2".to_owned(), "n1".to_owned()]);
    assert!(
        message.contains("n1") && message.contains("n2") && message.contains("`a`"),
        "{message}"
    );
    let message = refused(&LEAGUE.replace("'l'", "'m'"), &who);
    assert!(message.contains("league `l`"), "{message}");
    fs::remove_file(&path).unwrap();
}

#[test]
fn other_files_are_left_alone() {
    let path = path("other");
    for text in ["1. e4 e5 *", "{}\n", "1. e4 e5 *\n"] {
        fs::write(&path, text).unwrap();
        let opened = Journal::open(&path, &league(LEAGUE), &[]);
        assert!(matches!(opened, Err(JournalError::NoJournal(_))), "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::remove_file(&path).unwrap();
}

/// A league of `assets/papers` and a copy of its games.
fn shipped(name: &str) -> (League, PathBuf) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/papers");
    let plan = league(&fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap());
    let packed = fs::File::open(folder.join(format!("{name}-games.jsonl.zst"))).unwrap();
    let path = path(name);
    fs::write(&path, zstd::decode_all(packed).unwrap()).unwrap();
    (plan, path)
}

/// The league's plan and the table that its shipped games make.
fn table(name: &str) -> (League, String) {
    let (plan, path) = shipped(name);
    let mut book = Book::default();
    let games = Journal::look(&path, &plan).unwrap();
    let count = games.len();
    games.into_iter().for_each(|entry| book.add(entry));
    let table = Standings::new(&plan, &book).text(&plan, count);
    fs::remove_file(&path).unwrap();
    (plan, table)
}

/// Elo, ±, external Elo, ± and games of an agent.
fn figures<'a>(table: &'a str, agent: &str) -> Vec<&'a str> {
    let name = format!("{agent}  ");
    // Behind the rank.
    let mut lines = table.lines();
    let figures = lines.find_map(|line| line.trim_start().split_once("  ")?.1.strip_prefix(&name));
    let figures = figures.unwrap_or_else(|| panic!("{name}is not in\n{table}"));
    figures.split_whitespace().take(5).collect()
}

/// Cells of the table with this head in a chapter of the book.
fn rows(chapter: &str, head: &str) -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src").join(chapter);
    let page = fs::read_to_string(page).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn the_page_of_paper_000_has_the_ratings_of_its_games() {
    let (plan, table) = table("000-built-in");
    let mut places = Vec::new();
    for cells in rows("papers.md", "| agent |") {
        let [elo, error, external, reach, games] = figures(&table, &cells[1])[..] else { panic!() };
        let place = if reach == "0" { external.into() } else { format!("{external} ± {reach}") };
        assert_eq!([elo, error, games, &place], cells[2..6], "{}", cells[1]);
        places.push(place);
    }
    assert_eq!(places.len(), plan.agents.len());
    // The same by simulations: each of Mavka's is in the table of all.
    for cells in rows("papers.md", "| external Elo |") {
        let found = cells[2..7].iter().filter(|place| !place.is_empty());
        let mut strangers = found.filter(|place| !places.contains(place));
        assert_eq!(strangers.next(), None, "{cells:?}");
    }
}

#[test]
fn tables_of_leagues_are_made_of_their_games() {
    for (league, chapter, head) in [
        ("000-chess960", "papers.md", "| Chess960 |"),
        ("002", "papers.md", "| player of paper 002 |"),
        ("004", "lab/training.md", "| player, 100 playouts |"),
        ("004-time", "papers.md", "| time a move |"),
    ] {
        let (plan, table) = table(league);
        let rows = rows(chapter, head);
        for cells in &rows {
            let [elo, error, _, _, games] = figures(&table, &cells[1])[..] else { panic!() };
            assert_eq!([elo, error, games], cells[2..5], "{league}: {}", cells[1]);
        }
        assert_eq!(rows.len(), plan.agents.len(), "{league}");
    }
}

/// The games of an older network, whose journal has the first line and the options of their time.
#[test]
fn the_archive_of_paper_000_opens_and_is_continued() {
    let (plan, path) = shipped("000");
    let old = fs::read(&path).unwrap();
    let games = Journal::look(&path, &plan).unwrap();
    assert_eq!(
        (games.len(), fs::read(&path).unwrap() == old),
        (4209, true),
        "looking changes nothing"
    );

    // As `mavka-lab league` knows its agents.
    let identity = |agent: &Agent| match agent.options.iter().find(|(name, _)| name == "Search") {
        _ if agent.command.is_some() || agent.retired => String::new(),
        Some((_, search))
            if !["action-value", "state-value", "policy"].contains(&search.as_str()) =>
        {
            "Mavka 0.1.0".to_owned()
        }
        _ => "Mavka 0.1.0, network 5b3b9db20e0c83eb".to_owned(),
    };
    let identities: Vec<String> = plan.agents.iter().map(identity).collect();
    let (mut journal, past) = Journal::open(&path, &plan, &identities).unwrap();
    assert_eq!(past.games.len(), 4209);
    let next = past.next_pair;
    journal.add(&game(next, Ending::Checkmate)).unwrap();
    drop(journal);
    assert!(fs::read(&path).unwrap().starts_with(BEGINNING.as_bytes()), "in today's words");
    assert_eq!(Journal::open(&path, &plan, &identities).unwrap().1.games.len(), 4210);
    let mut others = identities.clone();
    others[0] = "Mavka 0.1.0, network 0123456789abcdef".to_owned();
    let refused = Journal::open(&path, &plan, &others).err().unwrap().to_string();
    assert!(refused.contains("`M = 2000`"), "{refused}");
    fs::remove_file(&path).unwrap();
}

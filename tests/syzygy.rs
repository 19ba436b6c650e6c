//! Endgame tables in play: what they know, that the engine obeys them, and that bad files cost nothing.
//! The tables are in `syzygy/`.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod fifty_moves;
mod shortest_mates;
mod won_endings;

use chess::game::Game;
use chess::mate::MateSearch;
use chess::syzygy::root::RootTables;
use chess::syzygy::{TableResult, Tables};
use mavka_tests::{Dice, Session, matches, setup};
use nn::evaluator::fake::{Hashed, Perfect};
use shakmaty::{Chess, Color, Position};
use shakmaty_syzygy::Tablebase;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("syzygy")
}

fn tables() -> Tables {
    Tables::find(folder().to_str().unwrap())
}

fn game(fen: &str) -> Game {
    Game::from_fen(fen, false).unwrap()
}

fn root(game: &Game) -> RootTables {
    RootTables::new(&tables(), game, &game.legal_actions()).unwrap()
}

/// Plies to the next capture, pawn move or mate, by the crate itself.
fn distance(position: &Chess) -> i32 {
    let mut base = Tablebase::new();
    base.add_directory(folder()).unwrap();
    base.probe_dtz(position).unwrap().ignore_rounding().0
}

/// White's king and rook, Black's king, White to move and win.
fn random_rook_ending(dice: &mut Dice) -> Game {
    loop {
        let mut board = ['.'; 64];
        for man in ['K', 'R', 'k'] {
            board[dice.below(64)] = man;
        }
        let ranks = board.chunks(8).map(|rank| rank.iter().collect::<String>().replace('.', "1"));
        let fen = format!("{} w - - 0 1", ranks.collect::<Vec<_>>().join("/"));
        if let Ok(game) = Game::from_fen(&fen, false)
            && game.position().board().occupied().count() == 3
            && distance(game.position()) > 0
        {
            return game;
        }
    }
}

#[test]
fn three_men_are_known() {
    let tables = tables();
    for (fen, wdl) in [
        // The opposition decides.
        ("8/4k3/8/4K3/4P3/8/8/8 w - - 0 1", TableResult::Draw),
        ("8/4k3/8/4K3/4P3/8/8/8 b - - 0 1", TableResult::Loss),
        // In the square of the pawn or out of it.
        ("8/8/8/8/k6P/8/8/1K6 b - - 0 1", TableResult::Loss),
        ("8/8/8/8/2k4P/8/8/1K6 b - - 0 1", TableResult::Draw),
        ("8/8/8/3k4/8/8/8/KQ6 w - - 0 1", TableResult::Win),
        ("8/8/8/3k4/8/8/8/KQ6 b - - 0 1", TableResult::Loss),
        // The queen hangs.
        ("8/8/8/8/8/8/1k6/1Q5K b - - 0 1", TableResult::Draw),
        ("8/8/8/3k4/8/8/8/KB6 w - - 0 1", TableResult::Draw),
    ] {
        assert_eq!(tables.wdl(game(fen).position()), Some(wdl), "{fen}");
    }
    assert!(!tables.covers(Game::default().position()), "more pieces than any table has");
    let castling = game("4k3/8/8/8/8/8/8/4K2R w K - 0 1");
    assert!(!tables.covers(castling.position()), "tables know no castling");
    assert!(
        tables
            .up_to(2)
            .is_some_and(|few| !few.covers(game("8/8/8/3k4/8/8/8/KQ6 w - - 0 1").position()))
    );
    assert!(tables.up_to(0).is_none());
    assert_eq!(tables.take_warning(), None);
}

#[test]
fn the_root_keeps_the_moves_that_keep_the_result() {
    let names = |game: &Game| -> Vec<String> {
        let mut names: Vec<_> = root(game).best().iter().map(|action| game.uci(*action)).collect();
        names.sort();
        names
    };
    // Only one move keeps the pawn.
    let pawn = game("4k3/8/5K2/2P5/8/8/8/8 w - - 0 1");
    assert_eq!(
        (names(&pawn), root(&pawn).value()),
        (vec!["f6e6".to_owned()], Some(TableResult::Win))
    );
    // Two promotions mate, and a move of the king wins more slowly.
    let mate = game("k7/2P5/1K6/8/8/8/8/8 w - - 0 1");
    assert_eq!(names(&mate), ["c7c8q", "c7c8r"]);
    // Taking the rook draws, all else loses.
    let saved = game("8/8/8/8/8/5k2/4R3/7K b - - 0 1");
    assert_eq!(
        (names(&saved), root(&saved).value()),
        (vec!["f3e2".to_owned()], Some(TableResult::Draw))
    );
    // A castling right that the GUI left out does not come back.
    let queen = game("8/8/8/3k4/8/8/8/KQ6 w - - 0 1");
    let bad = [engine::Action::from_uci("b1a2", queen.position()).unwrap()];
    assert!(RootTables::new(&tables(), &queen, &bad).is_some_and(|root| root.best() == bad));
}

#[test]
fn the_fifty_move_rule_is_kept_in_sight() {
    let mut dice = Dice::new(1);
    for _ in 0..40 {
        let won = random_rook_ending(&mut dice);
        let distance = distance(won.position());
        let at = |clock: i32| {
            let fen = won.fen();
            let board = fen.split(' ').next().unwrap();
            root(&game(&format!("{board} w - - {clock} 100")))
        };
        assert_eq!(at(100 - distance).value(), Some(TableResult::Win), "{} {distance}", won.fen());
        assert_eq!(at(101 - distance).value(), Some(TableResult::Draw), "{} {distance}", won.fen());
        assert_eq!(at(0).hits, won.legal_actions().len() as u64);
    }
    // A third occurrence draws, however won the game is.
    let mut shuffled = game("8/8/8/3k4/8/8/8/KQ6 w - - 0 1");
    for text in ["b1a2", "d5d6", "a2b1", "d6d5"].iter().cycle().take(7) {
        shuffled.play_uci(text).unwrap();
    }
    let back = engine::Action::from_uci("d6d5", shuffled.position()).unwrap();
    let forced = RootTables::new(&tables(), &shuffled, &[back]).unwrap();
    assert_eq!(forced.value(), Some(TableResult::Draw));
    assert_eq!(root(&shuffled).best(), [back], "for the side that loses it is the best");
}

/// Plays the game out; the engine has both sides. Answers the plies it took to mate.
fn convert(session: &mut Session, mut game: Game, go: &str) -> usize {
    let start = game.fen();
    let mut moves = String::new();
    let mut last = i32::MAX;
    while game.ending().is_none() {
        if game.position().turn() == Color::White {
            let now = distance(game.position());
            assert!(now < last, "{start} moves{moves}: {last}, then {now}");
            last = now;
        }
        session.send(&format!("position fen {start} moves{moves}"));
        session.send(go);
        let answer = session.expect("bestmove *");
        let best = answer.split(' ').nth(1).unwrap();
        game.play_uci(best).unwrap();
        moves = format!("{moves} {best}");
    }
    assert!(game.position().is_checkmate(), "{start} moves{moves}");
    game.actions().len()
}

#[test]
fn a_won_game_is_won_with_and_without_search() {
    let mut dice = Dice::new(7);
    let mut session = Session::start(setup(Hashed::default()));
    session.send(&format!("setoption name SyzygyPath value {}", folder().display()));
    for search in ["mcts", "policy", "action-value", "state-value"] {
        session.send(&format!("setoption name Search value {search}"));
        let start = random_rook_ending(&mut dice);
        let least = distance(start.position()) as usize;
        let plies = convert(&mut session, start, "go nodes 20");
        assert!(plies <= least + 1, "{search}: {plies} plies for {least}");
    }
    session.send("setoption name Search value mcts");
    for pawn in ["8/4k3/8/4K3/4P3/8/8/8 b - - 0 1", "8/8/8/8/k6P/8/8/1K6 w - - 0 1"] {
        let mut game = game(pawn);
        for _ in 0..200 {
            if game.ending().is_some() {
                break;
            }
            session.send(&format!("position fen {}", game.fen()));
            session.send("go nodes 20");
            let answer = session.expect("bestmove *");
            game.play_uci(answer.split(' ').nth(1).unwrap()).unwrap();
        }
        assert!(game.position().is_checkmate(), "{pawn}: {}", game.fen());
    }
    session.finish();
}

/// The number after `word` in the last `info` line before the answer.
fn last_number(record: &[String], word: &str) -> Option<u64> {
    let info =
        record.iter().rev().find(|line| line.starts_with("< info ") && line.contains(" pv "));
    let mut words = info?.split(' ').skip_while(|found| *found != word);
    words.nth(1)?.parse().ok()
}

fn tbhits(fen: &str, options: &[&str]) -> Option<u64> {
    let mut session = Session::start(setup(Perfect(Hashed::default())));
    session.send(&format!("setoption name SyzygyPath value {}", folder().display()));
    options.iter().for_each(|option| session.send(option));
    session.send(&format!("position fen {fen}"));
    session.send("go nodes 300");
    session.expect("bestmove *");
    last_number(&session.finish(), "tbhits")
}

#[test]
fn hits_are_counted_at_the_root_and_below() {
    let (five, three) = ("8/8/4k3/6p1/3r4/8/2K5/3R4 w - - 0 1", "8/8/8/3k4/8/8/8/KQ6 w - - 0 1");
    assert!(tbhits(five, &[]).is_some_and(|hits| hits > 0), "by captures");
    assert!(tbhits(five, &["setoption name Threads value 2"]).is_some_and(|hits| hits > 0));
    let moves = game(three).legal_actions().len() as u64;
    assert!(tbhits(three, &[]).is_some_and(|hits| hits >= moves));
    assert_eq!(tbhits(Game::default().fen().as_str(), &[]), Some(0), "too many pieces");
    assert_eq!(tbhits(five, &["setoption name SyzygyProbeLimit value 0"]), None, "no tables");
    assert_eq!(tbhits(five, &["setoption name SyzygyProbeLimit value 2"]), Some(0));
    let learned = ["setoption name WorldModel value learned"];
    assert_eq!(tbhits(five, &learned), Some(0), "no tables in the imagination");
    assert_eq!(tbhits(three, &learned), Some(moves), "but at the root");
}

/// A folder of its own with the tables, removed in the end.
struct Copy(PathBuf);

impl Copy {
    fn new(name: &str) -> Copy {
        let path = std::env::temp_dir().join(format!("mavka-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        for entry in fs::read_dir(folder()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
        }
        Copy(path)
    }

    fn change(&self, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.0.join(file);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn bad_tables_are_told_of_once_and_the_game_goes_on() {
    type Damage = fn(&Copy);
    let damages: [(&str, Damage); 4] = [
        ("KRvK.rtbw is no table", |copy| copy.change("KRvK.rtbw", |bytes| bytes[0] ^= 1)),
        ("KRvK.rtbz is damaged", |copy| copy.change("KRvK.rtbz", |bytes| bytes.truncate(80))),
        ("KRvK.rtbw: unexpected file size", |copy| {
            copy.change("KRvK.rtbw", |bytes| bytes.truncate(100))
        }),
        ("KRvK.rtbw: unexpected file size", |copy| copy.change("KRvK.rtbw", Vec::clear)),
    ];
    for (place, (said, damage)) in damages.into_iter().enumerate() {
        let copy = Copy::new(&format!("syzygy-{place}"));
        damage(&copy);
        let mut session = Session::start(setup(Hashed::default()));
        session.send(&format!("setoption name SyzygyPath value {}", copy.0.display()));
        // It says what it replaces.
        session.send("setoption name BlunderCheck value false");
        // With the rook, without it, and with four pieces: none of it is in danger.
        for fen in [
            "8/8/8/8/3k4/8/1K6/2R5 w - - 0 1",
            "8/8/8/8/3k4/8/1K6/2R5 w - - 4 3",
            "8/8/8/3k4/8/8/8/KQ6 w - - 0 1",
            "8/8/8/8/3k4/8/1r6/K1R5 w - - 0 1",
        ] {
            session.send(&format!("position fen {fen}"));
            session.send("go nodes 100");
            session.expect("bestmove *");
        }
        let record = session.finish();
        let told: Vec<_> =
            record.iter().filter(|line| matches(&format!("*Syzygy: *{said}*"), line)).collect();
        assert_eq!(told.len(), 1, "{said}: {record:#?}");
        let notes = record.iter().filter(|line| line.contains("info string")).count();
        assert!(notes <= 2, "{record:#?}");
    }
}

#[test]
fn a_missing_table_is_named() {
    let won = game("8/8/8/8/3k4/8/1K6/2R5 w - - 4 3");
    for name in ["KRvK.rtbw", "KRvK.rtbz"] {
        let copy = Copy::new(name);
        fs::remove_file(copy.0.join(name)).unwrap();
        let tables = Tables::find(copy.0.to_str().unwrap());
        let _ = RootTables::new(&tables, &won, &won.legal_actions());
        assert_eq!(tables.take_warning(), Some(&*format!("Syzygy: {name} is missing")));
        assert_eq!(tables.take_warning(), None, "reported once");
    }
}

#[test]
fn endings_of_four_pieces_are_won_out_of_the_box() {
    let mut session = Session::start(setup(Hashed::default()));
    let known = Tables::with_bundled("");
    // Both sides know the tables: bishop and knight take their time.
    let mut ending = game("8/8/8/3k4/8/8/8/1N2KB2 w - - 0 1");
    while ending.ending().is_none() {
        session.send(&format!("position fen {}", ending.fen()));
        session.send("go nodes 20");
        let answer = session.expect("bestmove *");
        ending.play_uci(answer.split(' ').nth(1).unwrap()).unwrap();
        assert!(known.wdl(ending.position()).is_some());
    }
    assert!(ending.position().is_checkmate(), "{}", ending.fen());
    session.finish();
}

#[test]
fn no_byte_of_a_table_can_break_the_engine() {
    let mut dice = Dice::new(3);
    let positions: Vec<Game> = (0..20).map(|_| random_rook_ending(&mut dice)).collect();
    let copy = Copy::new("syzygy-bytes");
    let whole = ["KRvK.rtbw", "KRvK.rtbz"].map(|name| (name, fs::read(copy.0.join(name)).unwrap()));
    for _ in 0..150 {
        let (name, bytes) = dice.pick(&whole);
        let mut bytes = bytes.clone();
        // The header says how all the rest is read.
        let reach = if dice.below(2) == 0 { 96 } else { bytes.len() };
        for _ in 0..=dice.below(4) {
            let at = dice.below(reach.min(bytes.len()));
            bytes[at] = dice.roll() as u8;
        }
        fs::write(copy.0.join(name), &bytes).unwrap();
        let tables = Tables::find(copy.0.to_str().unwrap());
        for game in &positions {
            let _ = tables.wdl(game.position());
            let root = RootTables::new(&tables, game, &game.legal_actions());
            assert!(root.is_none_or(|root| !root.best().is_empty()));
        }
        fs::write(
            copy.0.join(name),
            whole.iter().find(|(one, _)| one == name).map(|(_, whole)| whole).unwrap(),
        )
        .unwrap();
    }
}

/// A position of White's pieces `white` against Black's king, or what `black` holds, with `turn` to move.
fn random_ending(dice: &mut Dice, white: &str, black: &str, turn: char) -> Game {
    let men = white.chars().chain(black.chars().map(|man| man.to_ascii_lowercase()));
    loop {
        let mut board = ['.'; 64];
        for man in men.clone() {
            board[dice.below(64)] = man;
        }
        let ranks = board.chunks(8).map(|rank| rank.iter().collect::<String>().replace('.', "1"));
        let fen = format!("{} {turn} - - 0 1", ranks.collect::<Vec<_>>().join("/"));
        if let Ok(game) = Game::from_fen(&fen, false)
            && game.position().board().occupied().count() == men.clone().count()
            && game.ending().is_none()
        {
            return game;
        }
    }
}

/// The score and the first move of every line in the last block of `record`.
fn last_lines(record: &[String]) -> Vec<(String, String)> {
    let lines = record.iter().filter(|line| line.starts_with("< info ") && line.contains(" pv "));
    let mut block = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let after = |word: &str| words.iter().position(|found| *found == word).unwrap() + 1;
        if words.contains(&"multipv") && words[after("multipv")] == "1" {
            block.clear();
        }
        let score = after("score");
        block.push((words[score..score + 2].join(" "), words[after("pv")].to_owned()));
    }
    block
}

/// A score as a number that grows with it.
fn height(score: &str) -> i64 {
    let (kind, number) = score.split_once(' ').unwrap();
    let number: i64 = number.parse().unwrap();
    match kind {
        "mate" if number > 0 => 1_000_000 - number,
        "mate" => -1_000_000 - number,
        _ => number,
    }
}

#[test]
fn tables_hide_no_mate() {
    let mut session = Session::start(setup(Hashed::default()));
    let mut dice = Dice::new(5);
    let mut mates = 0;
    for place in 0..60 {
        let game = match place {
            0 => game("1k6/8/3K4/5Q2/8/8/1P6/8 w - - 0 1"),
            _ => random_ending(&mut dice, "KQP", "k", 'w'),
        };
        let mut search = MateSearch::new(&game, &|| false);
        let Some(mate) = search.run(game.position(), &game.legal_actions(), 3) else { continue };
        mates += 1;
        session.send(&format!("position fen {}", game.fen()));
        session.send("go mate 3");
        let moves = (mate.plies + 1) / 2;
        session.expect(&format!("info * score mate {moves} *"));
        session.expect("bestmove *");
    }
    assert!(mates >= 10, "{mates}");
    session.finish();
}

#[test]
fn tables_hide_no_line_of_an_analysis() {
    for (fen, lines) in [
        ("8/8/8/3k4/8/8/8/KQ6 w - - 0 1", 3),
        ("3k4/8/4KP2/8/8/8/8/8 w - - 1 132", 6),
        ("8/8/8/8/4k3/8/1r6/K1R5 w - - 0 1", 200),
    ] {
        let mut session = Session::start(setup(Hashed::default()));
        session.send(&format!("setoption name MultiPV value {lines}"));
        session.send(&format!("position fen {fen}"));
        session.send("go nodes 300");
        session.expect("bestmove *");
        let shown = last_lines(&session.finish());
        let game = game(fen);
        assert_eq!(shown.len(), lines.min(game.legal_actions().len()), "{fen}: {shown:?}");
        let heights: Vec<i64> = shown.iter().map(|(score, _)| height(score)).collect();
        assert!(heights.is_sorted_by(|a, b| a >= b), "{fen}: {shown:?}");
        let known = Tables::with_bundled("");
        for (score, text) in &shown {
            let mut after = game.clone();
            after.play_uci(text).unwrap();
            // All of them are far from the fifty-move rule.
            let expected = match known.wdl(after.position()) {
                Some(TableResult::Loss) => 12_800..i64::MAX,
                Some(TableResult::Draw) => 0..1,
                _ => i64::MIN..-12_799,
            };
            assert!(expected.contains(&height(score)), "{fen}: {score} for {text}");
        }
    }
}

#[test]
fn tables_hide_no_move_that_the_gui_names() {
    let mut session = Session::start(setup(Hashed::default()));
    session.send("position fen 8/8/8/3k4/8/8/8/KQ6 w - - 0 1");
    session.send("go nodes 50 searchmoves b1b5 b1a2");
    session.expect("bestmove b1a2*");
    session.send("go infinite searchmoves b1b5");
    session.send("stop");
    session.expect("bestmove b1b5*");
    session.send("setoption name UCI_AnalyseMode value true");
    session.send("setoption name VerboseMoveStats value true");
    session.send("go nodes 100");
    session.expect("info string b1b5 *");
    session.expect("bestmove *");
    session.finish();
}

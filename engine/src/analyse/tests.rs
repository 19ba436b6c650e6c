//! Whole collections: round trips, damaged games, pages.

mod agreement;
mod interrupted;
mod page;

use super::annotate;
use super::collection::{Batches, MOST_GAMES};
use super::cost::Cost;
use super::journal::{Journal, Origin};
use super::judge::{Glyph, Glyphs};
use super::passes::PassRunner;
use super::review::Rules;
use super::run::{AnalysisOutcome, AnalysisTask, journal_path, reviewed, run};
use crate::options::settings::Settings;
use crate::pgn::{PgnEntry, PgnGame, read_games};
use crate::play::analyst::{Analyst, Effort};
use crate::play::network::{Installed, Only, hashed};
use crate::process::files::part_of;
use chess::game::Game;
use chess::syzygy::{TableResult, Tables};
use nn::rng::Rng;
use shakmaty::Position;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const GAMES: &str = r#"[Event "A \"quoted\" name"]
[White "Müller"]
[Result "1-0"]
[Opening "Petrov \\ Russian"]

{Before the game} 1. e4 { [%clk 0:05:00] } $13 e5 {first} {second; not a line comment}
(1... c5 $1 2. Nf3 (2. c3 {Alapin} d5) (2. b4) 2... d6 {in a variation}) 2. Nf3!? ({no other} 2. f4 exf4)
Nf6 { [%eval 0.5] [%clk 0:04:58] played [%csl Gf6] } 3. Nxe5 ; a slip?
3... Nc6 (3... -- 4. d4) 4. Nxf7 Kxf7 5. Qf3 1-0

[Variant "Chess960"]
[SetUp "1"]
[FEN "nbbrkrqn/ppppp1pp/5p2/8/8/8/PPPPPPPP/RK4R1 w GAfd - 0 2"]

2. 0-0 {castled} a5 (2... g6) 3. a3 *

[FEN "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 4 17"]

17... O-O-O 18. O-O+ Kb8 1/2-1/2

1. f3 e5 2. g4 Qh4# 0-1
"#;

const RULES: Rules = Rules { lines: 2, glyphs: Glyphs::Mavka };

fn sound(text: &str) -> Vec<PgnGame> {
    let game = |entry| match entry {
        PgnEntry::Game(game) => *game,
        PgnEntry::Unreadable { raw, .. } => panic!("{raw} cannot be read"),
    };
    read_games(text, 1).into_iter().map(game).collect()
}

fn analyst() -> Analyst {
    let settings = Settings { threads: 1, hash_mb: 2, nn_cache_mb: 1, ..Settings::default() };
    Analyst::new(&Only(hashed()), settings).unwrap()
}

fn of(games: &[PgnGame]) -> Batches<'_> {
    let entry = |game: PgnGame| Ok(PgnEntry::Game(Box::new(game)));
    Batches::new(games.iter().cloned().map(entry), MOST_GAMES)
}

fn origin() -> Origin {
    let none = String::new;
    Origin { engine: none(), network: none(), search: none() }
}

/// The journal of an analysis, in a file that is deleted.
fn searched(games: &[PgnGame], analyst: &Analyst, task: &AnalysisTask<'_>) -> Journal {
    let mut journal = Journal::open(&journal_path(task.out), &origin()).unwrap();
    fs::remove_file(journal_path(task.out)).unwrap();
    let &AnalysisTask { effort, rules, workers, stop, .. } = task;
    let passes = PassRunner { analyst, effort, rules, workers, stop };
    assert!(passes.run(games, &|_| (), &mut journal).unwrap().is_complete());
    journal
}

/// Runs an analysis to its end, and returns what it wrote.
fn written(
    batches: Batches<'_>,
    analyst: &Analyst,
    task: &AnalysisTask<'_>,
) -> (AnalysisOutcome, String) {
    let outcome = run(batches, analyst, task).unwrap();
    assert!(!outcome.stopped && !journal_path(task.out).exists() && !part_of(task.out).exists());
    let text = fs::read_to_string(task.out).unwrap();
    fs::remove_file(task.out).unwrap();
    (outcome, text)
}

/// An output path without files of earlier runs.
fn fresh(name: &str) -> PathBuf {
    let out = std::env::temp_dir().join(format!("mavka-{name}-{}.pgn", std::process::id()));
    for path in [&out, &journal_path(&out), &part_of(&out)] {
        let _ = fs::remove_file(path);
    }
    out
}

fn task(out: &Path) -> AnalysisTask<'_> {
    let (announce, stop) = (&|_: &Cost| (), &|| false);
    AnalysisTask {
        effort: Effort::Nodes(40),
        rules: RULES,
        workers: 1,
        settings: "test",
        out,
        html: None,
        player: None,
        announce,
        stop,
    }
}

/// The games without annotations of the analysis.
fn plain(games: &[PgnGame]) -> String {
    let out = fresh("nothing-known");
    let journal = Journal::open(&out, &origin()).unwrap();
    let text = games.iter().map(|game| annotate::write(&reviewed(game, &journal, RULES), "Mavka"));
    let text = text.collect();
    journal.delete().unwrap();
    text
}

#[test]
fn pgn_round_trips() {
    let games = sound(GAMES);
    let text = plain(&games);
    let first = "{ Before the game } 1. e4 $13 { [%clk 0:05:00] } 1... e5 { first } { second; not a line \
        comment } ( 1... c5 $1 2. Nf3 ( 2. c3 { Alapin } 2... d5 ) ( 2. b4 ) 2... d6 { in a variation } ) \
        2. Nf3 $5 ( { no other } 2. f4 exf4 ) 2... Nf6 { [%eval 0.5] [%clk 0:04:58] played [%csl Gf6] } \
        3. Nxe5 { a slip? } 3... Nc6 ( 3... -- 4. d4 ) 4. Nxf7 Kxf7 5. Qf3 1-0\n";
    for part in [first, "2. O-O { castled } 2... a5 ( 2... g6 ) 3. a3 *", "[White \"Müller\"]"] {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
    assert!(text.contains(r#"[Event "A \"quoted\" name"]"#) && text.contains(r"Petrov \\ Russian"));
    assert_eq!(plain(&sound(&text)), text);
}

#[test]
fn an_analysed_game_keeps_everything_and_gains_scores() {
    let games = sound(GAMES);
    let out = fresh("annotated");
    let (AnalysisOutcome { last: done, .. }, text) = written(of(&games), &analyst(), &task(&out));
    // 19 moves in four games, the last position a mate; the two standard games share the first one.
    let once = 19 + 4 - 1 - 1;
    // The fake network makes mistakes of many moves: some positions are searched twice.
    assert!((once + 1..2 * once).contains(&done.positions), "{done:?}");
    let again = sound(&text);
    for (before, after) in games.iter().zip(&again) {
        assert_eq!((before.result.as_str(), after.lost.len()), (after.result.as_str(), 0));
        assert_eq!(before.line.comments, after.line.comments);
        for (before, after) in before.line.moves.iter().zip(&after.line.moves) {
            assert_eq!(before.san, after.san);
            assert!(after.variations.starts_with(&before.variations), "{}", before.san);
            assert!(before.nags.iter().all(|nag| after.nags.contains(nag)));
            let notes = after.comments.join(" ");
            assert_eq!(
                notes.matches("[%eval").count(),
                usize::from(before.san != "Qh4#"),
                "{notes}"
            );
            for comment in &before.comments {
                let kept = comment.replace("[%eval 0.5] ", "");
                assert!(notes.contains(&kept), "{kept} is not in {notes}");
            }
        }
    }
    // Analysing the result again does not repeat annotations.
    assert_eq!(written(of(&again), &analyst(), &task(&out)).1, text);
}

#[test]
fn threads_do_not_change_the_result() {
    let games = sound(GAMES);
    let texts = [1, 3].map(|workers| {
        let out = fresh(&format!("workers-{workers}"));
        written(of(&games), &analyst(), &AnalysisTask { workers, ..task(&out) }).1
    });
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn the_cost_is_announced_before_the_first_search() {
    let games = sound(GAMES);
    let out = fresh("cost");
    let announced = Mutex::new(Vec::new());
    let announce =
        |cost: &Cost| announced.lock().unwrap().push((cost.more, cost.positions, cost.searches));
    let stop = || true;
    let task = AnalysisTask { announce: &announce, stop: &stop, ..task(&out) };
    let outcome = run(of(&games), &analyst(), &task).unwrap();
    assert!(outcome.stopped && outcome.last.searched == 0);
    fs::remove_file(journal_path(&out)).unwrap();
    fs::remove_file(&out).unwrap();
    let announced = announced.into_inner().unwrap();
    // One position less than in the games is different and not over, as below.
    assert!(
        matches!(announced[..], [(false, 21, [21.0, second])] if second > 0.0),
        "{announced:?}"
    );
}

#[test]
fn damaged_games_are_named_and_kept() {
    let text = "[Event \"1\"]\n\n1. e4 e5 *\n\n[Event \"2\"]\n\n1. e4 e5 2. Ke3 Nf6 *\n\n\
        [Event \"3\"]\n\n1. e4 {open\n\n[Event \"4\"]\n[Variant \"Atomic\"]\n\n1. e4 *\n\n\
        [Event \"5\"]\n[FEN \"8/8/8/8 w - - 0 1\"]\n\n1. e4 *\n\n[Event \"6\"]\n\n1. d4 Nxx6 *\n\n\
        [Event \"7\"]\n\n1. d4 d5 (1... Nf9) *\n\n[Event \"8\"]\n\n1. c4 (1. d4 d5 2. Kd4 e5 (2... a5)) c5 *\n\nno game at all\n";
    let entries = || read_games(text, 1).into_iter().map(Ok);
    let batch = Batches::new(entries(), MOST_GAMES).next().unwrap().unwrap();
    let lost = batch.games.iter().flat_map(|game| &game.lost);
    let copied = batch.unreadable.iter().map(|other| format!("{} {}", other.number, other.why));
    let reasons: Vec<String> = lost.cloned().chain(copied).collect();
    let expected = [
        "line 7: the game is cut at 2. Ke3, which is not one legal move in `rnbqkbnr/",
        "line 11: a comment is never closed",
        "line 25: the game is cut at 1... Nxx6, which is no move",
        "line 29: a variation is cut at 1... Nf9, which is no move",
        "line 33: a variation is cut at 2. Kd4, which is not one legal move",
        "4 `Atomic` is another game",
        "5 `8/8/8/8 w - - 0 1` is not a FEN",
        "9 it has neither tags nor moves",
    ];
    assert_eq!(reasons.len(), expected.len(), "{reasons:?}");
    for (reason, expected) in reasons.iter().zip(expected) {
        assert!(reason.starts_with(expected), "{reason}");
    }
    let out = fresh("damaged");
    let (_, whole) = written(Batches::new(entries(), MOST_GAMES), &analyst(), &task(&out));
    let events = (1..9).map(|event| whole.find(&format!("[Event \"{event}\"]")).unwrap());
    assert!(events.is_sorted());
    for part in [
        "Not read: Ke3 Nf6",
        "[Variant \"Atomic\"]\n\n1. e4 *\n",
        "Not read: Nxx6",
        "no game at all\n",
    ] {
        assert!(whole.contains(part), "{part} is not in {whole}");
    }
    let nested = format!("1. e4 {}", "(1. d4 ".repeat(100_000));
    assert_eq!(sound(&nested)[0].lost.len(), 1);
}

/// Reads, analyses by one playout a position, and returns the annotated games.
fn annotated(text: &str, name: &str, settings: Settings) -> Vec<PgnGame> {
    let games = sound(text);
    let out = fresh(name);
    let analyst = Analyst::new(&Only(hashed()), settings).unwrap();
    let task = AnalysisTask { effort: Effort::Nodes(1), ..task(&out) };
    sound(&written(of(&games), &analyst, &task).1)
}

/// Without the alpha-beta search: what is left of the values is the tables' and the rules'.
fn without_check() -> Settings {
    let settings = Settings { threads: 1, hash_mb: 2, nn_cache_mb: 1, ..Settings::default() };
    Settings { blunder_check: false, ..settings }
}

/// A random game of at most `plies` from a random position of these men, and the result of each position for White by
/// the tables' WDL alone: 1, 0 or -1.
fn table_game(men: &str, plies: usize, tables: &Tables, random: &mut Rng) -> (Game, Vec<i32>) {
    let result = |game: &Game| {
        let mover = match game.ending() {
            Some(ending) => -i32::from(ending.winner().is_some()),
            None => match tables.wdl(game.position()) {
                Some(TableResult::Win) => 1,
                Some(TableResult::Loss) => -1,
                _ => 0,
            },
        };
        game.position().turn().fold_wb(mover, -mover)
    };
    let start = loop {
        let mut board = ['1'; 64];
        for man in men.chars() {
            board[random.bits() as usize % 64] = man;
        }
        let ranks: Vec<String> = board.chunks(8).map(|rank| rank.iter().collect()).collect();
        let turn = if random.bits().is_multiple_of(2) { 'w' } else { 'b' };
        let game = Game::from_fen(&format!("{} {turn} - - 0 1", ranks.join("/")), false);
        if let Some(game) = game.ok().filter(|game| {
            let count = game.position().board().occupied().count();
            count == men.len() && game.ending().is_none()
        }) {
            break game;
        }
    };
    let (mut game, mut results) = (start.clone(), vec![result(&start)]);
    for _ in 0..plies {
        let moves = game.legal_actions();
        if game.ending().is_some() {
            break;
        }
        game.play(moves[random.bits() as usize % moves.len()]).unwrap();
        results.push(result(&game));
    }
    (game, results)
}

#[test]
fn a_table_move_has_a_glyph_exactly_if_it_drops_the_result() {
    const MEN: [&str; 20] = [
        "KQk", "KRk", "KPk", "Kkq", "Kkp", "KQkr", "KRkq", "KQkp", "KRkp", "KPkp", "KBNk", "KBBk",
        "KRkb", "KRkn", "KBkp", "KNkp", "KPPk", "Kkpp", "KRPk", "KQkq",
    ];
    let tables = Tables::with_bundled("");
    let mut random = Rng::new(75);
    let (mut text, mut truth) = (String::new(), Vec::new());
    for number in 0..300 {
        let (game, results) = table_game(MEN[number % MEN.len()], 12, &tables, &mut random);
        let mut after = Game::new(game.start().clone(), game.mode());
        let fen = after.fen();
        let number = if after.position().turn().is_white() { "1. " } else { "1... " };
        let moves: Vec<String> = game
            .actions()
            .iter()
            .map(|action| {
                let san = after.san(*action);
                after.play(*action).unwrap();
                san
            })
            .collect();
        text += &format!("[FEN \"{fen}\"]\n\n{number}{} *\n\n", moves.join(" "));
        truth.push(results);
    }
    let games = annotated(&text, "tables", without_check());
    assert_eq!(games.len(), truth.len());
    let (mut kept, mut dropped) = (0, 0);
    for (game, results) in games.iter().zip(&truth) {
        assert_eq!(game.line.moves.len() + 1, results.len());
        for (ply, node) in game.line.moves.iter().enumerate() {
            let loses = results[ply] != results[ply + 1];
            let errs = node.nags.iter().any(|nag| [2, 4, 6].contains(nag));
            assert_eq!(errs, loses, "{} in {}", node.san, game.start.fen());
            assert!(errs || node.variations.is_empty(), "{}", node.san);
            let notes = node.comments.join(" ");
            let eval = match results[ply + 1] {
                0 => notes.contains("[%eval 0.00]") || node.san.ends_with('#'),
                1 => notes.contains("[%eval 99.00]") || notes.contains("[%eval #"),
                _ => notes.contains("[%eval -99.00]") || notes.contains("[%eval #-"),
            };
            assert!(eval || node.san.ends_with('#'), "{} {notes}", node.san);
            (kept, dropped) = (kept + usize::from(!loses), dropped + usize::from(loses));
        }
    }
    assert!(kept > 1000 && dropped > 200, "{kept} kept, {dropped} dropped");
}

#[test]
fn one_playout_has_the_networks_values_and_a_mate_has_its_result() {
    let games = annotated(
        "1. f3 e5 2. g4 Qh4#\n\n[Round \"2\"]\n\n1. e4 e5 2. Nf3 Nc6 *\n",
        "one",
        without_check(),
    );
    assert_eq!((games[0].result.as_str(), games[1].result.as_str()), ("0-1", "*"));
    let notes = |game: &PgnGame| -> Vec<String> {
        game.line.moves.iter().map(|node| node.comments.join(" ")).collect()
    };
    let zero = notes(&games[1]).iter().filter(|notes| notes.contains("[%eval 0.00]")).count();
    assert!(zero < 2, "{:?}", notes(&games[1]));
}

#[test]
fn the_move_that_allows_a_repetition_errs_and_the_one_that_claims_it_saves() {
    let text = "[FEN \"qr6/8/5k2/8/3pP3/8/1B6/6K1 b - - 0 1\"]\n\n\
        1... Rc8 2. Kh1 Rb8 3. Kg1 Rc8 4. Kh1 Rb8 5. Kg1 1/2-1/2\n";
    let settings = Settings { threads: 1, hash_mb: 16, nn_cache_mb: 1, ..Settings::default() };
    let games = sound(text);
    let out = fresh("repetition");
    let analyst = Analyst::new(&Installed::default(), settings).unwrap();
    let task = AnalysisTask { effort: Effort::Nodes(25), ..task(&out) };
    let journal = searched(&games, &analyst, &task);
    let review = reviewed(&games[0], &journal, RULES);
    let blunder = review.judgements[6].as_ref().unwrap();
    assert_eq!((blunder.glyph, blunder.after), (Some(Glyph::Blunder), 0.5), "4... Rb8");
    assert_eq!(review.judgements[7].as_ref().unwrap().glyph, Some(Glyph::Good), "5. Kg1");
    assert_eq!(review.score(8), Some(uci::Score::Centipawns(0)));
}

//! The client against an engine that is made up.

use super::*;
use crate::uci_client::fake::{Fake, nothing};
use crate::uci_client::transport::QUIT_TIMEOUT;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn option(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn startpos() -> Command {
    Command::Position { start: uci::StartPosition::Startpos, moves: vec![] }
}

#[test]
fn greeting_learns_the_name_and_sets_options() {
    let fake = Fake::polite(nothing);
    let sent = fake.sent();
    let player =
        Player::greet(fake, &[option("hash", "16")], Timeouts::default()).expect("a polite engine");
    assert_eq!(player.name(), "Fake 1.0");
    assert_eq!(*sent.lock().unwrap(), ["uci", "setoption name hash value 16", "isready"]);
}

#[test]
fn seeds_are_set_unless_the_options_fix_one() {
    let seeded = |options: &[(String, String)], declared: &'static str| {
        let fake = Fake::new(move |line| match line {
            "uci" => vec![(1, declared), (1, "uciok")],
            "isready" => vec![(1, "readyok")],
            _ => vec![],
        });
        let sent = fake.sent();
        let mut player = Player::greet(fake, options, Timeouts::default()).unwrap();
        player.seed(1 << 40).unwrap();
        let sent = sent.lock().unwrap();
        sent.iter().filter(|line| line.starts_with("setoption")).cloned().collect::<Vec<_>>()
    };
    let seed = "option name Seed type spin default 0 min 0 max 9";
    assert_eq!(seeded(&[], seed), ["setoption name Seed value 1"]);
    assert_eq!(seeded(&[option("seed", "7")], seed), ["setoption name seed value 7"]);
    assert!(seeded(&[], "option name Hash type spin default 1 min 1 max 9").is_empty());
}

#[test]
fn undeclared_option_is_refused() {
    let fault = Player::greet(Fake::polite(nothing), &[option("Tash", "1")], Timeouts::default())
        .err()
        .expect("no such option");
    assert!(matches!(fault, Fault::Absent(why) if why.contains("Tash")));
}

#[test]
fn silence_after_uci_is_a_stall_and_eof_a_crash() {
    let mute = Player::greet(Fake::new(nothing), &[], Timeouts::default());
    assert_eq!(mute.err(), Some(Fault::Stalled("uci")));
    // A silent process is killed when it has not quit, either.
    let named = Timeouts::default().start + QUIT_TIMEOUT;
    assert!(named < Duration::from_secs(20), "a mute engine is named within 20 s");
    let mut dead = Fake::new(nothing);
    dead.close();
    assert!(matches!(Player::greet(dead, &[], Timeouts::default()).err(), Some(Fault::Crashed(_))));
}

#[test]
fn thinking_time_runs_from_go_to_bestmove() {
    let fake = Fake::polite(|line| match line {
        "go nodes 1" => vec![
            (30, "info depth 1 score cp 5 pv e2e4"),
            (40, "info depth 2 score cp 9 lowerbound"),
            (70, "bestmove e2e4 ponder e7e5"),
        ],
        _ => vec![],
    });
    let mut player = Player::greet(fake, &[], Timeouts::default()).unwrap();
    let thought = player.think(&startpos(), Go { nodes: Some(1), ..Go::default() }, None).unwrap();
    assert_eq!(thought.best, "e2e4");
    assert_eq!(thought.ponder.as_deref(), Some("e7e5"));
    assert_eq!(thought.elapsed, ms(70));
    let last = thought.last.unwrap();
    assert_eq!(last.depth, Some(1), "a bound does not replace an exact score");
    assert_eq!(thought.variations, [["e2e4"]]);
}

#[test]
fn late_engine_gets_stop() {
    let fake = Fake::polite(|line| match line {
        "stop" => vec![(1, "bestmove e2e4")],
        _ => vec![],
    });
    let mut player = Player::greet(fake, &[], Timeouts::default()).unwrap();
    let thought = player.think(&startpos(), Go::default(), Some(ms(100))).unwrap();
    assert_eq!(thought.elapsed, ms(101));
}

#[test]
fn engine_that_ignores_stop_is_stalled() {
    let fake = Fake::polite(nothing);
    let mut player = Player::greet(fake, &[], Timeouts::default()).unwrap();
    let fault = player.think(&startpos(), Go::default(), Some(ms(100)));
    assert_eq!(fault, Err(Fault::Stalled("go")));
    assert!(player.is_lost());
}

#[test]
fn continuous_output_does_not_extend_the_time() {
    let fake = Fake::polite(|line| match line {
        "go" => (1..1000).map(|at| (at, "info depth 1 score cp 0")).collect(),
        "stop" => vec![(1, "bestmove e2e4")],
        _ => vec![],
    });
    let mut player = Player::greet(fake, &[], Timeouts::default()).unwrap();
    let thought = player.think(&startpos(), Go::default(), Some(ms(100))).unwrap();
    assert!(thought.elapsed > ms(100));
}

#[test]
fn chess960_is_switched_only_on_change() {
    let fake = Fake::polite(nothing);
    let sent = fake.sent();
    let mut player = Player::greet(fake, &[], Timeouts::default()).unwrap();
    for chess960 in [false, true, true, false] {
        player.new_game(chess960).unwrap();
    }
    let sent = sent.lock().unwrap();
    let switches: Vec<&String> = sent.iter().filter(|line| line.contains("960")).collect();
    assert_eq!(
        switches,
        ["setoption name UCI_Chess960 value true", "setoption name UCI_Chess960 value false"]
    );
}

/// As Stockfish 19 does after a move that it calls illegal.
#[test]
fn an_engine_that_ends_itself_is_quoted() {
    let critical = "info string CRITICAL ERROR: Command `` failed. Reason: Illegal move: e1g1";
    let polite = |last: &'static str| {
        Fake::polite(move |line| match line.split(' ').next() {
            Some("position") => vec![(0, critical), (0, last)],
            Some("go") => vec![(1, "bestmove e2e4")],
            _ => vec![],
        })
    };
    let mut player = Player::greet(polite("EOF"), &[], Timeouts::default()).unwrap();
    let go = || Go { nodes: Some(1), ..Go::default() };
    let Err(Fault::Crashed(words)) = player.think(&startpos(), go(), None) else {
        panic!("the engine is gone");
    };
    assert!(words.contains("scripted") && words.contains("Illegal move: e1g1"), "{words}");
}

/// As Toga II 3.0 and GNU Chess 6.2.7 do with `go nodes`.
#[test]
fn an_engine_that_ignores_its_limit_is_stopped() {
    let fake = Fake::polite(|line| match line {
        "stop" => vec![(1, "bestmove e2e4")],
        _ => vec![],
    });
    let sent = fake.sent();
    let timeouts = Timeouts { think: ms(300), ..Timeouts::default() };
    let mut player = Player::greet(fake, &[], timeouts).unwrap();
    let go = Go { nodes: Some(1), ..Go::default() };
    let thought = player.think(&startpos(), go, None).unwrap();
    assert_eq!((thought.best.as_str(), thought.elapsed), ("e2e4", ms(301)));
    assert_eq!(sent.lock().unwrap().last().map(String::as_str), Some("stop"));
}

//! Random talk, sensible and not, from fixed seeds. Whatever is said, the engine answers `isready`,
//! gives exactly one `bestmove` for each `go`, and ends when the input does.

use mavka_tests::{Dice, Session, setup};
use nn::evaluator::fake::{Breakdown, Failing, Hashed};

const LINES: &[&str] = &[
    "uci",
    "debug on",
    "debug off",
    "debug",
    "ucinewgame",
    "stop",
    "stop",
    "ponderhit",
    "register later",
    "position startpos",
    "position startpos moves e2e4 e7e5 g1f3",
    "position startpos moves e2e4 e7e9 g1f3",
    "position startpos moves e2e5",
    "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
    "position fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1 moves e1g1 e8a8",
    "position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
    "position fen 7k/6Q1/6K1/8/8/8/8/8 b - - 0 1",
    "position fen 8/8/8/8/8/8/8/K6k w - - 0 1",
    "position fen k7/8/1K6/8/8/8/8/7R w - - 99 120",
    "position fen bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "position",
    "position fen",
    "position startpos moves",
    "go",
    "go infinite",
    "go ponder wtime 1000 btime 1000",
    "go ponder",
    "go nodes 1",
    "go nodes 50",
    "go nodes 0",
    "go nodes 99999999999999999999999",
    "go depth 1",
    "go depth 300",
    "go mate 1",
    "go movetime 1",
    "go movetime -5",
    "go wtime 20 btime 20",
    "go wtime -1 btime -1",
    "go wtime 100 btime 100 movestogo 0 winc 5 binc 5",
    "go wtime 9223372036854775807 btime 1 nodes 20",
    "go searchmoves e2e4 d2d4 nodes 20",
    "go searchmoves a1a1 nodes 20",
    "go perft 2",
    "go depth nonsense nodes 10",
    "setoption name Hash value 1",
    "setoption name Hash value nonsense",
    "setoption name MultiPV value 5",
    "setoption name MultiPV value 500",
    "setoption name Threads value 1",
    "setoption name Threads value 3",
    "setoption name UCI_Chess960 value true",
    "setoption name UCI_ShowWDL value true",
    "setoption name Search value policy",
    "setoption name Search value action-value",
    "setoption name Search value state-value",
    "setoption name Search value mcts",
    "setoption name Scoring value max",
    "setoption name Temperature value 0.5",
    "setoption name Seed value 3",
    "position startpos moves g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1",
    "setoption name Clear Hash",
    "setoption name",
    "setoption name No Such Option value 3",
    "d",
];

fn talk(seed: u64, lines: usize, mut session: Session) {
    let mut dice = Dice::new(seed);
    for count in 0..lines {
        match dice.below(12) {
            0 => {
                let junk: Vec<u8> = (0..dice.below(60)).map(|_| dice.below(255) as u8).collect();
                // Line ends inside the junk would make lines the harness does not count.
                let junk: Vec<u8> =
                    junk.into_iter().filter(|byte| !b"\n\rgG".contains(byte)).collect();
                session.send_bytes(&[&b"#"[..], &junk, b"\n"].concat());
            }
            1 => {
                // A command with a word dropped or doubled.
                let mut words: Vec<&str> = dice.pick(LINES).split(' ').collect();
                let at = dice.below(words.len());
                if dice.below(2) == 0 {
                    words.insert(at, words[at]);
                } else {
                    words.remove(at);
                }
                session.send(&words.join(" "));
            }
            2 => session.send(&format!("{}\r", dice.pick(LINES))),
            _ => session.send(LINES[dice.below(LINES.len())]),
        }
        if count % 25 == 24 {
            session.send("isready");
            session.drain_until_ready();
        }
    }
    session.finish();
}

#[test]
fn a_healthy_engine_survives_any_talk() {
    for seed in 0..6 {
        talk(seed, 150, Session::start(setup(Hashed { seed })));
    }
}

#[test]
fn a_failing_network_costs_no_answer() {
    for (seed, how) in [Breakdown::Error, Breakdown::NotANumber, Breakdown::Short, Breakdown::Panic]
        .into_iter()
        .enumerate()
    {
        let seed = seed as u64 + 100;
        talk(seed, 80, Session::start(setup(Failing::after(seed % 7 + 2, how))));
    }
}

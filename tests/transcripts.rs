//! Conversations with the engine, one file each in `transcripts/`.
//!
//! `> text` is sent, `< pattern` is waited for (`*` is any text; a `bestmove` or `readyok` in between is
//! a failure), `# text` explains. `! network hashed | uniform | failing CALLS error|nan|short|panic |
//! installed` at the top chooses who judges, `! never PATTERN` names a line that must not come at all.
//! `\r` and `\t` in a sent line are those characters. At the end the input closes, and every `go` must
//! have had exactly one `bestmove`, led by an `info` with score and pv.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod networks;

use engine::Setup;
use engine::bench;
use engine::process::time::ManualClock;
use mavka_tests::{Session, matches, setup};
use nn::evaluator::fake::{Breakdown, Failing, Hashed, Uniform};
use nn::{EvalError, Evaluation, Evaluator, Query};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn network(words: &str) -> Setup {
    match *words.split(' ').collect::<Vec<_>>() {
        ["hashed"] => setup(Hashed::default()),
        ["uniform"] => setup(Uniform),
        ["installed"] => Setup::default(),
        ["failing", calls, how] => {
            let how = match how {
                "error" => Breakdown::Error,
                "nan" => Breakdown::NotANumber,
                "short" => Breakdown::Short,
                "panic" => Breakdown::Panic,
                other => panic!("no breakdown is called `{other}`"),
            };
            setup(Failing::after(calls.parse().unwrap(), how))
        }
        _ => panic!("no network is called `{words}`"),
    }
}

fn play(path: &Path) {
    let name = path.display();
    let text = fs::read_to_string(path).unwrap();
    let mut chosen = setup(Hashed::default());
    let mut never = Vec::new();
    let mut steps = Vec::new();
    for line in text.lines() {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("" | "#", _) => {}
            ("!", order) => match order.split_once(' ') {
                Some(("network", words)) => chosen = network(words),
                Some(("never", pattern)) => never.push(pattern.to_owned()),
                None if order == "laboratory" => chosen.players = &lab::conventional::PLAYERS,
                _ => panic!("{name}: `{line}` is no order"),
            },
            (direction @ (">" | "<"), rest) => steps.push((direction, rest)),
            _ => panic!("{name}: `{line}` is neither said, expected nor explained"),
        }
    }
    let mut session = Session::start(chosen);
    for (direction, rest) in steps {
        match direction {
            ">" => session.send(&rest.replace("\\r", "\r").replace("\\t", "\t")),
            _ => {
                session.expect(rest);
            }
        }
    }
    for line in session.finish() {
        let Some(said) = line.strip_prefix("< ") else { continue };
        assert!(
            !never.iter().any(|pattern| matches(pattern, said)),
            "{name}: `{said}` must never be said"
        );
    }
}

#[test]
fn conversations_go_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 20, "transcripts are missing");
    for path in paths {
        eprintln!("{}", path.display());
        play(&path);
    }
}

#[test]
fn a_log_file_holds_both_sides_and_a_bad_one_costs_nothing() {
    let path = std::env::temp_dir().join(format!("mavka-log-{}.txt", std::process::id()));
    let mut session = Session::start(setup(Uniform));
    session.send("setoption name Log File value /no/such/folder/log.txt");
    session.expect("info string cannot write the log*");
    session.send(&format!("setoption name Log File value {}", path.display()));
    session.send("go nodes 10");
    session.expect("bestmove *");
    session.finish();
    let log = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(log.contains(" > go nodes 10") && log.contains(" < bestmove "), "{log}");
}

#[test]
fn the_first_moves_are_drawn_by_temperature_and_seed() {
    fn games(session: &mut Session, seed: u32, position: &str) -> Vec<String> {
        session.send(&format!("setoption name Seed value {seed}"));
        session.send(position);
        let game = |_| {
            session.send("setoption name Clear Hash");
            session.send("go nodes 60");
            session.expect("bestmove *")
        };
        (0..10).map(game).collect()
    }
    let (first, sixth) = ("position startpos", "position fen k7/8/8/8/8/8/4P3/K7 w - - 0 6");
    for search in ["mcts", "action-value", "state-value", "policy"] {
        let mut session = Session::start(setup(Hashed::default()));
        session.send(&format!("setoption name Search value {search}"));
        session.send("setoption name Threads value 1");
        let cold = games(&mut session, 1, first);
        assert!(cold.iter().all(|best| *best == cold[0]), "{search}: {cold:?}");
        // So hot that ten games are drawn alike by chance once in a million times at most, not once in a hundred.
        session.send("setoption name Temperature value 10");
        let drawn = games(&mut session, 1, first);
        assert!(drawn.iter().any(|best| *best != drawn[0]), "{search}: {drawn:?}");
        assert_eq!(games(&mut session, 1, first), drawn, "{search}");
        assert_ne!(games(&mut session, 2, first), drawn, "{search}");
        assert_ne!(games(&mut session, 0, first), games(&mut session, 0, first), "{search}");
        let later = games(&mut session, 1, sixth);
        assert!(later.iter().all(|best| *best == later[0]), "{search}: {later:?}");
        session.finish();
    }
}

#[test]
fn a_wrong_guess_in_pondering_keeps_the_tree() {
    let mut session = Session::start(setup(Hashed::default()));
    session.send("debug on");
    session.send("setoption name Threads value 1");
    session.send("setoption name SyzygyProbeLimit value 0");
    // White's pawn moves; Black's king has three replies, all of which a long search visits.
    let start = "position fen 7k/8/8/5K2/8/8/P7/8 w - - 0 1";
    let after = |moves: &str| format!("{start} moves a2a3 {moves}");
    let mut tree_after = |position: &str, go: &str| -> u64 {
        session.send(position);
        session.send(go);
        if go.contains("ponder") {
            session.send("stop");
        }
        let line = session.expect("info string tree *");
        session.expect("bestmove *");
        line.split(' ').nth(3).and_then(|nodes| nodes.parse().ok()).unwrap()
    };
    tree_after(start, "go nodes 400 searchmoves a2a3");
    tree_after(&after("h8g8"), "go ponder");
    let missed = tree_after(&after("h8g7"), "go nodes 20");
    assert!(missed > 20, "nothing was kept: {missed}");
    let again = tree_after(&after("h8g7"), "go nodes 20");
    assert_eq!(again, missed + 20);
    let other = tree_after(&after("h8h7"), "go nodes 20");
    assert!(other > 20, "nothing was kept: {other}");
    let unrelated = tree_after("position startpos", "go nodes 20");
    assert_eq!(unrelated, 20);
    session.finish();
}

/// The end of each line of a search that names a player or its tree: visits of the best move and of the tree.
fn team_search(session: &mut Session, position: &str, go: &str) -> (Vec<u64>, Vec<String>, String) {
    session.send(position);
    session.send(go);
    let mut moves = Vec::new();
    let mut nodes = Vec::new();
    loop {
        let line = session.expect("*");
        let words: Vec<&str> = line.split(' ').collect();
        match &words[..] {
            ["info", "string", "team", "player", _, best, "V", _, "N", _, "of", all] => {
                moves.push((*best).to_owned());
                nodes.push(all.parse().unwrap());
            }
            ["info", "string", "team", "plays", ..] => {
                return (nodes, moves, session.expect("bestmove *"));
            }
            _ => {}
        }
    }
}

#[test]
fn every_tree_of_a_team_follows_the_game() {
    let mut session = Session::start(setup(Hashed::default()));
    for option in ["Threads value 1", "Team value 3", "BlunderCheck value false"] {
        session.send(&format!("setoption name {option}"));
    }
    let (nodes, moves, best) =
        team_search(&mut session, "position startpos", "go nodes 300 searchmoves e2e4");
    assert_eq!((nodes, &best[..13]), (vec![100; 3], "bestmove e2e4"));
    assert_eq!(moves, ["e2e4"; 3]);
    let (nodes, ..) = team_search(&mut session, "position startpos moves e2e4", "go nodes 300");
    assert!(nodes.iter().all(|nodes| *nodes > 150), "nothing was kept: {nodes:?}");
    let (nodes, ..) =
        team_search(&mut session, "position startpos moves d2d4 d7d5", "go nodes 300");
    assert_eq!(nodes, [100; 3], "another game");
    session.finish();
}

#[test]
fn noise_alone_tells_players_of_one_network_from_each_other() {
    let mut session = Session::start(setup(Hashed::default()));
    for option in ["Threads value 1", "Team value 4", "BlunderCheck value false"] {
        session.send(&format!("setoption name {option}"));
    }
    let positions = ["", " moves e2e4", " moves d2d4", " moves c2c4", " moves g1f3", " moves b2b3"];
    let mut differing = |noise: &str| {
        session.send(&format!("setoption name TeamNoise value {noise}"));
        let moves = positions.map(|moves| {
            session.send("setoption name Clear Hash");
            team_search(&mut session, &format!("position startpos{moves}"), "go nodes 400").1
        });
        assert!(moves.iter().all(|moves| moves.len() == 4));
        moves.iter().filter(|moves| moves.iter().any(|best| *best != moves[0])).count()
    };
    assert_eq!(differing("0"), 0, "clones");
    assert!(differing("1") > 0);
    session.finish();
}

#[test]
fn a_team_of_one_is_the_engine_without_teams() {
    let conversation = |options: &[&str]| {
        let clock = Arc::new(ManualClock::default());
        let mut session = Session::start(Setup { clock, ..setup(Hashed::default()) });
        session.send("setoption name Threads value 1");
        options.iter().for_each(|option| session.send(&format!("setoption name {option}")));
        let mut said = Vec::new();
        for moves in ["", " moves e2e4 e7e5", " moves e2e4 e7e5 g1f3 b8c6"] {
            session.send(&format!("position startpos{moves}"));
            session.send("go nodes 500");
            loop {
                said.push(session.expect("*"));
                if said.last().is_some_and(|line| line.starts_with("bestmove")) {
                    break;
                }
            }
        }
        session.finish();
        said
    };
    let plain = conversation(&[]);
    let one = conversation(&["Team value 1", "TeamNoise value 1", "TeamFiles value other.bin"]);
    assert_eq!(plain, one);
    assert!(plain.iter().all(|line| !line.contains("team")));
    assert_ne!(plain, conversation(&["Team value 2"]));
}

#[test]
fn bench_searches_as_the_engine_plays() {
    let mut lines = Vec::new();
    bench::run(&bench::Bench::default(), &mut |line| lines.push(line)).unwrap();
    let mut session = Session::start(setup(Hashed::default()));
    session.send("setoption name Threads value 1");
    session.send("setoption name MinibatchSize value 8");
    session.send("setoption name SyzygyProbeLimit value 0");
    session.send("setoption name BlunderCheck value false");
    let mut positions = 0;
    for line in lines.iter().filter(|line| line.contains("  seldepth ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, best, "depth", depth, "seldepth", seldepth, "nodes", nodes, fen @ ..] = &words[..]
        else {
            panic!("`{line}`");
        };
        session.send("setoption name Clear Hash");
        session.send(&format!("position fen {}", fen.join(" ")));
        session.send(&format!("go nodes {nodes}"));
        session.expect(&format!("info depth {depth} seldepth {seldepth} * nodes {nodes} *"));
        session.expect(&format!("bestmove {best}*"));
        positions += 1;
    }
    assert!(positions > 5, "{lines:?}");
    session.finish();
}

/// A pipe whose other end goes away after a few lines.
struct Closing(usize);

impl std::io::Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(std::io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An input that says a few lines and then stays open in silence.
struct Silent(std::io::Cursor<Vec<u8>>, std::sync::mpsc::Receiver<()>);

impl std::io::Read for Silent {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(into)
    }
}

impl std::io::BufRead for Silent {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.0.position() == self.0.get_ref().len() as u64 {
            let _ = self.1.recv();
        }
        self.0.fill_buf()
    }
    fn consume(&mut self, used: usize) {
        self.0.consume(used);
    }
}

#[test]
fn a_gui_that_hangs_up_ends_the_engine_even_if_its_input_stays_open() {
    let (_open, silence) = std::sync::mpsc::channel();
    let said = b"uci\nposition startpos\ngo infinite\n".to_vec();
    // The first write passes, the next one finds the pipe closed: `run_with` must return.
    engine::run_with(
        setup(Hashed::default()),
        Silent(std::io::Cursor::new(said), silence),
        Closing(1),
    );
}

#[test]
fn the_internal_search_draws_its_first_moves_where_asked_to() {
    let mut session = Session::start(Setup::default());
    for option in ["Search value internal", "InternalBreadth value 5", "InternalDepth value 1"] {
        session.send(&format!("setoption name {option}"));
    }
    let mut moves = |temperature: &str| {
        session.send(&format!("setoption name Temperature value {temperature}"));
        let play = |seed| {
            session.send(&format!("setoption name Seed value {seed}"));
            session.send("go");
            session.expect("bestmove *")
        };
        (1..=8).map(play).collect::<BTreeSet<String>>()
    };
    assert_eq!(moves("0").len(), 1);
    assert!(moves("10").len() > 1);
    session.finish();
}

/// A network that takes its time on the engine's own clock.
struct Slow {
    clock: Arc<ManualClock>,
    takes: Duration,
}

impl Evaluator for Slow {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.clock.advance(self.takes);
        Hashed::default().evaluate(batch)
    }
}

/// The clock runs out before the search begins, at each reading of it.
#[test]
fn a_move_is_evaluated_whatever_the_clock_says() {
    let clock = Arc::new(ManualClock::stepping(Duration::from_millis(7)));
    let mut session = Session::start(Setup { clock, ..setup(Hashed::default()) });
    let fen = "rnbqkbnr/ppp2ppp/3p4/4p3/3QP3/8/PPP2PPP/RNB1KBNR w KQkq - 0 4";
    for limits in [
        "wtime 1 btime 30000 winc 1000 binc 1000",
        "wtime -500 btime 30000 winc 1000 binc 1000",
        "wtime 0 btime 30000 winc 1000 binc 1000",
        "wtime 10 btime 30000 winc 1000 binc 1000",
        "wtime 1 btime 30000",
        "wtime 52 btime 296 winc 50 binc 50",
        "movetime 1",
    ] {
        session.send("ucinewgame");
        session.send(&format!("position fen {fen}"));
        session.send("isready");
        session.drain_until_ready();
        session.send(&format!("go {limits}"));
        session.expect("bestmove *");
        let info = session.final_info().unwrap_or_default();
        assert!(!info.contains(" nodes 0 "), "{limits}: {info}");
    }
    session.finish();
}

#[test]
fn a_move_is_evaluated_even_if_that_takes_longer_than_its_share_of_the_clock() {
    let clock = Arc::new(ManualClock::default());
    // A move may take 240 ms of a second; two evaluations take 320.
    let slow = Slow { clock: clock.clone(), takes: Duration::from_millis(160) };
    let mut session = Session::start(Setup { clock, ..setup(slow) });
    session.send("setoption name Threads value 1");
    session.send("isready");
    session.drain_until_ready();
    session.send("position startpos moves e2e4 e7e5 g1f3");
    session.send("go wtime 1000 btime 1000");
    session.expect("info * nodes 1 *");
    session.expect("bestmove *");
    session.send("position startpos moves d2d4");
    session.send("go wtime 300 btime 300");
    session.expect("info * nodes 1 *");
    session.expect("bestmove *");
    // Where the flag would fall first, any move is better.
    session.send("position startpos moves d2d4 d7d5");
    session.send("go wtime 150 btime 150");
    session.expect("info * nodes 0 *");
    session.expect("bestmove *");
    session.finish();
}

/// A network that answers a search's first position, and the next one when it is allowed to.
struct Stalled {
    /// None until the engine is ready; then what is sent when an evaluation stalls, and what ends that.
    stall: Arc<Mutex<Option<Stall>>>,
}

struct Stall {
    is_first: bool,
    begun: Sender<()>,
    end: Receiver<()>,
}

impl Evaluator for Stalled {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        if let Some(stall) = &mut *self.stall.lock().unwrap()
            && !std::mem::take(&mut stall.is_first)
            && stall.begun.send(()).is_ok()
        {
            let _ = stall.end.recv();
        }
        Hashed::default().evaluate(batch)
    }
}

#[test]
fn the_clock_is_kept_while_an_evaluation_stalls() {
    let clock = Arc::new(ManualClock::default());
    let stall = Arc::new(Mutex::new(None));
    let network = Stalled { stall: stall.clone() };
    let mut session = Session::start(Setup { clock: clock.clone(), ..setup(network) });
    session.send("setoption name Threads value 1");
    for (go, is_pondering) in
        [("go wtime 52 winc 50", false), ("go movetime 500", false), ("go ponder wtime 52", true)]
    {
        session.send("ucinewgame");
        session.send("position startpos moves e2e4 e7e5");
        session.send("isready");
        session.drain_until_ready();
        let ((begun, has_begun), (release, end)) = (mpsc::channel(), mpsc::channel());
        *stall.lock().unwrap() = Some(Stall { is_first: true, begun, end });
        session.send(go);
        has_begun.recv().unwrap();
        clock.advance(Duration::from_millis(510));
        if is_pondering {
            session.send("ponderhit");
            session.send("isready");
            session.drain_until_ready();
            clock.advance(Duration::from_millis(510));
        }
        // Once more has no effect but that the engine looks at the fake clock.
        session.send("ponderhit");
        session.expect("info * nodes 1 *");
        session.expect("bestmove *");
        // The late end is silent.
        release.send(()).unwrap();
        session.send("isready");
        assert_eq!(session.expect("*"), "readyok");
        *stall.lock().unwrap() = None;
        session.send("go nodes 20");
        session.expect("info * nodes 20 *");
        session.expect("bestmove *");
    }
    session.finish();
}

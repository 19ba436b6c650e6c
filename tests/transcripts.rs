//! Conversations with the engine, one file each in `transcripts/`.
//!
//! `> text` is sent, `< pattern` is waited for (`*` is any text; a `bestmove` or `readyok` in between is
//! a failure), `# text` explains. `! network hashed | uniform | failing CALLS error|nan|short|panic |
//! installed` at the top chooses who judges, `! never PATTERN` names a line that must not come at all.
//! `\r` and `\t` in a sent line are those characters. At the end the input closes, and every `go` must
//! have had exactly one `bestmove`, led by an `info` with score and pv.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::Setup;
use engine::bench;
use engine::options::settings::Backend;
use engine::play::network::{Network, NetworkError, Networks};
use engine::time::ManualClock;
use mavka_tests::{PATIENCE, Session, matches, setup};
use nn::evaluator::fake::{Breakdown, Failing, Hashed, Uniform};
use nn::{EvalError, Evaluation, Evaluator, Query};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
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
fn weights_are_read_and_damaged_ones_refused() {
    let folder = std::env::temp_dir().join(format!("mavka-weights-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let network = nn::checkpoint::Network::new(&nn::net::NetConfig::default(), 1);
    let bytes = network.to_bytes(nn::checkpoint::Precision::Full).unwrap();
    fs::write(folder.join("whole.net"), &bytes).unwrap();
    fs::write(folder.join("half.net"), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(folder.join("empty.net"), b"").unwrap();
    fs::write(
        folder.join("text.net"),
        b"this is no network, but it is longer than a header would be",
    )
    .unwrap();
    let mut session = Session::start(Setup::default());
    for name in ["half.net", "empty.net", "text.net", "missing.net", ""] {
        session.send(&format!("setoption name WeightsFile value {}", folder.join(name).display()));
        session.send("isready");
        session.expect("info string cannot use network *");
        session.expect("info string playing with built-in network *");
        session.drain_until_ready();
        session.send("go nodes 20");
        session.expect("bestmove *");
    }
    session.send("debug on");
    session
        .send(&format!("setoption name WeightsFile value {}", folder.join("whole.net").display()));
    session.send("isready");
    session.expect("info string playing with*whole.net*");
    session.drain_until_ready();
    session.send("go nodes 20");
    session.expect("bestmove *");
    session.finish();
    fs::remove_dir_all(&folder).unwrap();
}

/// A machine whose GPU is missing, or broken, or too small, as seen when the network is put on it or
/// when it is first asked.
struct WithoutGpu(fn() -> Result<Network, NetworkError>);

impl Networks for WithoutGpu {
    fn open(&self, _: Option<&Path>, backend: Backend) -> Result<Network, NetworkError> {
        match backend {
            Backend::Cpu => Ok(engine::play::network::hashed()),
            _ => (self.0)(),
        }
    }
}

#[test]
fn without_a_gpu_the_cpu_plays_and_one_line_says_why() {
    type Gpu = fn() -> Result<Network, NetworkError>;
    let missing: [(Gpu, &str); 3] = [
        (
            || Err(NetworkError::Backend("CUDA is not available; using the CPU".to_owned())),
            "CUDA is not available; using the CPU",
        ),
        (
            || Err(NetworkError::Device(EvalError::Device("out of memory".to_owned()))),
            "the network does not run on the GPU (the device failed: out of memory); using the CPU",
        ),
        (
            || {
                let evaluator = Arc::new(Failing::after(1, Breakdown::Error));
                Ok(Network { evaluator, name: "on a GPU".to_owned(), on_gpu: true })
            },
            "the network does not run on the GPU (the device failed: the fake device failed as it was told to); using the CPU",
        ),
    ];
    for (gpu, why) in missing {
        for backend in ["auto", "cuda"] {
            let networks = Arc::new(WithoutGpu(gpu));
            let mut session = Session::start(Setup { networks, ..Setup::default() });
            session.send(&format!("setoption name Backend value {backend}"));
            session.send("isready");
            assert_eq!(session.drain_until_ready(), [format!("info string {why}")]);
            session.send("go nodes 20");
            session.expect("bestmove *");
            session.send("isready");
            assert_eq!(session.drain_until_ready(), [""; 0], "said once");
            session.finish();
        }
    }
}

#[test]
fn a_gpu_that_fails_in_mid_game_is_given_up_for_the_cpu() {
    let gpu = || {
        let evaluator = Arc::new(Failing::after(30, Breakdown::Error));
        Ok(Network { evaluator, name: "on a GPU".to_owned(), on_gpu: true })
    };
    let networks = Arc::new(WithoutGpu(gpu));
    let mut session = Session::start(Setup { networks, ..Setup::default() });
    for option in ["Backend value cuda", "MinibatchSize value 1"] {
        session.send(&format!("setoption name {option}"));
    }
    session.send("isready");
    assert_eq!(session.drain_until_ready(), [""; 0], "it still computes");
    session.send("go nodes 200");
    session.expect(
        "info string the network does not run on the GPU (the device failed: *); using the CPU",
    );
    session.expect("info * nodes 200 *");
    session.expect("bestmove *");
    session.send("setoption name Clear Hash");
    session.send("go nodes 200");
    session.expect("info * nodes 200 *");
    session.expect("bestmove *");
    session.send("isready");
    assert_eq!(session.drain_until_ready(), [""; 0], "said once");
    session.finish();
}

#[test]
fn a_cpu_that_fails_is_not_called_a_gpu() {
    let networks = Arc::new(WithoutGpu(|| {
        let evaluator = Arc::new(Failing::after(30, Breakdown::Error));
        Ok(Network { evaluator, name: "on the CPU".to_owned(), on_gpu: false })
    }));
    let mut session = Session::start(Setup { networks, ..Setup::default() });
    session.send("setoption name MinibatchSize value 1");
    session.send("go nodes 200");
    session.expect("info string the search ended early: *");
    session.expect("bestmove *");
    let said = session.finish();
    assert!(!said.iter().any(|line| line.contains("GPU")), "{said:?}");
}

/// Notes which files are asked for and which network answers.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<String>>>);

struct Named(String, Noting);

impl Evaluator for Named {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.1.0.lock().unwrap().push(self.0.clone());
        Hashed::default().evaluate(batch)
    }
}

impl Networks for Noting {
    fn open(&self, file: Option<&Path>, _: Backend) -> Result<Network, NetworkError> {
        let name = file.map_or_else(String::new, |file| file.display().to_string());
        let evaluator = Arc::new(Named(name.clone(), self.clone()));
        Ok(Network { evaluator, name, on_gpu: false })
    }
}

#[test]
fn the_network_of_weights_file_answers_every_search() {
    let noting = Noting::default();
    let networks = Arc::new(noting.clone());
    let mut session = Session::start(Setup { networks, ..Setup::default() });
    session.send("setoption name NNCacheSize value 0");
    let mut answers = |file: &str, go: &str| {
        session.send(&format!("setoption name WeightsFile value {file}"));
        session.send("ucinewgame");
        session.send("isready");
        session.drain_until_ready();
        noting.0.lock().unwrap().clear();
        session.send(go);
        session.expect("bestmove *");
        let asked = noting.0.lock().unwrap().clone();
        assert!(asked.iter().all(|name| *name == asked[0]), "{asked:?}");
        asked[0].clone()
    };
    for go in ["go nodes 20", "go wtime 9000 btime 9000"] {
        assert_eq!(answers("<empty>", go), "");
        assert_eq!(answers("a.net", go), "a.net");
    }
    session.finish();
}

/// Reports which files are opened.
struct Reporting(Mutex<Sender<String>>);

impl Networks for Reporting {
    fn open(&self, file: Option<&Path>, _: Backend) -> Result<Network, NetworkError> {
        let name = file.map_or_else(String::new, |file| file.display().to_string());
        self.0.lock().unwrap().send(name).unwrap();
        Ok(engine::play::network::hashed())
    }
}

#[test]
fn the_network_is_opened_once_as_soon_as_uci_is_answered() {
    for file in ["", "a.net"] {
        let (opened, opening) = channel();
        let networks = Arc::new(Reporting(Mutex::new(opened)));
        let mut session = Session::start(Setup { networks, ..Setup::default() });
        session.send("uci");
        assert_eq!(opening.recv_timeout(PATIENCE).unwrap(), "", "before any other command");
        session.send(&format!("setoption name WeightsFile value {file}"));
        session.send("go nodes 20");
        session.expect("uciok");
        session.expect("bestmove *");
        session.send("isready");
        session.drain_until_ready();
        session.finish();
        let others: Vec<String> = opening.try_iter().collect();
        assert_eq!(others, if file.is_empty() { vec![] } else { vec![file] });
    }
}

/// Takes two batches at once and notes whether it ever got them.
#[derive(Default)]
struct TwoAtOnce {
    inside: Mutex<usize>,
    more: Condvar,
    met: Arc<AtomicBool>,
}

impl Evaluator for TwoAtOnce {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        let mut inside = self.inside.lock().unwrap();
        *inside += 1;
        self.more.notify_all();
        // The first questions come alone.
        let wait = Duration::from_millis(50);
        let alone = |inside: &mut usize| *inside < 2 && !self.met.load(Relaxed);
        let (mut inside, waited) = self.more.wait_timeout_while(inside, wait, alone).unwrap();
        if !waited.timed_out() {
            self.met.store(true, Relaxed);
            self.more.notify_all();
        }
        *inside -= 1;
        drop(inside);
        Hashed::default().evaluate(batch)
    }

    fn in_flight(&self) -> usize {
        2
    }
}

#[test]
fn a_device_that_takes_two_batches_at_once_gets_them() {
    let device = TwoAtOnce::default();
    let met = device.met.clone();
    let mut session = Session::start(setup(device));
    session.send("setoption name Threads value 1");
    session.send("go nodes 300");
    session.expect("bestmove *");
    session.finish();
    assert!(met.load(Relaxed));
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

#[test]
fn a_move_is_evaluated_even_if_that_takes_longer_than_its_share_of_the_clock() {
    let clock = Arc::new(ManualClock::default());
    // Of a second, a move may take 240 ms; two evaluations take 320.
    let slow = Slow { clock: clock.clone(), takes: Duration::from_millis(160) };
    let mut session = Session::start(Setup { clock, ..setup(slow) });
    session.send("setoption name Threads value 1");
    session.send("isready");
    session.drain_until_ready();
    session.send("position startpos moves e2e4 e7e5 g1f3");
    session.send("go wtime 1000 btime 1000");
    session.expect("info * nodes 1 *");
    session.expect("bestmove *");
    // Where the flag would fall first, any move is better.
    session.send("position startpos moves d2d4");
    session.send("go wtime 300 btime 300");
    session.expect("info * nodes 0 *");
    session.expect("bestmove *");
    session.finish();
}

//! `mavka bench`: the same search of the same positions every time. The signature changes only when the
//! search (or, with `--evaluator network`, the network) changes; the speed is what it is.
//!
//! The signature covers what plays in a game as well: every line that the engine with its default options answers to a
//! `go` with a clock, where the clock is a fake one that evaluations move on.

use crate::fnv::Fnv;
use crate::options::settings::Settings;
use crate::output::Output;
use crate::play::analyst::{Analyst, Effort};
use crate::play::engine::Engine;
use crate::play::network::{self, Network, NetworkError, Only};
use crate::play::report::per_second;
use crate::play::setup::Setup;
use crate::process::time::ManualClock;
use chess::epd;
use chess::game::{Game, GameError};
use crossbeam::channel;
use nn::{EvalError, Evaluation, Evaluator, Query};
use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use uci::{Go, SetOption, StartPosition};

/// One FEN a line, a remark after the semicolon.
const POSITIONS: &str = include_str!("../../assets/bench.epd");
/// Small enough for any machine, large enough that no position overflows it.
const TREE_MB: usize = 64;
/// Leaves in a minibatch.
const BATCH: usize = 8;

/// The positions to search, and the evaluator of the leaves.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Playouts for each position.
    pub nodes: u64,
    /// The evaluator of the leaves.
    pub evaluator: EvaluatorKind,
    /// Search threads; the signature repeats with one only.
    pub threads: usize,
}

/// The evaluator of the leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluatorKind {
    /// Made-up values: fast, and the same on every machine.
    Hashed,
    /// The network of this file, or the built-in one.
    Network(Option<PathBuf>),
}

impl Default for Bench {
    fn default() -> Bench {
        Bench { nodes: 2_000, evaluator: EvaluatorKind::Hashed, threads: 1 }
    }
}

/// Why there is no signature.
#[derive(Debug)]
pub enum BenchError {
    /// The network cannot be used.
    Network(NetworkError),
    /// One of the bench's own positions is refused.
    Position(GameError),
    /// The search of this position failed.
    Search {
        /// The position.
        fen: String,
        /// The evaluator's error.
        why: EvalError,
    },
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Network(why) => why.fmt(f),
            BenchError::Position(why) => why.fmt(f),
            BenchError::Search { fen, why } => write!(f, "the search of `{fen}` failed: {why}"),
        }
    }
}

impl Error for BenchError {}

/// The result of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchResult {
    /// Playouts of all positions.
    pub nodes: u64,
    /// Time of all searches.
    pub elapsed: Duration,
    /// Hash of best moves, depths, visits and lines.
    pub signature: u32,
}

/// Searches all positions; says one line for each, and the total at the end. The last line is the one that OpenBench reads,
/// which takes the nodes for the signature.
///
/// # Errors
/// The network cannot be used, or a position cannot be searched to its end: there is no total then.
pub fn run(bench: &Bench, say: &mut dyn FnMut(String)) -> Result<BenchResult, BenchError> {
    let network = match &bench.evaluator {
        EvaluatorKind::Hashed => Ok(network::hashed()),
        EvaluatorKind::Network(file) => Setup::default().networks.open_anywhere(file.as_deref()),
    };
    run_with(bench, network.map_err(BenchError::Network)?, say)
}

/// As [`run`], with this network.
fn run_with(
    bench: &Bench,
    network: Network,
    say: &mut dyn FnMut(String),
) -> Result<BenchResult, BenchError> {
    // As in play, but with a batch of its own, so that no device preference enters the signature; with neither a cache
    // nor endgame tables, which would answer some of the positions without a search.
    let settings = Settings {
        hash_mb: TREE_MB,
        nn_cache_mb: 0,
        threads: bench.threads.max(1),
        minibatch_size: BATCH,
        syzygy_probe_limit: 0,
        ..Settings::default()
    };
    let mut analyst =
        Analyst::new(&Only(network.clone()), settings).map_err(BenchError::Network)?;
    let mut signature = Fnv::default();
    let mut nodes = 0;
    let start = Instant::now();
    let positions: Vec<epd::Record<'_>> =
        epd::lines(POSITIONS).filter_map(|(_, line)| epd::split(line)).collect();
    for (index, epd::Record { fen, .. }) in positions.iter().enumerate() {
        let game = Game::from_fen(fen, false).map_err(BenchError::Position)?;
        analyst.forget();
        let effort = Effort::Nodes(bench.nodes);
        let snapshot = analyst
            .search(&game, effort, &mut |_| ControlFlow::Continue(()))
            .map_err(|why| BenchError::Search { fen: fen.clone(), why })?;
        let best = snapshot.lines.first().and_then(|line| line.moves.first()).copied();
        nodes += snapshot.playouts;
        signature = signature
            .with_bytes(u64::from(best.map_or(0, u16::from)))
            .with_bytes(u64::from(snapshot.depth) << 32 | u64::from(snapshot.seldepth));
        for line in &snapshot.lines {
            let visits = signature.with_bytes(line.visits);
            let codes = line.moves.iter().map(|action| u64::from(u16::from(*action)));
            signature = codes.fold(visits, Fnv::with_bytes);
        }
        let best = best.map_or_else(|| "(none)".to_owned(), |best| game.uci(best));
        say(format!(
            "{:>2}/{}  {best:<6} depth {:>2}  seldepth {:>3}  nodes {:>7}  {fen}",
            index + 1,
            positions.len(),
            snapshot.depth,
            snapshot.seldepth,
            snapshot.playouts,
        ));
    }
    let elapsed = start.elapsed();
    if bench.evaluator == EvaluatorKind::Hashed {
        let fens = positions.iter().map(|record| record.fen.clone());
        signature = play_by_clock(&network, fens).into_iter().fold(signature, Fnv::with_bytes);
    }
    let total = BenchResult { nodes, elapsed, signature: short(signature) };
    say(format!("\nNodes searched: {}", total.nodes));
    let speed = per_second(total.nodes, total.elapsed);
    say(format!("Nodes/second: {speed}"));
    say(format!("Evaluator: {}", network.name));
    say(format!("Bench: {}", total.signature));
    say(format!("{} nodes {speed} nps", total.signature));
    Ok(total)
}

/// By this much each look at the fake clock moves it: about as long as the 16 positions that the blunder check searches
/// between two of them.
const LOOK: Duration = Duration::from_micros(20);

/// The hash of each line that the engine answers, one thread and else default options, to positions with a clock of
/// ten seconds and a tenth a move.
fn play_by_clock(network: &Network, fens: impl Iterator<Item = String>) -> Vec<u64> {
    let clock = Arc::new(ManualClock::stepping(LOOK));
    let evaluator = Arc::new(Timed { evaluator: network.evaluator.clone(), clock: clock.clone() });
    let network = Network { evaluator, ..network.clone() };
    let setup =
        Setup { clock: clock.clone(), networks: Arc::new(Only(network)), ..Setup::default() };
    let answers = Answers::default();
    // Nothing hangs up.
    let (hangup, _hung_up) = channel::bounded(1);
    let output = Output::new(Box::new(answers.clone()), clock, hangup);
    let mut engine = Engine::new(setup, output);
    let threads = SetOption { name: "Threads".to_owned(), value: Some("1".to_owned()) };
    engine.set_option(&threads);
    for fen in fens {
        engine.new_game();
        engine.prepare();
        if engine.set_position(&StartPosition::Fen(fen), &[]).is_ok() {
            let (time, increment) = (Some(10_000), Some(100));
            let go =
                Go { wtime: time, btime: time, winc: increment, binc: increment, ..Go::default() };
            engine.go(&go, engine.now());
            engine.wait();
        }
    }
    drop(engine);
    let bytes = answers.0.lock().unwrap_or_else(PoisonError::into_inner);
    let text = String::from_utf8_lossy(&bytes);
    text.lines()
        .map(|line| {
            line.bytes().fold(Fnv::default(), |hash, byte| hash.with_bytes(byte.into())).get()
        })
        .collect()
}

/// Takes 200 microseconds of a fake clock for each call, and 300 more for each position.
struct Timed {
    evaluator: Arc<dyn Evaluator>,
    clock: Arc<ManualClock>,
}

impl Evaluator for Timed {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.clock.advance(Duration::from_micros(200 + 300 * batch.len() as u64));
        self.evaluator.evaluate(batch)
    }
}

/// Keeps what is written.
#[derive(Clone, Default)]
struct Answers(Arc<Mutex<Vec<u8>>>);

impl Write for Answers {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Short enough for a commit message.
fn short(hash: Fnv) -> u32 {
    (hash.get() ^ hash.get() >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::evaluator::fake::{Breakdown, Failing};
    use std::sync::Arc;

    #[test]
    fn a_position_that_fails_is_an_error_that_names_it() {
        let evaluator = Arc::new(Failing::after(3, Breakdown::Error));
        let network = Network { evaluator, name: String::new(), on_gpu: false, players: 1 };
        let bench = Bench { nodes: 50, ..Bench::default() };
        let mut lines = Vec::new();
        let end = run_with(&bench, network, &mut |line| lines.push(line));
        assert!(
            matches!(&end, Err(BenchError::Search { fen, .. }) if fen.contains('/')),
            "{end:?}"
        );
        assert!(!lines.iter().any(|line| line.contains("Bench:")), "{lines:?}");
    }

    #[test]
    fn a_game_by_a_fake_clock_repeats_and_its_moves_take_their_share_of_it() {
        let fen = || {
            ["r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3".to_owned()]
                .into_iter()
        };
        let answers = play_by_clock(&network::hashed(), fen());
        assert!(answers.len() > 3, "some lines and a move");
        assert_eq!(answers, play_by_clock(&network::hashed(), fen()));
    }

    /// OpenBench reads from the last line on: the first number before or after `nodes` is the bench, that beside `nps` the
    /// speed, in a line of which all but letters, digits and blanks are blanks.
    #[test]
    fn the_last_line_has_the_signature_where_openbench_looks_for_it() {
        let mut lines = Vec::new();
        let bench = Bench { nodes: 5, ..Bench::default() };
        let total = run(&bench, &mut |line| lines.push(line)).unwrap();
        let words: Vec<&str> = lines.last().unwrap().split(' ').collect();
        let [signature, "nodes", speed, "nps"] = words[..] else { panic!("{words:?}") };
        assert_eq!(signature, total.signature.to_string());
        assert!(speed.parse::<u64>().is_ok(), "{speed}");
        assert!(lines.contains(&format!("Bench: {signature}")), "{lines:?}");
    }

    #[test]
    fn the_same_search_has_the_same_signature() {
        let bench = Bench { nodes: 50, ..Bench::default() };
        let signature = |bench: &Bench| run(bench, &mut |_| ()).unwrap().signature;
        assert_eq!(signature(&bench), signature(&bench));
        assert_ne!(signature(&bench), signature(&Bench { nodes: 60, ..bench.clone() }));
    }
}

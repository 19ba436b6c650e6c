//! `mavka bench`: the same search of the same positions every time. The signature changes only when the
//! search (or, with `--evaluator network`, the network) changes; the speed is what it is.

use crate::chess::action::Action;
use crate::chess::epd;
use crate::chess::game::{Game, GameError};
use crate::fnv::Fnv;
use crate::play::engine::Setup;
use crate::play::network::{self, Network, NetworkError};
use crate::play::params::search_params;
use crate::play::report::per_second;
use crate::play::session::{Plan, SearchSession};
use crate::play::settings::Settings;
use mcts::Patient;
use nn::EvalError;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One FEN a line, a remark after the semicolon.
const POSITIONS: &str = include_str!("../../../assets/bench.epd");
/// Small enough for any machine, large enough that no position overflows it.
const TREE_MB: usize = 64;
/// Leaves in a minibatch.
const BATCH: usize = 8;

/// What to search, and what evaluates the leaves.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Playouts for each position.
    pub nodes: u64,
    /// What evaluates the leaves.
    pub evaluator: EvaluatorKind,
    /// Search threads; the signature repeats with one only.
    pub threads: usize,
}

/// What evaluates the leaves.
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
        /// What the evaluator said.
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

/// What a bench found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Playouts of all positions.
    pub nodes: u64,
    /// Time of all searches.
    pub elapsed: Duration,
    /// Hash of best moves, depths, visits and lines.
    pub signature: u32,
}

/// Searches all positions; says one line for each and four at the end.
///
/// # Errors
/// The network cannot be used, or a position cannot be searched to its end: there is no total then.
pub fn run(bench: &Bench, say: &mut dyn FnMut(String)) -> Result<Total, BenchError> {
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
) -> Result<Total, BenchError> {
    // The session and the parameters of play, but a batch of its own, so that no device preference enters
    // the signature, and no endgame tables, which would answer some of the positions without a search.
    let settings = Settings { hash_mb: TREE_MB, ..Settings::default() };
    let mut session = SearchSession::default();
    session.reserve(&settings);
    let world = session.world(&network, &settings);
    let plan = Plan {
        params: search_params(&settings, BATCH),
        searchmoves: &[],
        threads: bench.threads.max(1),
        playouts: Some(bench.nodes.max(1)),
    };
    let mut signature = Fnv::default();
    let mut nodes = 0;
    let start = Instant::now();
    let positions: Vec<epd::Record<'_>> =
        epd::lines(POSITIONS).filter_map(|(_, line)| epd::split(line)).collect();
    for (index, epd::Record { fen, .. }) in positions.iter().enumerate() {
        let game = Game::from_fen(fen, false).map_err(BenchError::Position)?;
        session.clear();
        session.reroot(&world, &game);
        let outcome = session.run(&world, &plan, &Patient);
        if let Some(why) = outcome.error {
            return Err(BenchError::Search { fen: fen.clone(), why });
        }
        let snapshot = &outcome.snapshot;
        nodes += snapshot.playouts;
        signature = signature
            .with_bytes(u64::from(outcome.best.map_or(0, u16::from)))
            .with_bytes(u64::from(snapshot.depth) << 32 | u64::from(snapshot.seldepth));
        for line in &snapshot.lines {
            let visits = signature.with_bytes(line.visits);
            let codes = line.moves.iter().map(|action| u64::from(u16::from(*action)));
            signature = codes.fold(visits, Fnv::with_bytes);
        }
        let best = outcome.best.map_or_else(|| "(none)".to_owned(), |best: Action| game.uci(best));
        say(format!(
            "{:>2}/{}  {best:<6} depth {:>2}  seldepth {:>3}  nodes {:>7}  {fen}",
            index + 1,
            positions.len(),
            snapshot.depth,
            snapshot.seldepth,
            snapshot.playouts,
        ));
    }
    let total = Total { nodes, elapsed: start.elapsed(), signature: short(signature) };
    say(format!("\nNodes searched: {}", total.nodes));
    say(format!("Nodes/second: {}", per_second(total.nodes, total.elapsed)));
    say(format!("Evaluator: {}", network.name));
    say(format!("Bench: {}", total.signature));
    Ok(total)
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
        let network = Network { evaluator, name: String::new(), on_gpu: false };
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
    fn the_same_search_has_the_same_signature() {
        let bench = Bench { nodes: 50, ..Bench::default() };
        let signature = |bench: &Bench| run(bench, &mut |_| ()).unwrap().signature;
        assert_eq!(signature(&bench), signature(&bench));
        assert_ne!(signature(&bench), signature(&Bench { nodes: 60, ..bench.clone() }));
    }
}

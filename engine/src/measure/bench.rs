//! `mavka bench`: the same search of the same positions every time. The signature changes only when the
//! search (or, with `--evaluator network`, the network) changes; the speed is what it is.

use super::say;
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::play::engine::Setup;
use crate::play::network::{self, Network};
use crate::play::report::per_second;
use crate::world::RulesWorld;
use crate::world::rules::{Scoring, State};
use clap::{Args, ValueEnum};
use mcts::Params;
use mcts::{Patient, Searcher};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One FEN a line, a remark after the semicolon.
const POSITIONS: &str = include_str!("../../../assets/bench.epd");
/// Small enough for any machine, large enough that no position overflows it.
const TREE_BYTES: usize = 64 << 20;

/// Arguments of `mavka bench`.
#[derive(Args)]
pub struct Bench {
    /// Playouts for each position
    #[arg(long, default_value_t = 2_000)]
    nodes: u64,
    /// Who judges: made-up values (fast, the same everywhere) or the network
    #[arg(long, value_enum, default_value_t = Judge::Hashed)]
    evaluator: Judge,
    /// Network file for `--evaluator network`; the built-in network without it
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Search threads; the signature repeats with one only
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Judge {
    Hashed,
    Network,
}

impl Default for Bench {
    fn default() -> Bench {
        Bench { nodes: 2_000, evaluator: Judge::Hashed, weights: None, threads: 1 }
    }
}

impl Bench {
    /// Runs and prints.
    ///
    /// # Errors
    /// The network cannot be used, or standard output is closed.
    pub fn run(self) -> Result<(), String> {
        let mut sent = Ok(());
        run(&self, &mut |line| {
            if sent.is_ok() {
                sent = say(line);
            }
        });
        sent
    }
}

/// What a bench found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    pub nodes: u64,
    pub elapsed: Duration,
    pub signature: u32,
}

/// Searches all positions; says one line for each and four at the end.
pub fn run(bench: &Bench, say: &mut dyn FnMut(String)) -> Option<Total> {
    let network = match network(bench) {
        Ok(network) => network,
        Err(why) => {
            say(format!("info string {why}"));
            return None;
        }
    };
    let world = RulesWorld::new(network.evaluator, Scoring::Mean, 0.0);
    // A batch of its own choice, so that no device preference enters the signature.
    let mut searcher = Searcher::new(Params { batch: 8, ..Params::default() }, TREE_BYTES);
    let mut signature = Fnv::default();
    let mut nodes = 0;
    let start = Instant::now();
    let fens: Vec<&str> =
        POSITIONS.lines().filter_map(|line| line.split(';').next()).map(str::trim).collect();
    for (index, fen) in fens.iter().enumerate() {
        let game = match Game::from_fen(fen, false) {
            Ok(game) => game,
            Err(why) => {
                say(format!("info string {why}"));
                return None;
            }
        };
        searcher.clear();
        searcher.set_root(State::root(&game));
        let outcome =
            searcher.run(&world, bench.threads.max(1), Some(bench.nodes.max(1)), &Patient);
        if let Some(error) = outcome.error {
            say(format!("info string {error}"));
            return None;
        }
        let snapshot = &outcome.snapshot;
        nodes += snapshot.playouts;
        signature.add(u64::from(outcome.best.map_or(0, u16::from)));
        signature.add(u64::from(snapshot.depth) << 32 | u64::from(snapshot.seldepth));
        for line in &snapshot.lines {
            signature.add(line.visits);
            line.moves.iter().for_each(|action| signature.add(u64::from(u16::from(*action))));
        }
        let best = outcome.best.map_or_else(|| "(none)".to_owned(), |best: Action| game.uci(best));
        say(format!(
            "{:>2}/{}  {best:<6} depth {:>2}  seldepth {:>3}  nodes {:>7}  {fen}",
            index + 1,
            fens.len(),
            snapshot.depth,
            snapshot.seldepth,
            snapshot.playouts,
        ));
    }
    let total = Total { nodes, elapsed: start.elapsed(), signature: signature.short() };
    say(format!("\nNodes searched: {}", total.nodes));
    say(format!("Nodes/second: {}", per_second(total.nodes, total.elapsed)));
    say(format!("Evaluator: {}", network.name));
    say(format!("Bench: {}", total.signature));
    Some(total)
}

fn network(bench: &Bench) -> Result<Network, String> {
    match bench.evaluator {
        Judge::Hashed => Ok(network::hashed()),
        Judge::Network => {
            let networks = Setup::default().networks;
            networks.open_anywhere(bench.weights.as_deref()).map_err(|why| why.to_string())
        }
    }
}

/// 64-bit FNV-1a: small, and the same on every machine.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xCBF2_9CE4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    /// Short enough for a commit message.
    fn short(&self) -> u32 {
        (self.0 ^ self.0 >> 32) as u32
    }
}

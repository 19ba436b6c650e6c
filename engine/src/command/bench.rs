//! `mavka bench`: arguments and output of [`crate::bench`].

use super::args::positive;
use super::output::{Failure, StdoutSink};
use crate::bench::{self, EvaluatorKind};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `mavka bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Playouts for each position
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// The evaluator: made-up values (fast, the same everywhere) or the network
    #[arg(long, value_enum, default_value_t = Evaluator::Hashed)]
    evaluator: Evaluator,
    /// Network file for `--evaluator network`; the built-in network without it
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Search threads; the signature repeats with one only
    #[arg(long, default_value_t = 1, value_parser = positive())]
    threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Evaluator {
    Hashed,
    Network,
}

impl BenchArgs {
    /// Searches and prints.
    ///
    /// # Errors
    /// The network cannot be used, a position cannot be searched, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let evaluator = match self.evaluator {
            Evaluator::Hashed => EvaluatorKind::Hashed,
            Evaluator::Network => EvaluatorKind::Network(self.weights),
        };
        let bench = bench::Bench { nodes: self.nodes, evaluator, threads: self.threads };
        let mut out = StdoutSink::default();
        bench::run(&bench, &mut |line| out.say(line))?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_is_missing_is_a_failure() {
        let bench = BenchArgs {
            nodes: 1,
            evaluator: Evaluator::Network,
            weights: Some("no/such/network".into()),
            threads: 1,
        };
        assert!(bench.run().unwrap_err().to_string().contains("no/such/network"));
    }
}

//! `mavka-lab treebench`: arguments and output of [`crate::speed::treebench`].

use crate::speed::treebench::{self, EvaluatorKind};
use clap::{Args, ValueEnum};
use engine::command::args::positive;
use engine::command::output::{Failure, StdoutSink};
use std::path::PathBuf;

/// Arguments of `mavka-lab treebench`.
#[derive(Args)]
pub struct TreeBenchArgs {
    /// Playouts from each position: how large its tree becomes
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    nodes: u64,
    /// Numbers of search threads to try; default: one, two, four and so on up to all cores
    #[arg(long, value_delimiter = ',', value_parser = positive())]
    threads: Vec<usize>,
    /// Leaves that a thread gathers at once
    #[arg(long, default_value_t = 16, value_parser = positive())]
    batch: usize,
    /// The evaluator: no opinion, quick ones, or the ones of `bench`
    #[arg(long, value_enum, default_value_t = Evaluator::Quick)]
    evaluator: Evaluator,
    /// Position to search, instead of three middle games; may be given several times
    #[arg(long)]
    fen: Vec<String>,
    /// Draw speed over tree size into this SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Evaluator {
    Uniform,
    Quick,
    Hashed,
}

impl TreeBenchArgs {
    /// Searches and prints.
    ///
    /// # Errors
    /// A position cannot be read, the memory is not there, or the picture cannot be written.
    pub fn run(self) -> Result<(), Failure> {
        let bench = treebench::TreeBench {
            nodes: self.nodes,
            threads: self.threads,
            batch: self.batch,
            evaluator: match self.evaluator {
                Evaluator::Uniform => EvaluatorKind::Uniform,
                Evaluator::Quick => EvaluatorKind::Quick,
                Evaluator::Hashed => EvaluatorKind::Hashed,
            },
            fens: self.fen,
            plot: self.plot,
        };
        let mut out = StdoutSink::default();
        bench.run(&mut |line| out.say(line))?;
        out.end()
    }
}

//! `mavka-lab evalbench`: arguments and output of [`crate::speed::evalbench`].

use crate::speed::evalbench;
use clap::Args;
use engine::command::args::positive;
use engine::command::output::{Failure, Sink};
use nn::device::Backend;
use nn::kernels::Isa;
use nn::precision::Arithmetic;
use std::path::PathBuf;

/// Measure evaluations per second.
#[derive(Args, Debug)]
pub struct EvalBench {
    /// A network file; default: random weights of the sizes below.
    #[arg(long)]
    weights: Option<PathBuf>,
    #[arg(long, default_value_t = 128)]
    width: usize,
    #[arg(long, default_value_t = 6)]
    layers: usize,
    #[arg(long, default_value_t = 4)]
    heads: usize,
    #[arg(long, default_value_t = 256)]
    ffn: usize,
    /// Write the network into this file too, in full precision.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Where to compute: auto, cpu or cuda.
    #[arg(long, default_value = "cpu")]
    device: Backend,
    /// Threads, each with its own batch; default: all cores, two on a GPU.
    #[arg(long, value_parser = positive())]
    threads: Option<usize>,
    /// Arithmetic of the products: auto, single, bf16 or int8; default: all the device has.
    #[arg(long, value_delimiter = ',')]
    arithmetic: Vec<Arithmetic>,
    /// Instructions of the network on the CPU: portable, avx2, avx512, amx, or neon on Arm's processors; default: the widest this CPU has.
    #[arg(long)]
    isa: Option<Isa>,
    /// Burn's CPU backend instead of the hand-written kernels.
    #[arg(long, conflicts_with_all = ["arithmetic", "device"])]
    flex: bool,
    /// Batch sizes to try; default: those the search chooses from.
    #[arg(long, value_delimiter = ',', value_parser = positive())]
    batch: Vec<usize>,
    /// Seconds for each figure.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Where the time goes instead of positions per second; on the CPU alone, with the first batch size.
    #[arg(long)]
    stages: bool,
    /// Draw positions per second by batch size, or the stages of the last way, into this SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl EvalBench {
    /// Measures and prints.
    ///
    /// # Errors
    /// The weights file cannot be used, the sizes make no network, or the network or the device fails.
    pub fn run(self) -> Result<(), Failure> {
        let bench = evalbench::EvalBench {
            weights: self.weights,
            width: self.width,
            layers: self.layers,
            heads: self.heads,
            ffn: self.ffn,
            save: self.save,
            device: self.device,
            threads: self.threads,
            arithmetic: self.arithmetic,
            isa: self.isa,
            flex: self.flex,
            batch: self.batch,
            seconds: self.seconds,
            stages: self.stages,
            plot: self.plot,
        };
        let mut out = Sink::default();
        bench.run(&mut |line| out.say(line))?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use clap::Parser;

    #[test]
    fn batches_are_a_list_and_flex_has_no_device() {
        let parse =
            |words: &[&str]| Cli::try_parse_from([&["mavka", "evalbench"], words].concat()).is_ok();
        assert!(parse(&["--batch", "1,3", "--arithmetic", "single"]));
        assert!(!parse(&["--flex", "--device", "cuda"]));
        assert!(!parse(&["--isa", "abacus"]));
    }
}

//! `mavka-lab evalbench`: positions per second of a network on this machine, by precision and batch, against
//! the machine's own matrix-product peak measured in the same run on the same threads.

use super::stages::{Budget, Peaks, ThreadWork};
use super::timing::{TimingLoad, product_of_512, rate};
use crate::measure::MeasureError;
use crate::plots::{Curve, Picture};
use clap::Args;
use engine::command::args::positive;
use engine::process::workers::cores;
use nn::checkpoint::Network;
use nn::device::{Backend, Device, is_cpu, pick, sgemm_peak};
use nn::encode::canonical_moves;
use nn::evaluator::burn::BurnEvaluator;
use nn::evaluator::cpu::CpuEvaluator;
use nn::kernels::Isa;
use nn::kernels::gemm::Method;
use nn::net::NetConfig;
use nn::precision::Arithmetic;
use nn::{Evaluator, Query};
use shakmaty::{Chess, Move, Position};
use std::path::PathBuf;
use std::time::Duration;

/// Measure evaluations per second.
#[derive(Args, Clone, Debug)]
pub struct EvalBench {
    /// A network file; default: random weights of the default sizes.
    #[arg(long)]
    weights: Option<PathBuf>,
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

/// One way to compute, with its name in the table.
struct ComputeVariant {
    name: String,
    evaluator: Box<dyn Evaluator>,
}

impl EvalBench {
    /// Measures, and says a line for each figure.
    ///
    /// # Errors
    /// The weights file cannot be used, or the network or the device fails.
    pub fn run(&self, say: &mut dyn FnMut(String)) -> Result<(), MeasureError> {
        let isa = self.isa();
        let network = self.network()?;
        let (device, note) = pick(self.device);
        if let Some(note) = note {
            say(note);
        }
        let gpu = !is_cpu(&device);
        let threads = self.threads.unwrap_or_else(|| if gpu { 2 } else { cores() }).max(1);
        let time = Duration::from_secs_f64(self.seconds.clamp(0.1, 600.0));
        let load = TimingLoad { threads, time };
        let c = &network.layout.config;
        let flops = c.flops();
        say(format!(
            "network {}x{}, {} heads, ffn {}: {} parameters, {:.1} MFLOP per position",
            c.width,
            c.layers,
            c.heads,
            c.ffn,
            network.layout.len,
            flops / 1e6
        ));
        let peak = match gpu {
            true => sgemm_peak(&device, time).map_err(refused)?,
            false => rate(load, || product_of_512(isa)),
        };
        if self.stages {
            return self.stages(&network, load, say);
        }
        say(format!("sgemm peak of {threads} threads: {:.0} GFLOP/s", peak / 1e9));
        say(format!(
            "{:<8} {:>6} {:>12} {:>10} {:>8}",
            "products", "batch", "positions/s", "GFLOP/s", "of peak"
        ));
        let positions = sample_positions();
        let mut curves = Vec::new();
        for ComputeVariant { name, evaluator } in self.ways(&network, device)? {
            let mut points = Vec::new();
            for batch in self.batches(&*evaluator) {
                let queries = queries(&positions, batch);
                evaluator.evaluate(&queries)?;
                // An error cannot first appear here: the same queries have just been answered.
                let ask =
                    || evaluator.evaluate(&queries).map_or(0.0, |answers| answers.len() as f64);
                let speed = rate(load, ask);
                say(format!(
                    "{name:<8} {batch:>6} {speed:>12.0} {:>10.0} {:>7.1}%",
                    speed * flops / 1e9,
                    100.0 * speed * flops / peak
                ));
                points.push((batch as f64, speed));
            }
            curves.push(Curve { name, points });
        }
        let Some(path) = &self.plot else { return Ok(()) };
        let picture = Picture {
            title: format!("Evaluations, {}x{}, {threads} threads", c.width, c.layers),
            x: "batch of each thread".to_owned(),
            y: "positions/s".to_owned(),
            curves,
        };
        Ok(picture.draw(path)?)
    }

    fn stages(
        &self,
        network: &Network,
        load: TimingLoad,
        say: &mut dyn FnMut(String),
    ) -> Result<(), MeasureError> {
        if self.flex || self.device.is_by_burn(&pick(self.device).0) {
            return Err(refused("stages are those of the hand-written kernels"));
        }
        let isa = self.isa();
        let peaks = Peaks::measure(isa, load);
        let positions = sample_positions();
        let batch = self.batch.first().map_or(4, |batch| (*batch).max(1));
        let queries = queries(&positions, batch);
        let mut drawn = None;
        for arithmetic in self.arithmetics(|way| way.available(isa)) {
            let budget = Budget::measure(
                &ThreadWork { network, method: Method { isa, arithmetic }, queries: &queries },
                load,
                peaks,
            )?;
            let threads = load.threads;
            let title = format!("{arithmetic}, {isa}, {threads} threads, batch {batch}");
            say(format!("\n{title}"));
            budget.lines().into_iter().for_each(&mut *say);
            drawn = Some((title, budget));
        }
        match (&self.plot, drawn) {
            (Some(path), Some((title, budget))) => budget.draw(&title, path),
            _ => Ok(()),
        }
    }

    fn network(&self) -> Result<Network, MeasureError> {
        Ok(match &self.weights {
            Some(path) => Network::load(path)
                .map_err(|error| refused(format!("{}: {error}", path.display())))?,
            None => Network::new(&NetConfig::default(), 1),
        })
    }

    fn batches(&self, evaluator: &dyn Evaluator) -> Vec<usize> {
        let all = if self.batch.is_empty() { evaluator.batches() } else { &self.batch };
        all.iter().map(|&batch| batch.max(1)).collect()
    }

    fn ways(&self, network: &Network, device: Device) -> Result<Vec<ComputeVariant>, MeasureError> {
        if self.flex || self.device == Backend::BurnCpu {
            let evaluator = Box::new(BurnEvaluator::new(network, &device)?);
            return Ok(vec![ComputeVariant { name: "flex".to_owned(), evaluator }]);
        }
        let cpu = is_cpu(&device);
        let has = |way: Arithmetic| {
            if cpu { way.available(self.isa()) } else { way == Arithmetic::Single }
        };
        let way = |arithmetic: Arithmetic| -> Result<ComputeVariant, MeasureError> {
            let name = match arithmetic {
                Arithmetic::Single => "single",
                Arithmetic::Bf16 => "bf16",
                Arithmetic::Int8 => "int8",
            };
            let evaluator: Box<dyn Evaluator> = if cpu {
                Box::new(CpuEvaluator::with(network, Method { isa: self.isa(), arithmetic }))
            } else if arithmetic == Arithmetic::Single {
                Box::new(BurnEvaluator::new(network, &device)?)
            } else {
                return Err(refused(format!("{name} on a GPU, expected single")));
            };
            Ok(ComputeVariant { name: name.to_owned(), evaluator })
        };
        self.arithmetics(has).into_iter().map(way).collect()
    }

    /// The set named, or the widest that this CPU has.
    fn isa(&self) -> Isa {
        self.isa.unwrap_or_else(Isa::found)
    }

    /// The arithmetics named, or all that the device `has`.
    fn arithmetics(&self, has: impl Fn(Arithmetic) -> bool) -> Vec<Arithmetic> {
        let all = [Arithmetic::Single, Arithmetic::Bf16, Arithmetic::Int8];
        match self.arithmetic.as_slice() {
            [] => all.into_iter().filter(|way| has(*way)).collect(),
            given => given.to_vec(),
        }
    }
}

/// The reason why something cannot be measured.
fn refused(why: impl std::fmt::Display) -> MeasureError {
    MeasureError::Refused(why.to_string())
}

/// A batch of questions about `positions`, which begin anew where there are too few.
fn queries(positions: &[(Chess, Vec<Move>)], batch: usize) -> Vec<Query<'_>> {
    let all = positions.iter().cycle().take(batch);
    all.map(|(position, legal)| Query { position, legal }).collect()
}

/// Positions of a made-up game, with their legal moves.
fn sample_positions() -> Vec<(Chess, Vec<Move>)> {
    let mut position = Chess::default();
    let mut all = Vec::new();
    for i in 0..64usize {
        let legal = canonical_moves(&position);
        if legal.is_empty() {
            break;
        }
        let m = legal[(i * 7 + 3) % legal.len()];
        all.push((position.clone(), legal.to_vec()));
        position.play_unchecked(m);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> EvalBench {
        EvalBench {
            weights: None,
            device: Backend::Cpu,
            threads: Some(1),
            arithmetic: Vec::new(),
            isa: None,
            flex: false,
            batch: Vec::new(),
            seconds: 0.0,
            stages: false,
            plot: None,
        }
    }

    #[test]
    fn everything_this_cpu_has_is_measured_unless_named() {
        let network = Network::new(&NetConfig::default(), 1);
        let names = |bench: &EvalBench| -> Vec<String> {
            let ways = bench.ways(&network, Device::flex()).unwrap();
            ways.into_iter().map(|way| way.name).collect()
        };
        let all = names(&small());
        assert_eq!(all[0], "single");
        let others = [Arithmetic::Bf16, Arithmetic::Int8];
        assert_eq!(all.len(), 1 + others.iter().filter(|way| way.available(Isa::found())).count());
        assert_eq!(
            names(&EvalBench { arithmetic: vec![Arithmetic::Single], ..small() }),
            ["single"]
        );
        assert_eq!(names(&EvalBench { flex: true, ..small() }), ["flex"]);
        let flex = BurnEvaluator::new(&network, &Device::flex()).unwrap();
        assert_eq!(EvalBench { batch: vec![0, 3], ..small() }.batches(&flex), [1, 3]);
        assert_eq!(small().batches(&flex), flex.batches());
    }

    #[test]
    fn the_table_and_the_picture_come_of_one_run() {
        let name = format!("mavka-evalbench-{}.svg", std::process::id());
        let path = std::env::temp_dir().join(name);
        let bench = EvalBench { batch: vec![1, 2], plot: Some(path.clone()), ..small() };
        let mut lines = Vec::new();
        bench.run(&mut |line| lines.push(line)).unwrap();
        assert!(lines.iter().any(|line| line.starts_with("single")), "{lines:?}");
        let text = std::fs::read_to_string(&path).unwrap();
        let _ = std::fs::remove_file(&path);
        assert!(text.contains("single") && text.contains("positions/s"));
    }

    #[test]
    fn stages_are_printed_and_drawn_for_every_arithmetic() {
        let name = format!("mavka-stages-{}.svg", std::process::id());
        let path = std::env::temp_dir().join(name);
        let bench = EvalBench { stages: true, plot: Some(path.clone()), ..small() };
        let mut lines = Vec::new();
        bench.run(&mut |line| lines.push(line)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let _ = std::fs::remove_file(&path);
        let ways = bench.arithmetics(|way| way.available(Isa::found())).len();
        for stage in ["decoding", "norm", "FFN down", "all"] {
            assert_eq!(lines.iter().filter(|line| line.starts_with(stage)).count(), ways);
        }
        assert!(text.contains("attention") && text.contains("least possible"));
        assert!(EvalBench { flex: true, ..bench }.run(&mut |_| ()).is_err());
    }
}

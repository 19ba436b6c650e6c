//! `mavka-lab tune`: arguments and output of [`crate::measure::tune`].

use super::args::WordError;
use crate::measure::tune::compare::{SettingResult, SettingTable};
use crate::measure::tune::spsa::Dimension;
use crate::measure::tune::trial::Setting;
use crate::measure::tune::tuning::{Optimisation, Tuning};
use crate::plots::{Curve, Picture};
use clap::Args;
use engine::command::args::positive;
use engine::command::output::{Failure, StdoutSink};
use engine::process::interrupt::raised_by_ctrl_c;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Arguments of `mavka-lab tune`.
#[derive(Args, Debug)]
#[command(
    about = "Arguments of `mavka-lab tune`",
    long_about = "Arguments of `mavka-lab tune`.\n\n\
        Each setting searches every position with `--nodes` nodes on one thread. The table has the regret of its moves with \
        the difference from the first setting, the options as they are, and 95 % intervals. Example: `tune \
        labels.jsonl.zst --nodes 400 --setting PolicyTemperature=1.6 --setting CPuct=1.2,FPU=parent`."
)]
pub struct Tune {
    /// Labels written by `mavka-lab label`
    labels: PathBuf,
    /// Options to try, NAME=VALUE with commas between; may be repeated
    #[arg(long = "setting", value_name = "OPTIONS", value_parser = Setting::read)]
    settings: Vec<Setting>,
    /// Options of the first setting, which the others are compared with [default: none]
    #[arg(long, default_value = "", value_name = "OPTIONS", value_parser = Setting::read)]
    against: Setting,
    /// Nodes of each search; several numbers with commas between
    #[arg(long, value_delimiter = ',', default_value = "400", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Vec<u64>,
    /// A move that gives away more counts as this, in win probability
    #[arg(long, default_value_t = 0.25, value_name = "SHARE")]
    cap: f32,
    /// Positions at most
    #[arg(long, value_name = "N", value_parser = positive())]
    limit: Option<usize>,
    /// Also the puzzles of this CSV or EPD
    #[arg(long, value_name = "FILE")]
    puzzles: Option<PathBuf>,
    /// Try only this many puzzles, spread evenly over the file
    #[arg(long, default_value = "500", value_name = "N", requires = "puzzles", value_parser = positive())]
    puzzle_limit: usize,
    /// Network file; the built-in network without it
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Searches at the same time [default: one for each core]
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZeroUsize>,
    /// Look for better values, START and STEP for each option; may be repeated. Half of the positions
    /// teach, the other half judges
    #[arg(long = "optimise", value_name = "NAME=START:STEP", value_parser = read_dimension)]
    dimensions: Vec<Dimension>,
    /// Steps of that
    #[arg(long, default_value_t = 60, value_name = "N", requires = "dimensions", value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Positions of each step
    #[arg(long, default_value_t = 100, value_name = "N", requires = "dimensions", value_parser = positive())]
    sample: usize,
    /// Seed of that
    #[arg(long, default_value_t = 0, value_name = "N", requires = "dimensions")]
    seed: u64,
    /// Draw regret over nodes into this SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

fn read_dimension(text: &str) -> Result<Dimension, WordError> {
    Dimension::read(text).ok_or(WordError::Form("NAME=START:STEP"))
}

impl Tune {
    /// Tries and prints.
    ///
    /// # Errors
    /// A file cannot be read or written, an option is unknown, or the network fails.
    pub fn run(self) -> Result<(), Failure> {
        let threads = self.concurrency.map_or(0, usize::from);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let optimisation = Optimisation {
            dimensions: self.dimensions,
            steps: self.steps,
            sample: self.sample,
            seed: self.seed,
        };
        let tuning = Tuning {
            labels: self.labels,
            limit: self.limit,
            settings: std::iter::once(self.against).chain(self.settings).collect(),
            nodes: self.nodes,
            cap: self.cap,
            puzzles: self.puzzles.map(|file| (file, self.puzzle_limit)),
            weights: self.weights,
            optimisation: (!optimisation.dimensions.is_empty()).then_some(optimisation),
            stop: raised_by_ctrl_c()?,
        };
        let mut out = StdoutSink::default();
        let rows = pool.install(|| tuning.run(&mut |line| out.say(line)))?;
        out.say(SettingTable(&rows));
        if let Some(path) = &self.plot {
            picture(&rows).draw(path)?;
        }
        out.end()
    }
}

fn picture(rows: &[SettingResult]) -> Picture {
    let mut curves: Vec<Curve> = Vec::new();
    for row in rows {
        let point = (row.nodes as f64, 100.0 * row.regret.own.mean);
        match curves.iter_mut().find(|curve| curve.name == row.setting) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { name: row.setting.clone(), points: vec![point] }),
        }
    }
    Picture {
        title: "Win probability given away".to_owned(),
        x: "nodes".to_owned(),
        y: "regret, %".to_owned(),
        curves,
    }
}

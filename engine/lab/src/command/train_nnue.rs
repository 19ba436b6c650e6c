//! `mavka-lab train-nnue`: trains the alpha-beta search's network of static evaluations.

use super::args::read_share;
use crate::labels::successors::{Values, successors};
use alphabeta::nnue::Parameters;
use clap::Args;
use engine::command::output::{Failure, StdoutSink};
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::progress::{progress, tally};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use train::data::{HeldOut, MixConfig, MixSource, ValidationSet, Variant, exclude_from_files};
use train::network::Schedule;
use train::nnue::Sample;
use train::nnue::gradient::error;
use train::nnue::run::{Length, kinds, run};
use train::nnue::samples::samples;

/// Positions of each held-out set.
const HELD_OUT: usize = 20_000;
/// Time between two checkpoints.
const CHECKPOINT: Duration = Duration::from_secs(120);

/// Train the alpha-beta search's network of static evaluations.
#[derive(Args, Debug)]
pub struct TrainNnue {
    /// The network's file: written every two minutes, on Ctrl-C and at the end
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Begin with this network
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// A data file (MAVG1, PVGR1 or SELF1) and its share of the positions, as FILE or FILE=SHARE; repeat for several
    #[arg(long, required = true, value_parser = read_share)]
    data: Vec<(PathBuf, f64)>,
    /// A data file with action values (MAVG1) whose positions' quiet successors are kept in memory, too, and which share of them, as FILE
    /// or FILE=SHARE; may be repeated
    #[arg(long, value_name = "FILE[=SHARE]", value_parser = read_share)]
    successors: Vec<(PathBuf, f64)>,
    /// The same of a file whose values are a network's at the successors themselves, without any search: one in four of the loud ones,
    /// too; may be repeated
    #[arg(long = "static", value_name = "FILE[=SHARE]", value_parser = read_share)]
    judged: Vec<(PathBuf, f64)>,
    /// A file of positions that the search asks about, quiet or loud (`mavka-lab leaves --of alpha-beta --static`), kept in memory, too; may be
    /// repeated
    #[arg(long, value_name = "FILE")]
    samples: Vec<PathBuf>,
    /// Files (EPD, CSV) whose positions must not be trained on
    #[arg(long, num_args = 1.., value_name = "FILE")]
    exclude: Vec<PathBuf>,
    /// Positions of the whole training
    #[arg(long, default_value_t = 100_000_000, value_name = "N")]
    examples: u64,
    /// Positions read and kept in memory, 32 bytes each; the training goes through them as often as it takes
    #[arg(long, default_value_t = 40_000_000, value_name = "N")]
    kept: usize,
    /// Learning rate at the start; it falls in a straight line
    #[arg(long, default_value_t = 2e-3)]
    rate: f32,
    /// Seed of weights and order
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl TrainNnue {
    /// Trains, then says how large the error is on games held out.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn run(&self) -> Result<(), Failure> {
        let source =
            |(path, weight): &(PathBuf, f64)| MixSource { path: path.clone(), weight: *weight };
        let mut mix = MixConfig::new(self.data.iter().map(source).collect());
        mix.kinds = kinds();
        mix.seed = self.seed;
        mix.excluded = Arc::new(exclude_from_files(&self.exclude)?);
        let schedule = Schedule {
            rate: self.rate,
            warmup: 1_000_000,
            examples: self.examples,
            decay: 0.9,
            final_share: 0.005,
        };
        let begin = match &self.init {
            Some(path) => Parameters::load(path)?,
            None => Parameters::new(self.seed),
        };
        let raised = raised_by_ctrl_c()?;
        // Relaxed: the flag publishes nothing else.
        let keep_going = || !raised.load(Ordering::Relaxed);
        let bar = tally("samples");
        let mut watch = |count| {
            bar.set_position(count as u64);
            keep_going()
        };
        let mut begun = Vec::new();
        // Takes ownership: avoids a copy of gigabytes.
        let mut keep = |found: Vec<Sample>| match begun.is_empty() {
            true => begun = found,
            false => begun.extend(found),
        };
        for file in self.files() {
            keep(successors(file, &mix, false, &mut watch)?);
        }
        let mut held_out = Vec::new();
        for path in &self.samples {
            let (learnt, held) = samples(path, &mut watch)?;
            keep(learnt);
            held_out.push((path, held));
        }
        bar.finish_and_clear();
        if !keep_going() {
            return Err("ended before the training began; nothing was written".into());
        }
        let begun_with = begun.len();
        let bar = progress(usize::try_from(self.examples).unwrap_or(usize::MAX));
        let mut written = Instant::now();
        let mut mean = f64::NAN;
        let mut failed = None;
        let length = Length { schedule, kept: self.kept };
        let learnt = run(begin, &mix, length, begun, &mut |seen, error, trainer| {
            mean = if mean.is_nan() { error } else { mean + 0.01 * (error - mean) };
            bar.set_position(seen);
            bar.set_message(format!("error {:.2} %", 100.0 * mean.sqrt()));
            if written.elapsed() > CHECKPOINT {
                written = Instant::now();
                failed = trainer.parameters().save(&self.out).err();
            }
            failed.is_none() && keep_going()
        })?;
        bar.finish_and_clear();
        if let Some(why) = failed {
            return Err(why.into());
        }
        learnt.save(&self.out)?;
        let mut out = StdoutSink::default();
        out.say(format_args!(
            "root mean squared error {:.2} % of win probability in the last steps, {begun_with} samples kept",
            100.0 * mean.sqrt()
        ));
        for file in self.files() {
            let all = successors(file, &mix, true, &mut |_| true)?;
            let some = all.len().div_ceil(HELD_OUT).max(1);
            let samples: Vec<Sample> = all.into_iter().step_by(some).collect();
            tell(&mut out, file.0, "successors of held-out positions", &learnt, &samples);
        }
        for (path, held) in &held_out {
            tell(&mut out, path, "held-out samples", &learnt, held);
        }
        for (path, _) in &self.data {
            let games = HeldOut::read(path, &mix)?;
            let examples = games.examples(HELD_OUT, ValidationSet::Position, Variant::Any)?;
            let samples: Vec<Sample> = examples.iter().filter_map(Sample::of).collect();
            tell(&mut out, path, "quiet held-out positions", &learnt, &samples);
        }
        out.end()
    }

    /// Files with action values, their source, and the share of successors used.
    fn files(&self) -> impl Iterator<Item = (&Path, Values, f64)> {
        let searched = self.successors.iter().map(|file| (file, Values::Searched));
        let judged = self.judged.iter().map(|file| (file, Values::Static));
        searched.chain(judged).map(|((path, share), values)| (path.as_path(), values, *share))
    }
}

fn tell(out: &mut StdoutSink, path: &Path, what: &str, learnt: &Parameters, samples: &[Sample]) {
    out.say(format_args!(
        "{}: root mean squared error {:.2} % of win probability on {} {what}",
        path.display(),
        100.0 * error(learnt, samples).sqrt(),
        samples.len()
    ));
}

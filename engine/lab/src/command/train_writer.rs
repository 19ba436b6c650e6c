//! `mavka-lab train-writer`: teaches the decoder that writes the trees of the internal search.

use crate::measure::internal::exam::exam;
use crate::measure::internal::lessons::{group, shape};
use clap::Args;
use engine::command::output::{Failure, StdoutSink};
use engine::process::errors::FileError;
use engine::process::files::write_whole;
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::progress::progress;
use nn::rng::Rng;
use nn::writer::{DecoderWeights, Trace};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use train::network::Schedule;
use train::writer::{Lessons, WriterSums};

/// Arguments of `mavka-lab train-writer`.
#[derive(Args, Debug)]
#[command(
    about = "Teach the decoder of the internal search",
    long_about = "Teach the decoder of the internal search.\n\n\
        Minimax and alpha-beta are taught by traces over made-up lists and need no data."
)]
pub struct TrainWriter {
    /// The decoder's file: written every few minutes, on Ctrl-C and at the end
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Begin with this decoder
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// Traces of the whole training
    #[arg(long, default_value_t = 60_000, value_name = "N")]
    traces: u64,
    /// Learning rate of the plateau
    #[arg(long, default_value_t = 2e-3)]
    rate: f32,
    /// Words of one step of the optimiser, about
    #[arg(long, default_value_t = 4096, value_name = "N")]
    words: usize,
    /// Begin with the shapes of this share of the training
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    progress: f64,
    /// Seed of weights and traces
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the losses into this CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Groups per step, each of one shape.
const GROUPS: usize = 2;
/// Time between two checkpoints.
const EVERY: Duration = Duration::from_secs(120);
/// Steps between two rows of the CSV.
const ROW: u64 = 25;

impl TrainWriter {
    /// Teaches and says how well it went.
    ///
    /// # Errors
    /// A file cannot be used, or the loss is NaN.
    pub fn run(self) -> Result<(), Failure> {
        let weights = match &self.init {
            Some(path) => DecoderWeights::load(path).map_err(FileError::of(path))?,
            None => DecoderWeights::untrained(self.seed),
        };
        let schedule = Schedule {
            rate: self.rate,
            warmup: self.traces / 50,
            examples: self.traces,
            ..Schedule::default()
        };
        let mut lessons = Lessons::new(weights, schedule, self.seed);
        let mut random = Rng::from_state(self.seed);
        let bar = progress(usize::try_from(self.traces).unwrap_or(usize::MAX));
        let mut csv = "traces,kind,source,bucket\n".to_owned();
        let (mut saved, mut recent, mut steps) = (Instant::now(), WriterSums::default(), 0);
        let raised = raised_by_ctrl_c()?;
        // Relaxed: the flag publishes nothing else.
        while lessons.seen() < self.traces && !raised.load(Ordering::Relaxed) {
            let (done, part) = (lessons.progress(), self.words / GROUPS);
            let groups: Vec<Vec<Trace>> =
                (0..GROUPS).map(|_| self.group(done, part, &mut random)).collect();
            let sums = lessons.step(&groups)?;
            recent.add(&sums);
            steps += 1;
            if steps % ROW == 0 {
                let [kind, source, bucket] = recent.means();
                bar.set_message(format!("kind {kind:.4} source {source:.4} bucket {bucket:.4}"));
                let _ = writeln!(csv, "{},{kind:.6},{source:.6},{bucket:.6}", lessons.seen());
                recent = WriterSums::default();
            }
            bar.set_position(lessons.seen());
            if saved.elapsed() >= EVERY {
                self.save(&lessons, &csv)?;
                saved = Instant::now();
            }
        }
        bar.finish_and_clear();
        self.save(&lessons, &csv)?;
        let mut out = StdoutSink::default();
        if raised.load(Ordering::Relaxed) {
            let path = self.out.display();
            out.say(format_args!("{path} has learnt from {} traces", lessons.seen()));
            return out.end();
        }
        out.say(exam(lessons.weights(), 400, self.seed ^ 0xE8A)?);
        out.end()
    }

    /// Traces of one shape, about `words` words in total; a step mixes several shapes.
    fn group(&self, done: f64, words: usize, random: &mut Rng) -> Vec<Trace> {
        let shape = shape(done.max(self.progress), random);
        group(shape, words, random)
    }

    fn save(&self, lessons: &Lessons, csv: &str) -> Result<(), Failure> {
        lessons.weights().save(&self.out).map_err(FileError::of(&self.out))?;
        if let Some(path) = &self.csv {
            write_whole(path, csv).map_err(FileError::of(path))?;
        }
        Ok(())
    }
}

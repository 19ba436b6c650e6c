//! `mavka train-writer`: teaches the decoder that writes the trees of the internal search.

use super::output::{Failure, Sink};
use crate::errors::FileError;
use crate::internal::boards::Boards;
use crate::internal::exam::exam;
use crate::internal::lessons::{group, shape};
use crate::internal::roots::{Root, Roots};
use crate::internal::weigh;
use crate::interrupt::raised_by_ctrl_c;
use crate::play::engine::Setup;
use crate::play::network::Network;
use crate::play::network_choice::OF_TREES;
use crate::play::settings::Settings;
use crate::progress::progress;
use clap::Args;
use nn::EvalError;
use nn::rng::Rng;
use nn::train::Schedule;
use nn::writer::train::{Lessons, WriterSums};
use nn::writer::{Decoder, DecoderWeights, Example, Shape};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Teach the decoder of the internal search.
///
/// Minimax and alpha-beta are taught by traces over made-up lists and need no data. To weigh (`--weigh`), the decoder writes trees about
/// positions of labelled games, three quarters of each step, and learns the annotator's values in place of its own.
#[derive(Args, Debug)]
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
    /// Teach to weigh as well, with these data files (MAVG1); every 50th game of each is held out
    #[arg(long, value_name = "FILE", num_args = 1..)]
    weigh: Vec<PathBuf>,
    /// Network file that answers the boards to weigh; the larger built-in network without it
    #[arg(long, value_name = "FILE", requires = "weigh")]
    weights: Option<PathBuf>,
    /// Write the losses into this CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Where trees to weigh come from.
struct Weighed {
    roots: Roots,
    network: Network,
}

impl Weighed {
    /// None without files.
    fn open(files: &[PathBuf], weights: Option<&Path>, seed: u64) -> Result<Option<Self>, Failure> {
        if files.is_empty() {
            return Ok(None);
        }
        let roots = Roots::open(files, seed)?;
        let file = weights.unwrap_or(Path::new(OF_TREES));
        let network = Setup::default().networks.open_anywhere(Some(file))?;
        Ok(Some(Weighed { roots, network }))
    }

    /// Examples of one shape, of about so many words, written with `weights` on all cores.
    fn group(
        &mut self,
        weights: &DecoderWeights,
        words: usize,
        random: &mut Rng,
    ) -> Result<Vec<Example>, Failure> {
        let shape = weigh::shape(random);
        let drawn = (0..(words / words_of(shape)).max(1)).map(|_| self.roots.draw());
        let roots: Vec<Root> = drawn.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let weights = Arc::new(weights.clone());
        let write = |root: &Root| {
            let value = (&Settings::default()).into();
            let mut boards = Boards::new(&*self.network.evaluator, value)?;
            weigh::example(&mut boards, &mut Decoder::new(weights.clone()), root, shape)
        };
        let written: Vec<Option<Example>> =
            roots.par_iter().map(write).collect::<Result<_, EvalError>>()?;
        let group: Vec<Example> = written.into_iter().flatten().collect();
        match group.is_empty() {
            true => Err("the files to weigh hold no position with a choice of moves".into()),
            false => Ok(group),
        }
    }
}

/// Words of a tree of this shape, about.
fn words_of(shape: Shape) -> usize {
    12 * shape.nodes()
}

/// Between two files.
const EVERY: Duration = Duration::from_secs(120);
/// Steps between two rows of the CSV.
const ROW: u64 = 25;

impl TrainWriter {
    /// Teaches and says how well it went.
    ///
    /// # Errors
    /// A file cannot be used, or the loss is no number any more.
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
        let mut weighed = Weighed::open(&self.weigh, self.weights.as_deref(), self.seed)?;
        let bar = progress(usize::try_from(self.traces).unwrap_or(usize::MAX));
        let mut csv = "traces,kind,source,bucket\n".to_owned();
        let (mut saved, mut recent, mut steps) = (Instant::now(), WriterSums::default(), 0);
        let raised = raised_by_ctrl_c()?;
        // Relaxed: the flag is all there is to know.
        while lessons.seen() < self.traces && !raised.load(Ordering::Relaxed) {
            let (done, quarter) = (lessons.progress(), self.words / 4);
            let groups = match &mut weighed {
                // Minimax is known, and only to be kept.
                Some(weighed) => vec![
                    self.group(done, quarter, &mut random),
                    weighed.group(lessons.weights(), 3 * quarter, &mut random)?,
                ],
                None => [(); 2].map(|()| self.group(done, 2 * quarter, &mut random)).into(),
            };
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
        let mut out = Sink::default();
        if raised.load(Ordering::Relaxed) {
            let path = self.out.display();
            out.say(format_args!("{path} has learnt from {} traces", lessons.seen()));
            return out.end();
        }
        out.say(exam(lessons.weights(), 400, self.seed ^ 0xE8A)?);
        out.end()
    }

    /// Lessons of about so many words, of one shape: a step is never of one alone.
    fn group(&self, done: f64, words: usize, random: &mut Rng) -> Vec<Example> {
        let shape = shape(done.max(self.progress), random);
        group(shape, words, random).into_iter().map(Example::from).collect()
    }

    fn save(&self, lessons: &Lessons, csv: &str) -> Result<(), Failure> {
        lessons.weights().save(&self.out).map_err(FileError::of(&self.out))?;
        if let Some(path) = &self.csv {
            std::fs::write(path, csv).map_err(FileError::of(path))?;
        }
        Ok(())
    }
}

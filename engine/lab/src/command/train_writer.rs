//! `mavka-lab train-writer`: teaches the decoder that writes the trees of the internal search.

use crate::measure::internal::exam::exam;
use crate::measure::internal::lessons::{group, shape};
use crate::measure::internal::weigh;
use crate::measure::tune::labels::LabelledPosition;
use crate::measure::tune::positions;
use crate::networks::LabNetworks;
use clap::Args;
use engine::command::output::{Failure, Sink};
use engine::errors::FileError;
use engine::files::write_whole;
use engine::internal::boards::Boards;
use engine::interrupt::raised_by_ctrl_c;
use engine::options::settings::Settings;
use engine::play::network::Network;
use engine::play::network::Networks;
use engine::progress::progress;
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

/// Arguments of `mavka-lab train-writer`.
#[derive(Args, Debug)]
#[command(
    about = "Teach the decoder of the internal search",
    long_about = "Teach the decoder of the internal search.\n\n\
        Minimax and alpha-beta are taught by traces over made-up lists and need no data. With `--weigh` a decoder is \
        taught to judge: trees by alpha-beta are written about positions whose moves were searched, it scores the \
        root's moves and chooses one, and learns what they are worth and to give away little."
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
    /// Teach to judge, on the forks of this file of `mavka-lab leaves`, or the positions of one of `mavka-lab label`
    #[arg(long, value_name = "FILE")]
    weigh: Option<PathBuf>,
    /// Network file that answers the boards to judge; the larger built-in network without it
    #[arg(long, value_name = "FILE", requires = "weigh")]
    weights: Option<PathBuf>,
    /// Write the losses into this CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Source of trees for the judging decoder.
struct Weighed {
    /// In random order.
    roots: Vec<LabelledPosition>,
    drawn: usize,
    network: Network,
}

impl Weighed {
    fn open(path: &Path, weights: Option<&Path>, random: &mut Rng) -> Result<Self, Failure> {
        let (_, mut roots) = positions::open(path, usize::MAX)?;
        if roots.is_empty() {
            return Err(
                format!("{} holds no position whose moves were searched", path.display()).into()
            );
        }
        random.shuffle(&mut roots);
        let network = LabNetworks.open_anywhere(weights)?;
        Ok(Weighed { roots, drawn: 0, network })
    }

    /// Examples of one shape, about `words` words in total, written with `weights` on all cores.
    fn group(
        &mut self,
        weights: &DecoderWeights,
        words: usize,
        random: &mut Rng,
    ) -> Result<Vec<Example>, Failure> {
        let shape = weigh::shape(random);
        let count = (words / words_of(shape)).max(1);
        let drawn = self.drawn..self.drawn + count;
        self.drawn = drawn.end;
        let roots: Vec<&LabelledPosition> =
            drawn.map(|at| &self.roots[at % self.roots.len()]).collect();
        let weights = Arc::new(weights.clone());
        let write = |root: &&LabelledPosition| {
            let value = (&Settings::default()).into();
            let mut boards = Boards::new(&*self.network.evaluator, value)?;
            weigh::example(&mut boards, Decoder::new(weights.clone()), root, shape)
        };
        let written: Vec<Option<Example>> =
            roots.par_iter().map(write).collect::<Result<_, EvalError>>()?;
        let group: Vec<Example> = written.into_iter().flatten().collect();
        match group.is_empty() {
            true => Err("no tree about the positions to weigh comes to its end".into()),
            false => Ok(group),
        }
    }
}

/// Approximate length of a trace of this shape, without pruning.
fn words_of(shape: Shape) -> usize {
    8 * shape.nodes()
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
        let weighed = self.weigh.as_deref();
        let mut weighed = weighed
            .map(|path| Weighed::open(path, self.weights.as_deref(), &mut random))
            .transpose()?;
        let bar = progress(usize::try_from(self.traces).unwrap_or(usize::MAX));
        let mut csv = "traces,kind,source,bucket,given_away\n".to_owned();
        let (mut saved, mut recent, mut steps) = (Instant::now(), WriterSums::default(), 0);
        let raised = raised_by_ctrl_c()?;
        // Relaxed: the flag publishes nothing else.
        while lessons.seen() < self.traces && !raised.load(Ordering::Relaxed) {
            let (done, part) = (lessons.progress(), self.words / GROUPS);
            let mut group = || match &mut weighed {
                Some(weighed) => weighed.group(lessons.weights(), part, &mut random),
                None => Ok(self.group(done, part, &mut random)),
            };
            let groups = (0..GROUPS).map(|_| group()).collect::<Result<Vec<_>, _>>()?;
            let sums = lessons.step(&groups)?;
            recent.add(&sums);
            steps += 1;
            if steps % ROW == 0 {
                let [kind, source, bucket, given_away] = recent.means();
                let message = format!("kind {kind:.4} source {source:.4} bucket {bucket:.4}");
                let weighed = format!(" given away {:.2} %", 100.0 * given_away);
                bar.set_message(message + if self.weigh.is_some() { &weighed } else { "" });
                let seen = lessons.seen();
                let _ = writeln!(csv, "{seen},{kind:.6},{source:.6},{bucket:.6},{given_away:.6}");
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
        if self.weigh.is_some() || raised.load(Ordering::Relaxed) {
            let path = self.out.display();
            out.say(format_args!("{path} has learnt from {} traces", lessons.seen()));
            return out.end();
        }
        out.say(exam(lessons.weights(), 400, self.seed ^ 0xE8A)?);
        out.end()
    }

    /// Examples of one shape, about `words` words in total; a step mixes several shapes.
    fn group(&self, done: f64, words: usize, random: &mut Rng) -> Vec<Example> {
        let shape = shape(done.max(self.progress), random);
        group(shape, words, random).into_iter().map(Example::from).collect()
    }

    fn save(&self, lessons: &Lessons, csv: &str) -> Result<(), Failure> {
        lessons.weights().save(&self.out).map_err(FileError::of(&self.out))?;
        if let Some(path) = &self.csv {
            write_whole(path, csv).map_err(FileError::of(path))?;
        }
        Ok(())
    }
}

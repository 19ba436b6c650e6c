//! Training of the network: batches from the window, AdamW, averaged weights, and the state file from which a run resumes.

use super::error::LearnError;
use super::gradient::Gradient;
use super::losses::LOSSES;
use super::sample::{Batch, Sample, SampleUse};
use games::game::{Game, Grid};
use games::net::NetworkFile;
use nn::kernels::Isa;
use nn::kernels::ops::add_scaled;
use nn::net::params::{Init, Param};
use nn::parameter_file::{Facts, Format, Precision, Tensor, format_error, parameters, read, write};
use nn::rng::{Rng, split_mix};
use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;
use train::network::{Buckets, Optimizer, OptimizerConfig};

const STATE: Format = Format { name: "mavka-board-training", version: 1 };
/// Width of the value targets, in buckets (HL-Gauss).
const DEVIATION: f32 = 0.75;
/// Samples of a pass: their activations fit the caches.
const CHUNK: usize = 16;
/// Share of samples that teach the next state.
const MARKED: f64 = 0.25;
/// Share of those in positions of random moves: in games of good players few boards are such that a beginner reaches.
const RANDOM: f64 = 0.5;
/// Share of those, where a move ends the game, that mark such a move: few moves do.
const ENDING: f64 = 0.5;
/// A position without policy target is used in one of this many draws.
const UNSEARCHED: f64 = 0.4;

/// Settings of the training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Channels of a token.
    pub channels: usize,
    /// Residual blocks.
    pub blocks: usize,
    /// Samples of a step.
    pub batch: usize,
    /// Uses of each position.
    pub uses: f64,
    /// Learning rate of AdamW.
    pub rate: f32,
    /// Steps of linear warm-up.
    pub warmup: u64,
    /// Decay of the averaged weights per step.
    pub average: f32,
    /// Fewest and most positions of the window; between them, the newest half.
    pub window: [usize; 2],
}

/// The network in training.
pub struct Trainer {
    /// Latest weights.
    pub network: NetworkFile,
    average: Vec<f32>,
    optimizer: Optimizer,
    step: u64,
    /// Generations trained on.
    pub generation: usize,
    buckets: Buckets,
}

/// Mean losses of several steps, in the order of [`LOSSES`].
pub type Losses = [f64; LOSSES.len()];

impl Trainer {
    pub fn new(network: NetworkFile) -> Trainer {
        let config = OptimizerConfig {
            muon_momentum: 0.0,
            beta2: 0.99,
            weight_decay: 0.02,
            ..OptimizerConfig::default()
        };
        Trainer {
            average: network.values.clone(),
            optimizer: Optimizer::of(&network.layout.params, config),
            network,
            step: 0,
            generation: 0,
            buckets: Buckets::new(DEVIATION),
        }
    }

    /// The network with the averaged weights.
    pub fn averaged(&self) -> NetworkFile {
        NetworkFile { values: self.average.clone(), ..self.network.clone() }
    }

    /// Learns from `window` for `steps` steps and counts a generation. Calls `watch` after each step; ends early, without a
    /// generation, if it returns false. Runs on the threads of the current rayon pool.
    pub fn learn<G: Game>(
        &mut self,
        game: &G,
        window: &[Sample<G::State>],
        training: &Training,
        seed: u64,
        steps: usize,
        mut watch: impl FnMut(usize) -> bool,
    ) -> Option<Losses> {
        let grid = game.grid();
        let mut random = Rng::new(split_mix(seed) ^ self.generation as u64);
        let (mut sums, mut grads) = (Losses::default(), vec![0.0; self.network.layout.len]);
        for done in 0..steps {
            grads.fill(0.0);
            let uses: Vec<SampleUse<'_, G::State>> =
                (0..training.batch).map(|_| choose(game, &grid, window, &mut random)).collect();
            let losses = self.gradient(game, &grid, &uses, &mut grads);
            let marked = uses.iter().filter(|used| used.marked.is_some()).count() as f64;
            let policies =
                uses.iter().filter(|used| used.marked.is_none() && !used.sample.policy.is_empty());
            let (policies, unmarked) = (policies.count() as f64, uses.len() as f64 - marked);
            let rewards = uses.iter().filter(|used| used.marked.is_none());
            let rewards: usize = rewards
                .map(|used| used.sample.intrinsic.iter().filter(|x| x.is_finite()).count())
                .sum();
            let counts =
                [policies, unmarked, unmarked, unmarked, unmarked, marked, marked, rewards as f64];
            for ((sum, loss), count) in sums.iter_mut().zip(losses).zip(counts) {
                *sum += loss / count.max(1.0) / steps as f64;
            }
            self.step += 1;
            let rate = training.rate * (self.step as f32 / training.warmup.max(1) as f32).min(1.0);
            self.optimizer.step(&mut self.network.values, &grads, rate, self.step);
            // A young average would keep the random start for too long.
            let decay = training.average.min((1.0 + self.step as f32) / (10.0 + self.step as f32));
            for (average, value) in self.average.iter_mut().zip(&self.network.values) {
                *average += (1.0 - decay) * (value - *average);
            }
            if !watch(done + 1) {
                return None;
            }
        }
        self.generation += 1;
        Some(sums)
    }

    /// Adds the gradient of a batch to `grads`. Independent of the number of threads: the parts are added in order.
    fn gradient<G: Game>(
        &self,
        game: &G,
        grid: &Grid,
        uses: &[SampleUse<'_, G::State>],
        grads: &mut [f32],
    ) -> Losses {
        let NetworkFile { layout, values, .. } = &self.network;
        let gradient = Gradient { layout, values, grid };
        let part = |chunk: &[SampleUse<'_, G::State>]| {
            let mut grads = vec![0.0; layout.len];
            let batch = Batch::new(game, grid, chunk, &self.buckets);
            (gradient.add(&batch, uses.len(), &mut grads), grads)
        };
        let parts: Vec<(Losses, Vec<f32>)> = uses.par_chunks(CHUNK).map(part).collect();
        let mut sums = Losses::default();
        for (losses, part) in parts {
            add_scaled(Isa::found(), grads, 1.0, &part);
            sums.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += loss);
        }
        sums
    }

    /// Names and places of the vectors of a state.
    fn vectors(len: usize) -> Vec<Param> {
        let vector = |(i, name): (usize, &str)| Param {
            name: name.to_owned(),
            shape: vec![len],
            range: i * len..(i + 1) * len,
            init: Init::Zero,
        };
        ["values", "average", "first", "second"].into_iter().enumerate().map(vector).collect()
    }

    /// Writes the state file.
    ///
    /// # Errors
    /// A weight is not finite, or the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), LearnError> {
        let fault = LearnError::parameters(path);
        let Optimizer { first, second, .. } = &self.optimizer;
        let values = [&self.network.values, &self.average, first, second].into_iter();
        let tensors = Trainer::vectors(self.network.layout.len)
            .into_iter()
            .zip(values)
            .map(|(param, values)| Tensor::new(param.name, &param.shape, values, Precision::Full))
            .collect::<Result<Vec<_>, _>>()
            .map_err(&fault)?;
        let facts = [("generation", self.generation.to_string()), ("step", self.step.to_string())];
        let facts: Facts = facts.map(|(name, fact)| (name.to_owned(), fact)).into();
        STATE.to_bytes(&tensors, facts).and_then(|bytes| write(path, &bytes)).map_err(fault)
    }

    /// Continues from a state file.
    ///
    /// # Errors
    /// The file is damaged, or of another shape.
    pub fn load(&mut self, path: &Path) -> Result<(), LearnError> {
        let fault = LearnError::parameters(path);
        let bytes = read(path).map_err(&fault)?;
        let (tensors, facts) = STATE.open(&bytes).map_err(&fault)?;
        let len = self.network.layout.len;
        let all = parameters(&Trainer::vectors(len), &tensors, |_| ()).map_err(&fault)?;
        let number = |name: &str| {
            let found = facts.get(name).and_then(|text| text.parse::<u64>().ok());
            found.ok_or_else(|| fault(format_error(format!("missing \"{name}\" in the metadata"))))
        };
        (self.generation, self.step) = (number("generation")? as usize, number("step")?);
        let Optimizer { first, second, .. } = &mut self.optimizer;
        let places = [&mut self.network.values, &mut self.average, first, second];
        all.chunks(len).zip(places).for_each(|(values, place)| place.copy_from_slice(values));
        Ok(())
    }
}

/// A sample of the window, its symmetry, and a marked move or not. About half of them have a policy target.
fn choose<'a, G: Game>(
    game: &G,
    grid: &Grid,
    window: &'a [Sample<G::State>],
    random: &mut Rng,
) -> SampleUse<'a, G::State> {
    let image = random.below(grid.images.len());
    loop {
        let sample = Cow::Borrowed(&window[random.below(window.len())]);
        if random.chance(MARKED) {
            let sample = if random.chance(RANDOM) {
                Cow::Owned(Sample::unlabelled(random_position(game, random)))
            } else {
                sample
            };
            let marked = Some(marked(game, &sample.state, random));
            return SampleUse { sample, image, marked };
        }
        if !sample.policy.is_empty() || random.chance(UNSEARCHED) {
            return SampleUse { sample, image, marked: None };
        }
    }
}

/// A legal move to mark.
fn marked<G: Game>(game: &G, state: &G::State, random: &mut Rng) -> u16 {
    let mut moves = game.moves(state);
    let ends = |action: &u16| {
        let mut next = state.clone();
        game.play(&mut next, *action);
        game.end(&next).is_some()
    };
    let ending: Vec<u16> = moves.iter().copied().filter(ends).collect();
    if !ending.is_empty() && random.chance(ENDING) {
        moves = ending;
    }
    moves[random.below(moves.len())]
}

/// A position of a game of random moves, each as likely.
fn random_position<G: Game>(game: &G, random: &mut Rng) -> G::State {
    let mut state = game.start();
    let mut positions = Vec::new();
    while game.end(&state).is_none() {
        positions.push(state.clone());
        let moves = game.moves(&state);
        game.play(&mut state, moves[random.below(moves.len())]);
    }
    positions.swap_remove(random.below(positions.len()))
}

//! A training run: samples from the stream of examples, steps until the schedule's end.

use super::sample::Sample;
use super::steps::RUN;
use super::train::Trainer;
use crate::data::{DataError, Kinds, MixConfig, spawn};
use crate::network::Schedule;
use alphabeta::nnue::Parameters;
use nn::rng::Rng;

/// Samples per step.
const BATCH: usize = 16_384;
/// Reader threads, each with its own order: reading takes twice the time of learning.
const READERS: u64 = 2;
/// Examples per read.
const READ: usize = 1024;
/// Consecutive kept samples in a batch: successors of few positions, which cost little more than one of each.
const STRETCH: usize = RUN;

/// Kinds of examples: positions only; quiet ones are selected from them.
#[must_use]
pub fn kinds() -> Kinds {
    Kinds {
        action_share: 0.0,
        mate_share: 0.0,
        rules_share: 0.0,
        mirror_share: 0.0,
        quiet_weight: 1.0,
        variation_share: 0.6,
        ..Kinds::default()
    }
}

/// Length of a run.
#[derive(Clone, Debug)]
pub struct Length {
    /// Learning rates, and total samples.
    pub schedule: Schedule,
    /// Samples to read and keep in memory, 32 bytes each; later ones are drawn from those kept. Reading takes
    /// longer than learning.
    pub kept: usize,
}

/// Fits `parameters` to the values of `mix`'s positions and of the initial `kept`. After each step `watch` gets
/// the number of samples seen, the mean squared error and the trainer, and returns whether to continue.
///
/// # Errors
/// A file is damaged or yields nothing.
pub fn run(
    parameters: Parameters,
    mix: &MixConfig,
    length: Length,
    mut kept: Vec<Sample>,
    watch: &mut dyn FnMut(u64, f64, &Trainer) -> bool,
) -> Result<Parameters, DataError> {
    let end = length.schedule.examples;
    let mut trainer = Trainer::new(parameters, length.schedule);
    let mut rng = Rng::new(mix.seed);
    let mut seen = 0;
    let mut learn = |batch: &[Sample]| {
        let error = trainer.step(batch);
        seen += batch.len() as u64;
        let continues = watch(seen, error, &trainer);
        continues && seen < end
    };
    let continues = read(mix, length.kept.max(BATCH), &mut kept, &mut learn)?;
    let mut batch = Vec::with_capacity(BATCH);
    let mut continues = continues && kept.len() > STRETCH;
    while continues {
        let places = 0..BATCH / STRETCH;
        let mut firsts: Vec<usize> = places.map(|_| rng.below(kept.len() - STRETCH)).collect();
        // Samples with the same king buckets are adjacent, so that their rows stay in the cache.
        firsts.sort_by_cached_key(|first| kept[*first].zones());
        batch.clear();
        for first in firsts {
            batch.extend_from_slice(&kept[first..first + STRETCH]);
        }
        continues = learn(&batch);
    }
    Ok(trainer.parameters())
}

/// Reads samples until `kept` has `count`, learning from each once. False if `learn` stops.
fn read(
    mix: &MixConfig,
    count: usize,
    kept: &mut Vec<Sample>,
    learn: &mut dyn FnMut(&[Sample]) -> bool,
) -> Result<bool, DataError> {
    let readers: Vec<_> = (0..READERS)
        .map(|number| {
            let seed = mix.seed.wrapping_mul(READERS).wrapping_add(number);
            spawn(MixConfig { seed, ..mix.clone() }, READ, 8)
        })
        .collect();
    let end = kept.len() + count;
    let mut learnt = kept.len();
    for reader in readers.iter().cycle() {
        let dead = |_| DataError::Config("a thread that reads examples broke down".to_owned());
        let examples = reader.recv().map_err(dead)??;
        kept.extend(examples.iter().filter_map(Sample::of));
        if kept.len() - learnt >= BATCH {
            if !learn(&kept[learnt..]) {
                return Ok(false);
            }
            learnt = kept.len();
            if learnt >= end {
                break;
            }
        }
    }
    Ok(true)
}

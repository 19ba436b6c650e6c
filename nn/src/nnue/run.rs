//! A training run: samples from the stream of examples, steps until the schedule's end.

use super::features::Sample;
use super::layout::Parameters;
use super::train::Trainer;
use crate::data::{DataError, Kinds, MixConfig, spawn};
use crate::train::Schedule;

/// Samples of a step.
const BATCH: usize = 16_384;
/// Threads that read, each in an order of its own: reading takes twice the time of learning.
const READERS: u64 = 2;
/// Examples that a thread reads at once.
const READ: usize = 1024;

/// Which examples: positions alone, quiet ones later picked from them.
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

/// Fits `parameters` to the values of `mix`'s positions. `watch` hears after each step how many samples were seen and the
/// mean of the squared errors, and answers whether to go on.
///
/// # Errors
/// A file is damaged or gives nothing.
pub fn run(
    parameters: Parameters,
    mix: &MixConfig,
    schedule: Schedule,
    watch: &mut dyn FnMut(u64, f64, &Parameters) -> bool,
) -> Result<Parameters, DataError> {
    let readers: Vec<_> = (0..READERS)
        .map(|number| {
            let seed = mix.seed.wrapping_mul(READERS).wrapping_add(number);
            spawn(MixConfig { seed, ..mix.clone() }, READ, 8)
        })
        .collect();
    let end = schedule.examples;
    let mut trainer = Trainer::new(parameters, schedule);
    let (mut seen, mut batch) = (0, Vec::with_capacity(BATCH + READ));
    while seen < end {
        for reader in readers.iter().cycle() {
            let dead = |_| DataError::Config("a thread that reads examples broke down".to_owned());
            let examples = reader.recv().map_err(dead)??;
            batch.extend(examples.iter().filter_map(Sample::of));
            if batch.len() >= BATCH {
                break;
            }
        }
        let error = trainer.step(&batch);
        seen += batch.len() as u64;
        batch.clear();
        if !watch(seen, error, trainer.parameters()) {
            break;
        }
    }
    Ok(trainer.parameters().clone())
}

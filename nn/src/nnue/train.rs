//! Fits the parameters to win probabilities, on all threads of the rayon pool.

use super::features::Sample;
use super::gradient::gradient;
use super::layout::{Layout, Parameters};
use super::{HIDDEN, PLACES};
use crate::net::params::{Init, Param};
use crate::train::{Optimizer, OptimizerConfig, Schedule};
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::{ParallelSlice, ParallelSliceMut};

/// Parameters being fitted.
///
/// What a piece means in a zone of the king is the sum of what it means in all and what is particular to that one, so that
/// rare zones learn from frequent ones (factored features, as Stockfish's trainer has them). Once fitted, the sum is all that is kept.
pub struct Trainer {
    layout: Layout,
    parameters: Parameters,
    /// As in `parameters`, but of the rows what is particular; then `[PLACES, HIDDEN]`, what is common.
    factors: Vec<f32>,
    /// Gradients: of each thread, of `factors`.
    parts: Vec<Vec<f32>>,
    grads: Vec<f32>,
    optimizer: Optimizer,
    schedule: Schedule,
    steps: u64,
    seen: u64,
}

/// Floats of the rows of a zone.
const ZONE: usize = PLACES * HIDDEN;
/// Floats that a thread adds up at a time.
const CHUNK: usize = 1 << 14;

/// Rows of a zone, or those common to all.
fn rows_of(name: &str, start: usize) -> Param {
    let (shape, range) = (vec![PLACES, HIDDEN], start..start + ZONE);
    Param { name: name.to_owned(), shape, range, init: Init::Zero }
}

impl Trainer {
    /// Begins with `parameters`, by AdamW.
    #[must_use]
    pub fn new(parameters: Parameters, schedule: Schedule) -> Trainer {
        let layout = Layout::new();
        let config = OptimizerConfig {
            beta2: 0.999,
            weight_decay: 0.0,
            muon_momentum: 0.0,
            ..OptimizerConfig::default()
        };
        // Zone by zone, so that the threads share them out.
        let (zones, rest) = (layout.rows.len() / ZONE, layout.params.iter().skip(1).cloned());
        let rows = (0..zones).map(|zone| rows_of("input.weight", zone * ZONE));
        let common = rows_of("common.weight", parameters.values.len());
        let params: Vec<Param> = rows.chain(rest).chain([common]).collect();
        let optimizer = Optimizer::of(&params, config);
        let mut factors = parameters.values.clone();
        factors.resize(parameters.values.len() + ZONE, 0.0);
        let (parts, grads) = (Vec::new(), vec![0.0; factors.len()]);
        Trainer {
            layout,
            parameters,
            factors,
            parts,
            grads,
            optimizer,
            schedule,
            steps: 0,
            seen: 0,
        }
    }

    /// What was learnt so far.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// One step of the optimiser. Returns the mean of the squared errors before it.
    pub fn step(&mut self, samples: &[Sample]) -> f64 {
        let (layout, values) = (&self.layout, &self.parameters.values);
        let threads = rayon::current_num_threads();
        let part = samples.len().div_ceil(threads).max(1);
        self.parts.resize_with(threads, || vec![0.0; values.len()]);
        // Collected first: a sum in the order of the threads would not repeat exactly.
        let errors: Vec<f64> = samples
            .par_chunks(part)
            .zip(&mut self.parts)
            .with_max_len(1)
            .map(|(samples, grads)| {
                grads.fill(0.0);
                gradient(layout, values, samples, grads)
            })
            .collect();
        let (own, common) = self.grads.split_at_mut(values.len());
        let scale = 1.0 / samples.len().max(1) as f32;
        let parts = &self.parts[..errors.len()];
        own.par_chunks_mut(CHUNK).enumerate().for_each(|(at, own)| {
            own.fill(0.0);
            for part in parts {
                let part = &part[at * CHUNK..];
                own.iter_mut().zip(part).for_each(|(to, from)| *to += scale * from);
            }
        });
        let zones = &own[layout.rows.clone()];
        common.par_chunks_mut(CHUNK).enumerate().for_each(|(at, common)| {
            common.fill(0.0);
            for zone in zones.chunks(ZONE) {
                common.iter_mut().zip(&zone[at * CHUNK..]).for_each(|(to, from)| *to += from);
            }
        });
        self.steps += 1;
        self.seen += samples.len() as u64;
        let rate = self.schedule.rate(self.seen);
        self.optimizer.step(&mut self.factors, &self.grads, rate, self.steps);
        // What the whole numbers of play can hold.
        let output = layout.output.clone();
        self.factors[output].iter_mut().for_each(|weight| *weight = weight.clamp(-0.57, 0.57));
        self.join();
        errors.iter().sum::<f64>() / samples.len().max(1) as f64
    }

    /// Adds up what is particular and what is common.
    fn join(&mut self) {
        let (rows, values) = (self.layout.rows.clone(), &mut self.parameters.values);
        let (own, common) = self.factors.split_at(values.len());
        values[rows.end..].copy_from_slice(&own[rows.end..]);
        let zones = values[rows.clone()].par_chunks_mut(ZONE);
        zones.zip(own[rows].par_chunks(ZONE)).with_max_len(1).for_each(|(to, own)| {
            to.iter_mut()
                .zip(own.iter().zip(common))
                .for_each(|(to, (own, common))| *to = own + common);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nnue::INPUTS;
    use crate::nnue::gradient::{error, tests::samples};

    #[test]
    fn training_learns_what_pieces_are_worth() {
        let samples = samples();
        let schedule = Schedule { rate: 2e-3, warmup: 0, examples: 40_000, ..Schedule::default() };
        let mut trainer = Trainer::new(Parameters::new(1), schedule);
        let first = trainer.step(&samples);
        (0..60).for_each(|_| {
            trainer.step(&samples);
        });
        let last = error(trainer.parameters(), &samples);
        assert!(last < first / 10.0, "{first} {last}");
    }

    #[test]
    fn what_is_learnt_in_one_zone_of_the_king_is_known_in_the_others() {
        // White's king stands on e1 throughout.
        let samples: Vec<Sample> = samples().into_iter().take(3).collect();
        let all = samples[0].board().all();
        let seen = all.added[0].iter().map(|row| usize::from(*row));
        let schedule = Schedule { warmup: 0, ..Schedule::default() };
        let before = Parameters::new(1);
        let mut trainer = Trainer::new(before.clone(), schedule);
        trainer.step(&samples);
        let after = trainer.parameters();
        let rows = Layout::new().rows.start;
        let moved = |row: usize| {
            let place = rows + row * HIDDEN..rows + (row + 1) * HIDDEN;
            before.values[place.clone()] != after.values[place]
        };
        for row in seen {
            let elsewhere = (row + 3 * PLACES) % INPUTS;
            assert!(moved(row) && moved(elsewhere), "{row}");
        }
    }
}

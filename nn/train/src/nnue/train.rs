//! Fits the parameters to win probabilities, on all threads of the rayon pool.

use super::gradient::{gradient, panelled};
use super::panel::from_panels;
use super::sample::Sample;
use super::{PANEL, PANELS};
use crate::network::{Optimizer, OptimizerConfig, Schedule};
use alphabeta::nnue::{INPUTS, PLACES};
use alphabeta::nnue::{Layout, Parameters};
use nn::kernels::Isa;
use nn::kernels::ops::add_rows;
use nn::net::params::{Init, Param};
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::{ParallelSlice, ParallelSliceMut};
use std::ops::Range;

/// Parameters being fitted.
///
/// A piece's row is the sum of a factor common to all king buckets and one of its own, so that rare buckets
/// learn from frequent ones (feature factorization, as in Stockfish's trainer). Only the sum is stored.
pub struct Trainer {
    layout: Layout,
    /// The parameters, rows in panels.
    values: Vec<f32>,
    /// As `values`, with the bucket-specific part of the rows; then `[PANELS, PLACES, PANEL]`, the common part.
    factors: Vec<f32>,
    /// Gradients of `factors`.
    grads: Vec<f32>,
    optimizer: Optimizer,
    schedule: Schedule,
    steps: u64,
    seen: u64,
}

/// Floats of a panel's rows, and of the common part.
const OWN: usize = INPUTS * PANEL;
const COMMON: usize = PLACES * PANEL;

/// Rows of a panel, or the common ones.
fn rows_of(name: &str, range: Range<usize>) -> Param {
    let shape = vec![range.len() / PANEL, PANEL];
    Param { name: name.to_owned(), shape, range, init: Init::Zero }
}

impl Trainer {
    /// Starts from `parameters`, with AdamW.
    #[must_use]
    pub fn new(parameters: Parameters, schedule: Schedule) -> Trainer {
        let layout = Layout::new();
        let config = OptimizerConfig {
            beta2: 0.999,
            weight_decay: 0.0,
            muon_momentum: 0.0,
            ..OptimizerConfig::default()
        };
        // Panel by panel, so that threads share them.
        let rest = layout.params.iter().skip(1).cloned();
        let own = |panel| rows_of("input.weight", panel * OWN..(panel + 1) * OWN);
        let values = panelled(&layout, &parameters);
        let common = |panel| {
            let start = values.len() + panel * COMMON;
            rows_of("common.weight", start..start + COMMON)
        };
        let rows = (0..PANELS).map(own);
        let params: Vec<Param> = rows.chain(rest).chain((0..PANELS).map(common)).collect();
        let optimizer = Optimizer::of(&params, config);
        let mut factors = values.clone();
        factors.resize(values.len() + PANELS * COMMON, 0.0);
        let grads = vec![0.0; factors.len()];
        Trainer { layout, values, factors, grads, optimizer, schedule, steps: 0, seen: 0 }
    }

    /// The current parameters.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        let mut values = self.values.clone();
        let rows = self.layout.rows.clone();
        from_panels(&self.values[rows.clone()], &mut values[rows]);
        Parameters::of(values)
    }

    /// One optimiser step. Returns the mean squared error before it.
    pub fn step(&mut self, samples: &[Sample]) -> f64 {
        let layout = &self.layout;
        let (own, common) = self.grads.split_at_mut(self.values.len());
        own.par_chunks_mut(OWN).for_each(|own| own.fill(0.0));
        let error = gradient(layout, &self.values, samples, own);
        let own = own[layout.rows.clone()].par_chunks(OWN);
        common.par_chunks_mut(COMMON).zip(own).with_max_len(1).for_each(|(common, own)| {
            common.fill(0.0);
            add_rows(Isa::found(), own, common);
        });
        self.steps += 1;
        self.seen += samples.len() as u64;
        let rate = self.schedule.rate(self.seen);
        self.optimizer.step(&mut self.factors, &self.grads, rate, self.steps);
        // Clamp to the range of play's integers.
        let output = layout.output.clone();
        self.factors[output].iter_mut().for_each(|weight| *weight = weight.clamp(-0.57, 0.57));
        self.join();
        error
    }

    /// Adds the specific and the common parts.
    fn join(&mut self) {
        let rows = self.layout.rows.clone();
        let (own, common) = self.factors.split_at(self.values.len());
        self.values[rows.end..].copy_from_slice(&own[rows.end..]);
        let panels = self.values[rows.clone()].par_chunks_mut(OWN).zip(own[rows].par_chunks(OWN));
        panels.zip(common.par_chunks(COMMON)).with_max_len(1).for_each(|((to, own), common)| {
            for (to, own) in to.chunks_mut(COMMON).zip(own.chunks(COMMON)) {
                let sums = own.iter().zip(common).map(|(own, common)| own + common);
                to.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nnue::gradient::{error, tests::samples};
    use alphabeta::nnue::HIDDEN;

    #[test]
    fn training_learns_piece_values() {
        let samples = samples();
        let schedule = Schedule { rate: 2e-3, warmup: 0, examples: 40_000, ..Schedule::default() };
        let mut trainer = Trainer::new(Parameters::new(1), schedule);
        let first = trainer.step(&samples);
        (0..60).for_each(|_| {
            trainer.step(&samples);
        });
        let last = error(&trainer.parameters(), &samples);
        assert!(last < first / 10.0, "{first} {last}");
    }

    #[test]
    fn what_is_learnt_in_one_zone_of_the_king_is_known_in_the_others() {
        // White's king stands on e1 throughout.
        let samples: Vec<Sample> = samples().into_iter().take(3).collect();
        let all = samples[0].board().since(0, None);
        let seen = all.added.iter().map(|row| usize::from(*row));
        let schedule = Schedule { warmup: 0, ..Schedule::default() };
        let before = Parameters::new(1);
        let mut trainer = Trainer::new(before.clone(), schedule);
        trainer.step(&samples);
        let after = trainer.parameters();
        let rows = Layout::new().rows.start;
        let moved = |row: usize| {
            let place = rows + row * HIDDEN..rows + (row + 1) * HIDDEN;
            before.values()[place.clone()] != after.values()[place]
        };
        for row in seen {
            let elsewhere = (row + 3 * PLACES) % INPUTS;
            assert!(moved(row) && moved(elsewhere), "{row}");
        }
    }
}

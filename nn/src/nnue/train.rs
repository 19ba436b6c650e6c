//! Fits the parameters to win probabilities, on all threads of the rayon pool.

use super::features::Sample;
use super::layout::{Layout, Parameters};
use super::{HIDDEN, INPUTS, PLACES};
use crate::cpu::isa::by_isa;
use crate::net::params::{Init, Param};
use crate::numeric::sigmoid;
use crate::train::{Optimizer, OptimizerConfig, Schedule};
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;

/// Parameters being fitted.
///
/// What a piece means in a zone of the king is the sum of what it means in all and what is particular to that one, so that
/// rare zones learn from frequent ones (factored features, as Stockfish's trainer has them). Once fitted, the sum is all that is kept.
pub struct Trainer {
    layout: Layout,
    parameters: Parameters,
    /// As in `parameters`, but of the rows what is particular; then `[PLACES, HIDDEN]`, what is common.
    factors: Vec<f32>,
    optimizer: Optimizer,
    schedule: Schedule,
    steps: u64,
    seen: u64,
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
        let mut params = layout.params.clone();
        let end = parameters.values.len();
        let range = end..end + PLACES * HIDDEN;
        let (name, shape) = ("common.weight".to_owned(), vec![PLACES, HIDDEN]);
        params.push(Param { name, shape, range, init: Init::Zero });
        let optimizer = Optimizer::of(&params, config);
        let mut factors = parameters.values.clone();
        factors.resize(end + PLACES * HIDDEN, 0.0);
        Trainer { layout, parameters, factors, optimizer, schedule, steps: 0, seen: 0 }
    }

    /// What was learnt so far.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// One step of the optimiser. Returns the mean of the squared errors before it.
    pub fn step(&mut self, samples: &[Sample]) -> f64 {
        let (layout, values) = (&self.layout, &self.parameters.values);
        let part = samples.len().div_ceil(rayon::current_num_threads()).max(1);
        let parts: Vec<(f64, Vec<f32>)> = samples
            .par_chunks(part)
            .with_max_len(1)
            .map(|samples| {
                let mut grads = vec![0.0; values.len()];
                (gradient(layout, values, samples, &mut grads), grads)
            })
            .collect();
        let mut grads = vec![0.0; self.factors.len()];
        let scale = 1.0 / samples.len().max(1) as f32;
        let mut errors = 0.0;
        for (sum, part) in parts {
            errors += sum;
            grads.iter_mut().zip(part).for_each(|(to, from)| *to += scale * from);
        }
        self.steps += 1;
        self.seen += samples.len() as u64;
        let rate = self.schedule.rate(self.seen);
        let (own, common) = grads.split_at_mut(values.len());
        for zone in own[layout.rows.clone()].chunks(PLACES * HIDDEN) {
            common.iter_mut().zip(zone).for_each(|(to, from)| *to += from);
        }
        self.optimizer.step(&mut self.factors, &grads, rate, self.steps);
        // What the whole numbers of play can hold.
        let output = layout.output.clone();
        self.factors[output].iter_mut().for_each(|weight| *weight = weight.clamp(-0.57, 0.57));
        let rows = layout.rows.clone();
        let values = &mut self.parameters.values;
        let (own, common) = self.factors.split_at(values.len());
        values.copy_from_slice(own);
        for zone in values[rows].chunks_mut(PLACES * HIDDEN) {
            zone.iter_mut().zip(common).for_each(|(to, from)| *to += from);
        }
        errors / samples.len().max(1) as f64
    }
}

/// Squared errors of `parameters` on `samples`, mean.
#[must_use]
pub fn error(parameters: &Parameters, samples: &[Sample]) -> f64 {
    let (layout, mut grads) = (Layout::new(), vec![0.0; parameters.values.len()]);
    gradient(&layout, &parameters.values, samples, &mut grads) / samples.len().max(1) as f64
}

/// The mover's win probability as a logit.
#[cfg(test)]
pub(super) fn logit(parameters: &Parameters, sample: &Sample) -> f32 {
    // The error against 0 is the guess itself.
    let mut against = sample.clone();
    against.value = 0.0;
    let mut grads = vec![0.0; parameters.values.len()];
    let square = gradient(&Layout::new(), &parameters.values, &[against], &mut grads);
    let guess = square.sqrt();
    (guess / (1.0 - guess)).ln() as f32
}

/// Squared errors, summed; adds their gradient to `grads`.
fn gradient(layout: &Layout, values: &[f32], samples: &[Sample], grads: &mut [f32]) -> f64 {
    let (rows, _) = values[layout.rows.clone()].as_chunks::<HIDDEN>();
    debug_assert_eq!(rows.len(), INPUTS);
    let mut bias = [0.0; HIDDEN];
    bias.copy_from_slice(&values[layout.bias.clone()]);
    let (output, _) = values[layout.output.clone()].as_chunks::<HIDDEN>();
    let output_bias = &values[layout.output_bias.clone()];
    let (mut bias_grads, mut output_grads) = ([0.0; HIDDEN], vec![[0.0; HIDDEN]; output.len()]);
    let mut errors = 0.0;
    for sample in samples {
        let rows_of = sample.rows();
        let (sides, bucket) = (rows_of.lists(), rows_of.bucket());
        let mut sums = [bias; 2];
        let mut logit = output_bias[bucket];
        for (side, (list, sums)) in sides.iter().zip(&mut sums).enumerate() {
            list.iter().for_each(|row| add(sums, &rows[usize::from(*row)]));
            logit += forward(sums, &output[2 * bucket + side]);
        }
        let guess = sigmoid(logit);
        let error = guess - sample.value;
        errors += f64::from(error * error);
        let slope = 2.0 * error * guess * (1.0 - guess);
        grads[layout.output_bias.start + bucket] += slope;
        for (side, (list, sums)) in sides.iter().zip(&mut sums).enumerate() {
            let last = 2 * bucket + side;
            backward(slope, sums, &output[last], &mut output_grads[last]);
            add(&mut bias_grads, sums);
            let (rows, _) = grads[layout.rows.clone()].as_chunks_mut::<HIDDEN>();
            list.iter().for_each(|row| add(&mut rows[usize::from(*row)], sums));
        }
    }
    grads[layout.bias.clone()].iter_mut().zip(bias_grads).for_each(|(to, from)| *to += from);
    let output_grads = output_grads.as_flattened();
    grads[layout.output.clone()].iter_mut().zip(output_grads).for_each(|(to, from)| *to += from);
    errors
}

by_isa! {
    /// Adds a row.
    pub fn add(sums: &mut [f32; HIDDEN], row: &[f32; HIDDEN]) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
}

by_isa! {
    /// Weights times squares of clipped sums.
    pub fn forward(sums: &[f32; HIDDEN], weights: &[f32; HIDDEN]) -> f32 {
        let mut lanes = [0.0; 16];
        for (sums, weights) in sums.as_chunks::<16>().0.iter().zip(weights.as_chunks::<16>().0) {
            for lane in 0..16 {
                let clipped = sums[lane].clamp(0.0, 1.0);
                lanes[lane] += clipped * clipped * weights[lane];
            }
        }
        lanes.iter().sum()
    }
}

by_isa! {
    /// The gradient of `weights`, added to `grads`, and in place of `sums` theirs, where `slope` is the logit's.
    pub fn backward(slope: f32, sums: &mut [f32; HIDDEN], weights: &[f32; HIDDEN], grads: &mut [f32; HIDDEN]) {
        for ((sum, weight), grad) in sums.iter_mut().zip(weights).zip(grads) {
            let clipped = sum.clamp(0.0, 1.0);
            *grad += slope * clipped * clipped;
            // The slope is 0 where the sum is clipped.
            let inside = if *sum == clipped { 1.0 } else { 0.0 };
            *sum = slope * weight * 2.0 * clipped * inside;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Features;
    use crate::rng::Rng;
    use shakmaty::{Chess, Position};

    /// Positions of a random game, valued by the balance of queens and rooks.
    fn samples() -> Vec<Sample> {
        let mut rng = Rng::new(5);
        let mut position = Chess::default();
        let mut samples = Vec::new();
        while samples.len() < 200 {
            let moves = position.legal_moves();
            if moves.is_empty() {
                position = Chess::default();
                continue;
            }
            position.play_unchecked(moves[rng.below(moves.len())]);
            let features = Features::of(&position);
            let count = |class: u8| features.pieces.iter().filter(|c| **c == class).count() as f32;
            let balance = count(4) + 2.0 * count(5) - count(10) - 2.0 * count(11);
            samples.push(Sample::new(&features, sigmoid(balance)));
        }
        samples
    }

    #[test]
    fn the_gradient_is_that_of_the_errors() {
        let samples = &samples()[..20];
        let mut parameters = Parameters::new(1);
        let layout = Layout::new();
        let mut grads = vec![0.0; parameters.values.len()];
        gradient(&layout, &parameters.values, samples, &mut grads);
        let places = [layout.bias.start + 3, layout.output_bias.start + 7, layout.output.end - 5];
        let row = layout.rows.start + usize::from(samples[0].rows().lists()[0][4]) * HIDDEN + 9;
        for at in places.into_iter().chain([row]) {
            let mut moved = |by: f32| {
                parameters.values[at] += by;
                let sum = error(&parameters, samples) * samples.len() as f64;
                parameters.values[at] -= by;
                sum
            };
            let slope = (moved(0.01) - moved(-0.01)) / 0.02;
            assert!((slope - f64::from(grads[at])).abs() < 1e-2, "{at}: {slope}, {}", grads[at]);
        }
    }

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
        let seen: Vec<usize> =
            samples[0].rows().lists()[0].iter().map(|row| usize::from(*row)).collect();
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

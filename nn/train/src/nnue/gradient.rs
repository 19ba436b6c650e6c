//! Mean squared error of samples and its gradient, panel by panel on all threads of the rayon pool.
//!
//! Each sample's accumulator is updated from that of a similar one, as in play; in the backward pass the
//! gradient of a row sums over all samples that have its piece. Accumulators are recomputed for the backward
//! pass: that is faster than reading them from memory.

use super::panel::{Gradient, Panel, Sums, backward, forward, to_panels};
use super::sample::Sample;
use super::steps::{RUN, Run};
use super::{PANEL, PANELS};
use alphabeta::nnue::{BUCKETS, INPUTS};
use alphabeta::nnue::{Layout, Parameters};
use nn::kernels::Isa;
use nn::kernels::ops::add_rows;
use nn::numeric::sigmoid;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

/// Mean squared error of `parameters` on `samples`.
#[must_use]
pub fn error(parameters: &Parameters, samples: &[Sample]) -> f64 {
    let layout = Layout::new();
    let values = panelled(&layout, parameters);
    Predictions::new(&layout, &values, samples).error
}

/// The values with the first layer's rows in panels, the layout of training.
pub(super) fn panelled(layout: &Layout, parameters: &Parameters) -> Vec<f32> {
    let mut values = parameters.values().to_vec();
    to_panels(&parameters.values()[layout.rows.clone()], &mut values[layout.rows.clone()]);
    values
}

/// Predictions for samples.
struct Predictions {
    runs: Vec<Run>,
    /// Gradient of each logit.
    slopes: Vec<f32>,
    /// Mean squared error.
    error: f64,
}

impl Predictions {
    fn new(layout: &Layout, values: &[f32], samples: &[Sample]) -> Predictions {
        let (isa, runs) = (Isa::found(), Run::all(samples));
        let part = |number: usize| {
            let panel = Panel::of(layout, values, number);
            let (mut logits, mut sums) = (vec![0.0; samples.len()], sums());
            for (run, logits) in runs.iter().zip(logits.chunks_mut(RUN)) {
                forward(isa, &panel, run, &mut sums, logits);
            }
            logits
        };
        let parts: Vec<Vec<f32>> = (0..PANELS).into_par_iter().map(part).collect();
        let biases = &values[layout.output_bias.clone()];
        let buckets = runs.iter().flat_map(|run| &run.buckets);
        let count = samples.len().max(1) as f64;
        let share = 2.0 / count as f32;
        let mut errors = 0.0;
        let slopes = samples.iter().zip(buckets).enumerate().map(|(at, (sample, bucket))| {
            let logit = biases[*bucket] + parts.iter().map(|part| part[at]).sum::<f32>();
            let guess = sigmoid(logit);
            let error = guess - sample.value;
            errors += f64::from(error * error);
            share * error * guess * (1.0 - guess)
        });
        let slopes = slopes.collect();
        Predictions { runs, slopes, error: errors / count }
    }
}

/// Buffer for one run.
fn sums() -> Box<Sums> {
    Box::new([[[0.0; PANEL]; 2]; RUN])
}

/// Mean squared error; adds its gradient to `grads`. `values` and `grads` are in the layout of [`panelled`].
pub(super) fn gradient(
    layout: &Layout,
    values: &[f32],
    samples: &[Sample],
    grads: &mut [f32],
) -> f64 {
    let isa = Isa::found();
    let Predictions { runs, slopes, error } = Predictions::new(layout, values, samples);
    let (rows, _) = grads[layout.rows.clone()].as_chunks_mut::<PANEL>();
    let learn = |(number, rows)| {
        let panel = Panel::of(layout, values, number);
        let output = [[[0.0; PANEL]; 2]; BUCKETS];
        let mut own = Gradient { rows, bias: [0.0; PANEL], output };
        let mut sums = sums();
        for (run, slopes) in runs.iter().zip(slopes.chunks(RUN)) {
            forward(isa, &panel, run, &mut sums, &mut [0.0; RUN]);
            backward(isa, &panel, run, &mut sums, slopes, &mut own);
        }
        (own.bias, own.output)
    };
    let panels = rows.par_chunks_mut(INPUTS).enumerate();
    let rest: Vec<_> = panels.with_max_len(1).map(learn).collect();
    for (number, (bias, output)) in rest.iter().enumerate() {
        add_rows(isa, bias, &mut grads[layout.bias.clone()][number * PANEL..][..PANEL]);
        for (at, output) in output.as_flattened().iter().enumerate() {
            let start = (at * PANELS + number) * PANEL;
            add_rows(isa, output, &mut grads[layout.output.clone()][start..][..PANEL]);
        }
    }
    let biases = &mut grads[layout.output_bias.clone()];
    let buckets = runs.iter().flat_map(|run| &run.buckets);
    buckets.zip(&slopes).for_each(|(bucket, slope)| biases[*bucket] += slope);
    error
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use nn::encode::Features;
    use nn::rng::Rng;
    use shakmaty::{Chess, Position};

    /// Positions of a random game, valued by the balance of queens and rooks.
    pub fn samples() -> Vec<Sample> {
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
    fn samples_that_follow_from_the_one_before_count_as_they_would_alone() {
        let mut position = Chess::default();
        let mut rng = Rng::new(3);
        let mut samples = Vec::new();
        for _ in 0..12 {
            let moves = position.legal_moves();
            // Moves of the king, captures and castling among them.
            for m in &moves {
                let mut next = position.clone();
                next.play_unchecked(*m);
                samples.push(Sample::at(&next, 0.1 + 0.8 * rng.unit() as f32));
            }
            (0..3).for_each(|_| {
                let moves = position.legal_moves();
                position.play_unchecked(moves[rng.below(moves.len())]);
            });
        }
        let runs = Run::all(&samples);
        let steps = runs.iter().flat_map(|run| run.steps.as_flattened());
        let follow = steps.filter(|step| step.from.is_some()).count();
        assert!(follow * 10 > samples.len() * 2 * 8, "{follow} of twice {}", samples.len());
        let layout = Layout::new();
        let values = panelled(&layout, &Parameters::new(2));
        let of = |parts: &[&[Sample]]| {
            let mut grads = vec![0.0; values.len()];
            let errors: f64 =
                parts.iter().map(|part| gradient(&layout, &values, part, &mut grads)).sum();
            (errors, grads)
        };
        // One mean, and the sum over single samples.
        let count = samples.len() as f32;
        let (mut batched, alone) = (of(&[&samples]), of(&samples.chunks(1).collect::<Vec<_>>()));
        batched.0 *= f64::from(count);
        batched.1.iter_mut().for_each(|grad| *grad *= count);
        assert!((batched.0 - alone.0).abs() < 1e-4 * alone.0);
        let far = batched.1.iter().zip(&alone.1).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let most = alone.1.iter().fold(0.0f32, |most, grad| most.max(grad.abs()));
        assert!(far < 1e-4 * most, "{far} of {most}");
    }

    #[test]
    fn the_gradient_is_that_of_the_errors() {
        let samples = &samples()[..20];
        let layout = Layout::new();
        let mut values = panelled(&layout, &Parameters::new(1));
        let mut grads = vec![0.0; values.len()];
        gradient(&layout, &values, samples, &mut grads);
        let places = [layout.bias.start + 3, layout.output_bias.start + 7, layout.output.end - 5];
        let all = samples[0].board().since(0, None);
        let row = layout.rows.start + usize::from(all.added[4]) * PANEL + 9;
        for at in places.into_iter().chain([row]) {
            let mut moved = |by: f32| {
                values[at] += by;
                let guesses = Predictions::new(&layout, &values, samples);
                values[at] -= by;
                guesses.error
            };
            // Gradient of the sum over the samples.
            let count = samples.len() as f64;
            let (slope, grad) =
                (count * (moved(0.01) - moved(-0.01)) / 0.02, count * f64::from(grads[at]));
            assert!((slope - grad).abs() < 1e-2, "{at}: {slope}, {grad}");
        }
    }
}

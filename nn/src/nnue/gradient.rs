//! Squared errors of samples, and their gradient.
//!
//! Samples that lie side by side often resemble each other: successors of one position differ in two pieces of twenty. Each one's sums
//! follow from those of the sample before, as in play, and on the way back a row hears at once from all samples that have its piece.

use super::features::{Board, Change, Sample};
use super::layout::{Layout, Parameters};
use super::{BUCKETS, HIDDEN, INPUTS};
use crate::cpu::isa::by_isa;
use crate::numeric::sigmoid;

/// Samples of a run at most: their sums stay in the second-level cache.
const RUN: usize = 32;

/// A sample whose sums follow from those of the one before.
struct Link {
    change: Change,
    bucket: usize,
    /// The logit's gradient.
    slope: f32,
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
pub(super) fn gradient(
    layout: &Layout,
    values: &[f32],
    samples: &[Sample],
    grads: &mut [f32],
) -> f64 {
    let weights = Weights::of(layout, values);
    let mut back = Back {
        layout,
        weights: &weights,
        output: vec![[0.0; HIDDEN]; weights.output.len()],
        output_bias: [0.0; BUCKETS],
        bias: [0.0; HIDDEN],
        grads,
    };
    let empty = [weights.bias; 2];
    let (mut sums, mut links) = (vec![[[0.0; HIDDEN]; 2]; RUN], Vec::with_capacity(RUN));
    let mut errors = 0.0;
    let mut last: Option<Board> = None;
    for sample in samples {
        let board = sample.board();
        let before = last.filter(|_| links.len() < RUN);
        let change = before.and_then(|before| board.follows(&before)).unwrap_or_else(|| {
            back.learn(&mut sums, &mut links);
            board.all()
        });
        let (earlier, now) = sums.split_at_mut(links.len());
        let bucket = board.bucket();
        let before = earlier.last().unwrap_or(&empty);
        let logit = weights.logit(before, &mut now[0], &change, bucket);
        let guess = sigmoid(logit);
        let error = guess - sample.value;
        errors += f64::from(error * error);
        links.push(Link { change, bucket, slope: 2.0 * error * guess * (1.0 - guess) });
        last = Some(board);
    }
    back.learn(&mut sums, &mut links);
    back.end();
    errors
}

/// The parameters, row by row.
struct Weights<'a> {
    rows: &'a [[f32; HIDDEN]],
    bias: [f32; HIDDEN],
    output: &'a [[f32; HIDDEN]],
    output_bias: &'a [f32],
}

impl<'a> Weights<'a> {
    fn of(layout: &Layout, values: &'a [f32]) -> Weights<'a> {
        let (rows, _) = values[layout.rows.clone()].as_chunks::<HIDDEN>();
        debug_assert_eq!(rows.len(), INPUTS);
        let mut bias = [0.0; HIDDEN];
        bias.copy_from_slice(&values[layout.bias.clone()]);
        let (output, _) = values[layout.output.clone()].as_chunks::<HIDDEN>();
        Weights { rows, bias, output, output_bias: &values[layout.output_bias.clone()] }
    }

    /// Brings the sums `before` a change to `now`.
    fn logit(
        &self,
        before: &[[f32; HIDDEN]; 2],
        now: &mut [[f32; HIDDEN]; 2],
        change: &Change,
        bucket: usize,
    ) -> f32 {
        let mut logit = self.output_bias[bucket];
        for (side, now) in now.iter_mut().enumerate() {
            now.copy_from_slice(&before[side]);
            change.added[side].iter().for_each(|row| add(now, &self.rows[usize::from(*row)]));
            change.removed[side]
                .iter()
                .for_each(|row| subtract(now, &self.rows[usize::from(*row)]));
            logit += forward(now, &self.output[2 * bucket + side]);
        }
        logit
    }
}

/// The way back.
struct Back<'a> {
    layout: &'a Layout,
    weights: &'a Weights<'a>,
    output: Vec<[f32; HIDDEN]>,
    output_bias: [f32; BUCKETS],
    bias: [f32; HIDDEN],
    grads: &'a mut [f32],
}

impl Back<'_> {
    /// Adds the gradients of a run, whose `sums` they take the place of, and ends it.
    fn learn(&mut self, sums: &mut [[[f32; HIDDEN]; 2]], links: &mut Vec<Link>) {
        let (rows, _) = self.grads[self.layout.rows.clone()].as_chunks_mut::<HIDDEN>();
        for (at, link) in links.iter().enumerate().rev() {
            let (now, later) = sums.split_at_mut(at + 1);
            self.output_bias[link.bucket] += link.slope;
            for (side, now) in now[at].iter_mut().enumerate() {
                let last = 2 * link.bucket + side;
                backward(link.slope, now, &self.weights.output[last], &mut self.output[last]);
                // What changed here holds for all samples after it.
                if at + 1 < links.len() {
                    add(now, &later[0][side]);
                }
                link.change.added[side]
                    .iter()
                    .for_each(|row| add(&mut rows[usize::from(*row)], now));
                link.change.removed[side]
                    .iter()
                    .for_each(|row| subtract(&mut rows[usize::from(*row)], now));
            }
        }
        if !links.is_empty() {
            sums[0].iter().for_each(|side| add(&mut self.bias, side));
        }
        links.clear();
    }

    fn end(self) {
        let Back { layout, output, output_bias, bias, grads, .. } = self;
        let mut gather = |range: std::ops::Range<usize>, from: &[f32]| {
            grads[range].iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        gather(layout.bias.clone(), &bias);
        gather(layout.output.clone(), output.as_flattened());
        gather(layout.output_bias.clone(), &output_bias);
    }
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
    /// Takes a row away.
    pub fn subtract(sums: &mut [f32; HIDDEN], row: &[f32; HIDDEN]) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum -= value;
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
pub(super) mod tests {
    use super::*;
    use crate::encode::Features;
    use crate::rng::Rng;
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
        let boards: Vec<Board> = samples.iter().map(Sample::board).collect();
        let follow = boards.windows(2).filter(|two| two[1].follows(&two[0]).is_some()).count();
        assert!(follow * 10 > samples.len() * 8, "{follow} of {}", samples.len());
        let parameters = Parameters::new(2);
        let layout = Layout::new();
        let of = |parts: &[&[Sample]]| {
            let mut grads = vec![0.0; parameters.values.len()];
            let errors: f64 = parts
                .iter()
                .map(|part| gradient(&layout, &parameters.values, part, &mut grads))
                .sum();
            (errors, grads)
        };
        let (together, alone) = (of(&[&samples]), of(&samples.chunks(1).collect::<Vec<_>>()));
        assert!((together.0 - alone.0).abs() < 1e-4 * alone.0);
        let far = together.1.iter().zip(&alone.1).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let most = alone.1.iter().fold(0.0f32, |most, grad| most.max(grad.abs()));
        assert!(far < 1e-4 * most, "{far} of {most}");
    }

    #[test]
    fn the_gradient_is_that_of_the_errors() {
        let samples = &samples()[..20];
        let mut parameters = Parameters::new(1);
        let layout = Layout::new();
        let mut grads = vec![0.0; parameters.values.len()];
        gradient(&layout, &parameters.values, samples, &mut grads);
        let places = [layout.bias.start + 3, layout.output_bias.start + 7, layout.output.end - 5];
        let all = samples[0].board().all();
        let row = layout.rows.start + usize::from(all.added[0][4]) * HIDDEN + 9;
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
}

//! A panel of first-layer channels, for all samples of a run: its part of the logits, and the backward pass.

use super::steps::{RUN, Run};
use super::{PANEL, PANELS};
use alphabeta::nnue::Layout;
use alphabeta::nnue::{BUCKETS, HIDDEN, INPUTS};
use nn::by_isa;
use nn::kernels::prefetch;

/// Accumulators of a run for one panel, both sides; in the backward pass their gradients.
pub(super) type Sums = [[[f32; PANEL]; 2]; RUN];

/// Converts the first layer's rows from file order, `[INPUTS, HIDDEN]`, to panels, `[PANELS, INPUTS, PANEL]`.
pub(super) fn to_panels(rows: &[f32], to: &mut [f32]) {
    for (at, row) in rows.chunks(HIDDEN).enumerate() {
        for (panel, part) in row.chunks(PANEL).enumerate() {
            to[(panel * INPUTS + at) * PANEL..][..PANEL].copy_from_slice(part);
        }
    }
}

/// The inverse of [`to_panels`].
pub(super) fn from_panels(panels: &[f32], to: &mut [f32]) {
    for (at, row) in to.chunks_mut(HIDDEN).enumerate() {
        for (panel, part) in row.chunks_mut(PANEL).enumerate() {
            part.copy_from_slice(&panels[(panel * INPUTS + at) * PANEL..][..PANEL]);
        }
    }
}

/// Weights of one panel.
pub(super) struct Panel<'a> {
    rows: &'a [[f32; PANEL]],
    bias: [f32; PANEL],
    /// By output bucket and side.
    output: [[[f32; PANEL]; 2]; BUCKETS],
}

impl<'a> Panel<'a> {
    /// A panel of `values` in the layout of training.
    pub fn of(layout: &Layout, values: &'a [f32], number: usize) -> Panel<'a> {
        let (rows, _) = values[layout.rows.clone()].as_chunks::<PANEL>();
        let (bias, _) = values[layout.bias.clone()].as_chunks::<PANEL>();
        let (output, _) = values[layout.output.clone()].as_chunks::<PANEL>();
        let at = |bucket: usize, side: usize| output[(2 * bucket + side) * PANELS + number];
        Panel {
            rows: &rows[number * INPUTS..(number + 1) * INPUTS],
            bias: bias[number],
            output: std::array::from_fn(|bucket| [at(bucket, 0), at(bucket, 1)]),
        }
    }

    /// The row at index `at` of the run's list.
    #[inline(always)]
    fn row(&self, run: &Run, at: usize) -> &[f32; PANEL] {
        if let Some(next) = run.rows.get(at + AHEAD) {
            fetch(&self.rows[usize::from(*next)]);
        }
        &self.rows[usize::from(run.rows[at])]
    }
}

/// Gradient of one panel's weights.
pub(super) struct Gradient<'a> {
    pub rows: &'a mut [[f32; PANEL]],
    pub bias: [f32; PANEL],
    /// By output bucket and side.
    pub output: [[[f32; PANEL]; 2]; BUCKETS],
}

impl Gradient<'_> {
    /// Gradient of the row at index `at` of the run's list, which is traversed backwards.
    #[inline(always)]
    fn row(&mut self, run: &Run, at: usize) -> &mut [f32; PANEL] {
        if let Some(next) = at.checked_sub(AHEAD) {
            fetch(&self.rows[usize::from(run.rows[next])]);
        }
        &mut self.rows[usize::from(run.rows[at])]
    }
}

/// Floats per vector, and per cache line.
const LANES: usize = 16;
/// Rows of software prefetch: access is random.
const AHEAD: usize = 4;

#[inline(always)]
fn fetch(row: &[f32; PANEL]) {
    row.as_chunks::<LANES>().0.iter().for_each(|line| prefetch(line));
}

by_isa! {
    /// Computes the accumulators of a run and adds the panel's part to its logits.
    pub fn forward(panel: &Panel<'_>, run: &Run, sums: &mut Sums, logits: &mut [f32]) {
        for (at, ((steps, bucket), logit)) in run.steps.iter().zip(&run.buckets).zip(logits).enumerate() {
            let mut lanes = [0.0; LANES];
            for (side, step) in steps.iter().enumerate() {
                let mut now = step.from.map_or(panel.bias, |from| sums[usize::from(from)][side]);
                for at in step.adds() {
                    let row = panel.row(run, at);
                    now.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
                }
                for at in step.removes() {
                    let row = panel.row(run, at);
                    now.iter_mut().zip(row).for_each(|(sum, value)| *sum -= value);
                }
                let weights = &panel.output[*bucket][side];
                for (now, weights) in now.as_chunks::<LANES>().0.iter().zip(weights.as_chunks::<LANES>().0) {
                    for lane in 0..LANES {
                        let clipped = now[lane].clamp(0.0, 1.0);
                        lanes[lane] += clipped * clipped * weights[lane];
                    }
                }
                sums[at][side] = now;
            }
            *logit += lanes.iter().sum::<f32>();
        }
    }
}

by_isa! {
    /// Adds the gradient of a run with logit gradients `slopes`; overwrites `sums` with their gradients.
    pub fn backward(panel: &Panel<'_>, run: &Run, sums: &mut Sums, slopes: &[f32], grads: &mut Gradient<'_>) {
        for ((sums, bucket), slope) in sums.iter_mut().zip(&run.buckets).zip(slopes) {
            for (side, sums) in sums.iter_mut().enumerate() {
                let weights = &panel.output[*bucket][side];
                let grads = &mut grads.output[*bucket][side];
                for ((sum, weight), grad) in sums.iter_mut().zip(weights).zip(grads) {
                    let clipped = sum.clamp(0.0, 1.0);
                    *grad += slope * clipped * clipped;
                    // The derivative is 0 where the sum is clipped.
                    let inside = if *sum == clipped { 1.0 } else { 0.0 };
                    *sum = slope * weight * 2.0 * clipped * inside;
                }
            }
        }
        for (at, steps) in run.steps.iter().enumerate().rev() {
            for (side, step) in steps.iter().enumerate().rev() {
                let now = sums[at][side];
                for at in step.removes().rev() {
                    let row = grads.row(run, at);
                    row.iter_mut().zip(&now).for_each(|(grad, value)| *grad -= value);
                }
                for at in step.adds().rev() {
                    let row = grads.row(run, at);
                    row.iter_mut().zip(&now).for_each(|(grad, value)| *grad += value);
                }
                // Propagates the gradient to the parent accumulator.
                let origin = match step.from {
                    Some(from) => &mut sums[usize::from(from)][side],
                    None => &mut grads.bias,
                };
                origin.iter_mut().zip(&now).for_each(|(grad, value)| *grad += value);
            }
        }
    }
}

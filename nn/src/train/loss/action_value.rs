//! Action values: cross-entropy of each move's 64 win-probability buckets, `[moves, 64]`, against the
//! bucketed value of the move (paper 000, section 2; [`Buckets`] for one-hot and HL-Gauss), averaged
//! over the moves whose value is known.

use super::entropy::bucket_entropy;
use crate::cpu::{Activations, HeadGradients};
use crate::data::Example;
use crate::net::BUCKETS;
use crate::train::buckets::Buckets;
use std::ops::Range;

/// The loss of the example whose moves are `moves` of the pass; None if no value is known.
pub(super) fn loss(
    example: &Example,
    buckets: &Buckets,
    weight: f32,
    moves: Range<usize>,
    activations: &Activations,
    grads: &mut HeadGradients,
) -> Option<f64> {
    let known = example.action_values.iter().filter(|v| v.is_finite()).count();
    if known == 0 {
        return None;
    }
    let mut sum = 0.0;
    for (m, value) in moves.zip(&example.action_values) {
        if value.is_finite() {
            let row = m * BUCKETS..(m + 1) * BUCKETS;
            let grad = &mut grads.actions[row.clone()];
            let target = buckets.target(*value);
            sum += bucket_entropy(&activations.actions[row], target, weight / known as f32, grad);
        }
    }
    Some(sum / known as f64)
}

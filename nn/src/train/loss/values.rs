//! The losses of the value heads: cross-entropies of win-probability buckets and of the game's result.

use super::buckets::Buckets;
use super::entropy::{bucket_entropy, cross_entropy, one_hot};
use super::place::Place;
use crate::net::BUCKETS;
use crate::net::layout::RESULTS;

/// Action values: cross-entropy of each move's 64 buckets, `[moves, 64]`, against the bucketed value of the move
/// (paper 000, section 2; [`Buckets`] for one-hot and HL-Gauss), averaged over the moves whose value is known.
/// None if no value is known.
pub(super) fn action_values(at: &mut Place<'_>, buckets: &Buckets, weight: f32) -> Option<f64> {
    let values = &at.example.action_values;
    let known = values.iter().filter(|v| v.is_finite()).count();
    if known == 0 {
        return None;
    }
    let mut sum = 0.0;
    for (m, value) in at.moves.clone().zip(values) {
        if value.is_finite() {
            let row = m * BUCKETS..(m + 1) * BUCKETS;
            let grad = &mut at.grads.actions[row.clone()];
            let (logits, target) = (&at.activations.actions[row], buckets.target(*value));
            sum += bucket_entropy(logits, target, weight / known as f32, grad);
        }
    }
    Some(sum / known as f64)
}

/// Value: cross-entropy of the state's 64 buckets, `[64]`, against the bucketed value (paper 001, section 3,
/// L_SV; paper 000 uses the same buckets for moves). None if the value is unknown.
pub(super) fn value(at: &mut Place<'_>, buckets: &Buckets, weight: f32) -> Option<f64> {
    let row = at.p * BUCKETS..(at.p + 1) * BUCKETS;
    let value = at.example.value;
    value.is_finite().then(|| {
        let (logits, target) = (&at.activations.value[row.clone()], buckets.target(value));
        bucket_entropy(logits, target, weight, &mut at.grads.value[row])
    })
}

/// Result: cross-entropy of lost, drawn and won, `[3]`, against how the game ended for the side to move (paper
/// 004's z, as three classes). None if the result is unknown.
pub(super) fn result(at: &mut Place<'_>, weight: f32) -> Option<f64> {
    let row = at.p * RESULTS..(at.p + 1) * RESULTS;
    at.example.result.map(|result| {
        let target: [f32; RESULTS] = one_hot(result.class());
        let grad = &mut at.grads.result[row.clone()];
        cross_entropy(&at.activations.result[row], &target, weight, grad)
    })
}

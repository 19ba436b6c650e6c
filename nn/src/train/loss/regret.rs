//! Regret: the win probability that a move drawn from the policy gives away, `sum over moves of
//! policy * (best action value - action value)`, `[moves]`.
//!
//! The cross-entropy against the best move counts a slip between equals like a lost queen; this loss is the
//! figure a player pays. Its gradient is that of a policy gradient with every action's reward known (ours).

use crate::cpu::{Activations, HeadGradients};
use crate::data::Example;
use crate::numeric::softmax;
use std::ops::Range;

/// What each move gives away against the best one, `[moves]`; empty unless all values are known.
#[must_use]
pub fn regrets(example: &Example) -> Vec<f32> {
    let values = &example.action_values;
    if values.len() != example.moves.len() || !values.iter().all(|v| v.is_finite()) {
        return Vec::new();
    }
    let top = values.iter().copied().fold(0.0, f32::max);
    values.iter().map(|v| top - v).collect()
}

/// The loss of the example whose moves are `moves` of the pass; None unless all values are known. Adds to
/// the policy's gradient.
pub(super) fn loss(
    example: &Example,
    weight: f32,
    moves: Range<usize>,
    activations: &Activations,
    grads: &mut HeadGradients,
) -> Option<f64> {
    let regrets = regrets(example);
    if regrets.is_empty() {
        return None;
    }
    let policy = softmax(&activations.policy[moves.clone()]);
    let expected: f32 = policy.iter().zip(&regrets).map(|(p, r)| p * r).sum();
    for ((grad, p), r) in grads.policy[moves].iter_mut().zip(&policy).zip(&regrets) {
        *grad += weight * p * (r - expected);
    }
    Some(f64::from(expected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::cpu_step::tests::examples;

    #[test]
    fn a_move_costs_what_the_best_one_is_better_by() {
        let mut example = examples().swap_remove(0);
        let n = example.moves.len();
        example.action_values = vec![0.25; n];
        example.action_values[2] = 0.75;
        let costs = regrets(&example);
        assert_eq!((costs.len(), costs[2], costs[0]), (n, 0.0, 0.5));
        example.action_values[0] = f32::NAN;
        assert!(regrets(&example).is_empty());
        example.action_values.clear();
        assert!(regrets(&example).is_empty());
    }
}

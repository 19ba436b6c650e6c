//! Policy: cross-entropy of the softmax over the listed moves, `[moves]`, against
//! `best_share * (best move) + (1 - best_share) * softmax(action values / temperature)`.
//!
//! The best move alone is paper 001's behavioural cloning (section 3, L_BC); the soft part tells
//! moves that lose nothing from moves that lose much, which a single label cannot.

use super::LossConfig;
use super::entropy::cross_entropy;
use super::regret::regrets;
use crate::cpu::{Activations, HeadGradients};
use crate::data::Example;
use std::ops::Range;

/// The target over an example's moves; empty if nothing is known. Sums to 1.
#[must_use]
pub fn target(example: &Example, config: &LossConfig) -> Vec<f32> {
    let Some(best) = example.best.map(usize::from) else { return Vec::new() };
    let regrets = regrets(example);
    let mut target = vec![0.0; example.moves.len()];
    let share = if regrets.is_empty() { 1.0 } else { config.best_share };
    if share < 1.0 {
        for (t, regret) in target.iter_mut().zip(&regrets) {
            *t = (-regret / config.policy_temperature).exp();
        }
        let scale = (1.0 - share) / target.iter().sum::<f32>();
        target.iter_mut().for_each(|t| *t *= scale);
    }
    target[best] += share;
    target
}

/// The loss of the example whose moves are `moves` of the pass; None without a label.
pub(super) fn loss(
    example: &Example,
    config: &LossConfig,
    weight: f32,
    moves: Range<usize>,
    activations: &Activations,
    grads: &mut HeadGradients,
) -> Option<f64> {
    let target = target(example, config);
    if target.is_empty() {
        return None;
    }
    let grad = &mut grads.policy[moves.clone()];
    Some(cross_entropy(&activations.policy[moves], &target, weight, grad))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::cpu_step::tests::examples;

    #[test]
    fn the_best_move_keeps_its_share_and_good_moves_split_the_rest() {
        let mut example = examples().swap_remove(0);
        let n = example.moves.len();
        example.action_values = vec![0.0; n];
        (example.action_values[1], example.action_values[3]) = (0.5, 0.5);
        let config = LossConfig { best_share: 0.6, ..LossConfig::default() };
        let t = target(&example, &config);
        assert!((t.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!((t[3] - 0.8).abs() < 1e-5 && (t[1] - 0.2).abs() < 1e-5, "{t:?}");
        // One unknown value: nothing can be said of the others.
        example.action_values[0] = f32::NAN;
        assert_eq!(target(&example, &config)[3], 1.0);
        example.best = None;
        assert!(target(&example, &config).is_empty());
    }
}

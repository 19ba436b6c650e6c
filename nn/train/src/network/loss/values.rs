//! Losses of the value heads: cross-entropies of win-probability buckets, of the choice by action values, and
//! of the game's result.

use super::buckets::Buckets;
use super::entropy::{bucket_entropy, cross_entropy, one_hot};
use super::place::PositionMoves;
use super::policy::{self, blend};
use super::sums::LossConfig;
use crate::data::Example;
use nn::kernels::{Isa, ops};
use nn::net::layout::RESULTS;
use nn::net::{BUCKETS, CENTRES};

/// Target for a win probability, NaN = unknown, and a teacher's distribution; None if both are unknown.
fn target(
    value: f32,
    teacher: Option<&[f32; BUCKETS]>,
    buckets: &Buckets,
    trust: f32,
) -> Option<[f32; BUCKETS]> {
    match teacher {
        Some(teacher) if value.is_finite() => {
            let labelled = buckets.target(value);
            Some(std::array::from_fn(|b| blend(labelled[b], teacher[b], trust)))
        }
        Some(teacher) => Some(*teacher),
        None => value.is_finite().then(|| *buckets.target(value)),
    }
}

/// The targets of an example's moves, `[moves]`, in order; None where unknown.
pub fn action_targets(
    example: &Example,
    buckets: &Buckets,
    config: &LossConfig,
) -> impl Iterator<Item = Option<[f32; BUCKETS]>> {
    (0..example.moves.len()).map(move |m| {
        let value = example.action_values.get(m).copied().unwrap_or(f32::NAN);
        let teacher = example.teacher.as_ref().and_then(|teacher| teacher.actions.get(m));
        target(value, teacher, buckets, config.trust)
    })
}

/// The target of an example's win probability; None if unknown.
#[must_use]
pub fn value_target(
    example: &Example,
    buckets: &Buckets,
    config: &LossConfig,
) -> Option<[f32; BUCKETS]> {
    let teacher = example.teacher.as_ref().map(|teacher| &teacher.value);
    target(example.value, teacher, buckets, config.trust)
}

/// Action values: cross-entropy of each move's 64 buckets, `[moves, 64]`, against the bucketed value of the move
/// (paper 000, section 2; [`Buckets`] for one-hot and HL-Gauss), averaged over the moves whose value is known.
/// None if no value is known.
pub(super) fn action_values(
    at: &mut PositionMoves<'_>,
    buckets: &Buckets,
    config: &LossConfig,
    weight: f32,
) -> Option<f64> {
    let known = at.example.known_actions();
    if known == 0 {
        return None;
    }
    let mut sum = 0.0;
    for (m, target) in at.moves.clone().zip(action_targets(at.example, buckets, config)) {
        if let Some(target) = target {
            let row = m * BUCKETS..(m + 1) * BUCKETS;
            let grad = &mut at.grads.actions[row.clone()];
            let logits = &at.activations.logits.actions[row];
            sum += bucket_entropy(logits, &target, weight / known as f32, grad);
        }
    }
    Some(sum / known as f64)
}

/// Choice: cross-entropy of a softmax over the moves of `mean action value / choice_temperature`, `[moves]`, against
/// the policy's target (ours). Adds to the action values' gradient. None without a label or a weight.
///
/// Each move's own cross-entropy is minimised by the mean value of such moves; the order of two close moves is
/// a small part of it. This loss is only about the order.
pub(super) fn choice(at: &mut PositionMoves<'_>, config: &LossConfig, weight: f32) -> Option<f64> {
    if config.choice <= 0.0 {
        return None;
    }
    let target = policy::target(at.example, config);
    if target.is_empty() {
        return None;
    }
    let rows = at.moves.start * BUCKETS..at.moves.end * BUCKETS;
    let mut shares = at.activations.logits.actions[rows.clone()].to_vec();
    ops::softmax64(Isa::found(), &mut shares);
    let mean = |row: &[f32]| ops::dot(Isa::found(), row, &CENTRES);
    let means: Vec<f32> = shares.chunks_exact(BUCKETS).map(mean).collect();
    let logits: Vec<f32> = means.iter().map(|mean| mean / config.choice_temperature).collect();
    let mut slopes = vec![0.0; logits.len()];
    let loss = cross_entropy(&logits, &target, weight / config.choice_temperature, &mut slopes);
    let grads = at.grads.actions[rows].chunks_exact_mut(BUCKETS);
    let moves = shares.chunks_exact(BUCKETS).zip(means.iter().zip(&slopes));
    for (grad, (shares, (mean, slope))) in grads.zip(moves) {
        for ((grad, share), centre) in grad.iter_mut().zip(shares).zip(&CENTRES) {
            *grad += slope * share * (centre - mean);
        }
    }
    Some(loss)
}

/// Value: cross-entropy of the state's 64 buckets, `[64]`, against the bucketed value (paper 001, section 3,
/// L_SV; paper 000 uses the same buckets for moves). None if the value is unknown.
pub(super) fn value(
    at: &mut PositionMoves<'_>,
    buckets: &Buckets,
    config: &LossConfig,
    weight: f32,
) -> Option<f64> {
    let row = at.p * BUCKETS..(at.p + 1) * BUCKETS;
    value_target(at.example, buckets, config).map(|target| {
        let logits = &at.activations.logits.value[row.clone()];
        bucket_entropy(logits, &target, weight, &mut at.grads.value[row])
    })
}

/// Result: cross-entropy of lost, drawn and won, `[3]`, against how the game ended for the side to move (paper
/// 004's z, as three classes). None if the result is unknown.
pub(super) fn result(at: &mut PositionMoves<'_>, weight: f32) -> Option<f64> {
    let row = at.p * RESULTS..(at.p + 1) * RESULTS;
    at.example.result.map(|result| {
        let target: [f32; RESULTS] = one_hot(result.class());
        let grad = &mut at.grads.result[row.clone()];
        cross_entropy(&at.activations.logits.result[row], &target, weight, grad)
    })
}

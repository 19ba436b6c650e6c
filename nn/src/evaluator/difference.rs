//! Differences between two evaluators of one network: the acceptance test of coarser arithmetic.

use super::Evaluator;
use super::error::EvalError;
use super::query::{Evaluation, Query};
use crate::encode::canonical_moves;
use crate::numeric::argmax;
use shakmaty::{Chess, Position};

/// Largest difference from the CPU's answers that a device's rounding may make to any probability or value. On an
/// H200 bf16 changed the bundled network's by 0.014 at most; tf32 rounds less.
pub(super) const CLOSE: f32 = 0.06;

/// Differences between the answers of two evaluators on positions of a made-up game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    /// Largest difference of a probability or value.
    pub most: f32,
    /// RMS difference.
    pub mean: f32,
    /// Largest margin by which the first evaluator's policy prefers its own best move to the second's.
    pub preference: f32,
}

impl Difference {
    /// Acceptance limits of int8: rounding errors like those of a network that trains and plays as well,
    /// without a changed best move.
    pub(super) fn is_rounding(self) -> bool {
        self.most <= 0.15 && self.mean <= 0.02 && self.preference <= 0.1
    }
}

/// Evaluates both.
///
/// # Errors
/// One of them fails.
pub(super) fn difference(a: &dyn Evaluator, b: &dyn Evaluator) -> Result<Difference, EvalError> {
    Ok(between(&answers(a, usize::MAX)?, &answers(b, usize::MAX)?))
}

/// Answers for 16 positions of a made-up game, `batch` at a time.
///
/// # Errors
/// The evaluator fails.
pub(super) fn answers(
    evaluator: &dyn Evaluator,
    batch: usize,
) -> Result<Vec<Evaluation>, EvalError> {
    let mut position = Chess::default();
    let mut positions = Vec::new();
    for i in 0..16 {
        let legal = canonical_moves(&position).to_vec();
        let Some(&next) = legal.get((i * 7 + 3) % legal.len().max(1)) else { break };
        positions.push((position.clone(), legal));
        position.play_unchecked(next);
    }
    let queries: Vec<Query<'_>> =
        positions.iter().map(|(position, legal)| Query { position, legal }).collect();
    let answers: Result<Vec<_>, _> = queries
        .chunks(batch.min(queries.len()).max(1))
        .map(|part| evaluator.evaluate(part))
        .collect();
    Ok(answers?.into_iter().flatten().collect())
}

/// Differences between answers to the same positions.
pub(super) fn between(a: &[Evaluation], b: &[Evaluation]) -> Difference {
    let pairs = || a.iter().zip(b);
    let squares: Vec<f32> = pairs().flat_map(|(a, b)| gaps(a, b)).map(|gap| gap * gap).collect();
    let preference = |(a, b): (&Evaluation, &Evaluation)| {
        let best = |e: &Evaluation| argmax(&e.policy).and_then(|i| a.policy.get(i)).copied();
        best(a).unwrap_or(0.0) - best(b).unwrap_or(0.0)
    };
    Difference {
        most: pairs().map(|(a, b)| max_difference(a, b)).fold(0.0, f32::max),
        mean: (squares.iter().sum::<f32>() / squares.len().max(1) as f32).sqrt(),
        preference: pairs().map(preference).fold(0.0, f32::max),
    }
}

/// The largest difference between two answers to one query.
pub(super) fn max_difference(a: &Evaluation, b: &Evaluation) -> f32 {
    gaps(a, b).into_iter().fold(0.0, f32::max)
}

/// Difference of each probability and value.
fn gaps(a: &Evaluation, b: &Evaluation) -> Vec<f32> {
    let all = |e: &Evaluation| {
        let fixed = [e.wdl[0], e.wdl[1], e.wdl[2], e.value];
        [&fixed[..], &e.action_values, &e.policy].concat()
    };
    all(a).iter().zip(&all(b)).map(|(a, b)| (a - b).abs()).collect()
}

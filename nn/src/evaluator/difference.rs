//! How far two evaluators of one network are apart: what coarser arithmetic must show before it is used.

use super::Evaluator;
use super::error::EvalError;
use super::query::{Evaluation, Query};
use crate::encode::canonical_moves;
use crate::numeric::argmax;
use shakmaty::{Chess, Position};

/// Largest difference that bf16 may make to any probability or value: more, and single precision computes.
/// The bundled network's answers change by 0.02 at most.
pub(super) const CLOSE: f32 = 0.06;

/// How the answers of two evaluators differ, on positions of a made-up game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    /// The largest difference of a probability or a value.
    pub most: f32,
    /// The root of the mean squared difference.
    pub mean: f32,
    /// The most that the first evaluator's policy prefers its own best move to the second's.
    pub preference: f32,
}

impl Difference {
    /// What 8 bits may do to answers: rounding errors like those of a network that trains and plays as well,
    /// none of them a change of mind.
    pub(super) fn is_rounding(self) -> bool {
        self.most <= 0.15 && self.mean <= 0.02 && self.preference <= 0.1
    }
}

/// Asks both.
///
/// # Errors
/// One of them does not compute.
pub(super) fn difference(a: &dyn Evaluator, b: &dyn Evaluator) -> Result<Difference, EvalError> {
    Ok(between(&answers(a, usize::MAX)?, &answers(b, usize::MAX)?))
}

/// The answers to 16 positions of a made-up game, asked `batch` at a time.
///
/// # Errors
/// The evaluator does not compute.
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

/// How answers to the same positions differ.
pub(super) fn between(a: &[Evaluation], b: &[Evaluation]) -> Difference {
    let pairs = || a.iter().zip(b);
    let squares: Vec<f32> = pairs().flat_map(|(a, b)| gaps(a, b)).map(|gap| gap * gap).collect();
    let preference = |(a, b): (&Evaluation, &Evaluation)| {
        let best = |e: &Evaluation| argmax(&e.policy).and_then(|i| a.policy.get(i)).copied();
        best(a).unwrap_or(0.0) - best(b).unwrap_or(0.0)
    };
    Difference {
        most: pairs().map(|(a, b)| apart(a, b)).fold(0.0, f32::max),
        mean: (squares.iter().sum::<f32>() / squares.len().max(1) as f32).sqrt(),
        preference: pairs().map(preference).fold(0.0, f32::max),
    }
}

/// The largest difference between two answers to one query.
pub(super) fn apart(a: &Evaluation, b: &Evaluation) -> f32 {
    gaps(a, b).into_iter().fold(0.0, f32::max)
}

/// By how much each probability and value differs.
fn gaps(a: &Evaluation, b: &Evaluation) -> Vec<f32> {
    let all = |e: &Evaluation| {
        let fixed = [e.wdl[0], e.wdl[1], e.wdl[2], e.value];
        [&fixed[..], &e.action_values, &e.policy].concat()
    };
    all(a).iter().zip(&all(b)).map(|(a, b)| (a - b).abs()).collect()
}

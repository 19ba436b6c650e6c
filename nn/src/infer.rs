//! From a position to an [`Evaluation`]: the CPU evaluator, and how logits become probabilities.

use crate::checkpoint::Network;
use crate::cpu::{Activations, Heads, Weights, forward, ops};
use crate::encode::Item;
use crate::encode::{Features, MoveCode};
use crate::evaluator::{EvalError, Evaluation, Evaluator, Query};
use crate::net::{BUCKETS, Layout};
use crate::precision::Arithmetic;
use crate::transition::Transition;
use shakmaty::Position;
use std::cell::RefCell;
use std::ops::Range;

/// Positions that go through the layers together: few enough to stay near the core.
pub(crate) const GROUP: usize = 4;

/// Evaluates on the calling thread with the hand-written kernels. Each thread keeps its own scratch,
/// so any number may ask at once and none waits for another.
pub struct CpuEvaluator {
    pub(crate) layout: Layout,
    pub(crate) weights: Weights,
}

thread_local! {
    static ACTIVATIONS: RefCell<Activations> = RefCell::default();
}

impl CpuEvaluator {
    #[must_use]
    pub fn new(network: &Network, arithmetic: Arithmetic) -> CpuEvaluator {
        CpuEvaluator { layout: network.layout.clone(), weights: network.weights(arithmetic) }
    }
}

impl Evaluator for CpuEvaluator {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        let mut answers = Vec::with_capacity(batch.len());
        ACTIVATIONS.with_borrow_mut(|activations| {
            for group in batch.chunks(GROUP) {
                let inputs: Vec<(Features, Vec<MoveCode>)> = group.iter().map(encode).collect();
                let items: Vec<Item<'_>> =
                    inputs.iter().map(|(features, moves)| Item { features, moves }).collect();
                forward(&self.layout, &self.weights, &items, Heads::Play, false, activations);
                let mut first = 0;
                for (p, item) in items.iter().enumerate() {
                    let moves = first..first + item.moves.len();
                    first = moves.end;
                    answers.push(evaluation(activations, moves, p)?);
                }
            }
            Ok(answers)
        })
    }

    fn preferred_batch(&self) -> usize {
        GROUP
    }

    fn batches(&self) -> &[usize] {
        &[1, 2, GROUP, 2 * GROUP, 4 * GROUP]
    }

    fn transition(&self) -> Option<&dyn Transition> {
        Some(self)
    }
}

/// The opinion of position `p` and its `moves` after a pass.
pub(crate) fn evaluation(
    activations: &Activations,
    moves: Range<usize>,
    p: usize,
) -> Result<Evaluation, EvalError> {
    answer(
        &activations.policy[moves.clone()],
        &activations.actions[moves.start * BUCKETS..moves.end * BUCKETS],
        &activations.value[p * BUCKETS..][..BUCKETS],
        &activations.result[p * 3..][..3],
    )
}

/// What the network sees of a query.
#[must_use]
pub fn encode(query: &Query<'_>) -> (Features, Vec<MoveCode>) {
    let flip = query.position.turn().is_black();
    let moves = query.legal.iter().filter_map(|m| MoveCode::new(*m, flip)).collect();
    (Features::of(query.position), moves)
}

/// Softmax of a few logits.
pub(crate) fn softmax(logits: &[f32]) -> Vec<f32> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut p: Vec<f32> = logits.iter().map(|x| (x - top).exp()).collect();
    let total: f32 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= total);
    p
}

fn bucket_centre(bucket: usize) -> f32 {
    (bucket as f32 + 0.5) / BUCKETS as f32
}

/// Mean over the buckets of a softmaxed row.
fn mean(row: &[f32]) -> f32 {
    row.iter().enumerate().map(|(i, p)| p * bucket_centre(i)).sum()
}

/// Centre of a row's largest entry.
fn mode(row: &[f32]) -> f32 {
    let (best, _) =
        row.iter().enumerate().fold((0, f32::MIN), |a, (i, &x)| if x > a.1 { (i, x) } else { a });
    bucket_centre(best)
}

/// One position's answer from the heads' logits: `policy` `[m]`, `actions` `[m, 64]`, `value` `[64]`,
/// `result` `[3]` (lost, drawn, won).
///
/// # Errors
/// The head whose logits hold NaN or infinity; no moves.
pub fn answer(
    policy: &[f32],
    actions: &[f32],
    value: &[f32],
    result: &[f32],
) -> Result<Evaluation, EvalError> {
    for (name, logits) in
        [("policy", policy), ("action-value", actions), ("value", value), ("result", result)]
    {
        if !logits.iter().all(|x| x.is_finite()) {
            return Err(EvalError::NotANumber(name));
        }
    }
    if policy.is_empty() {
        return Err(EvalError::NoMoves);
    }
    let mut rows = actions.to_vec();
    ops::softmax64(&mut rows);
    let mut board = value.to_vec();
    ops::softmax64(&mut board);
    let result = softmax(result);
    Ok(Evaluation {
        wdl: [result[2], result[1], result[0]],
        value: mean(&board),
        value_mode: mode(&board),
        action_values: rows.chunks_exact(BUCKETS).map(mean).collect(),
        action_modes: rows.chunks_exact(BUCKETS).map(mode).collect(),
        policy: softmax(policy),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::canonical_moves;
    use crate::net::NetConfig;
    use shakmaty::Chess;

    #[test]
    fn batch_size_never_changes_an_answer() {
        let evaluator =
            CpuEvaluator::new(&Network::new(&NetConfig::default(), 1), Arithmetic::Single);
        let mut positions = vec![Chess::default()];
        for i in 0..6 {
            let mut next = positions[i].clone();
            next.play_unchecked(canonical_moves(&next)[i * 3]);
            positions.push(next);
        }
        let legal: Vec<_> = positions.iter().map(canonical_moves).collect();
        let queries: Vec<Query<'_>> = positions
            .iter()
            .zip(&legal)
            .map(|(position, legal)| Query { position, legal })
            .collect();
        let together = evaluator.evaluate(&queries).unwrap();
        for (query, answer) in queries.iter().zip(&together) {
            let alone = evaluator.evaluate(&[*query]).unwrap();
            assert!((alone[0].value - answer.value).abs() < 1e-5);
            assert!((answer.policy.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            assert_eq!(answer.action_values.len(), query.legal.len());
        }
    }

    /// Where the CPU has no bf16, both are the same answer.
    #[test]
    fn bf16_answers_nearly_as_single_precision() {
        let network =
            Network::from_bytes(include_bytes!("../../assets/mavka.safetensors")).unwrap();
        let position = Chess::default();
        let legal = canonical_moves(&position);
        let query = [Query { position: &position, legal: &legal }];
        let [single, half] = [Arithmetic::Single, Arithmetic::Bf16]
            .map(|arithmetic| CpuEvaluator::new(&network, arithmetic).evaluate(&query).unwrap());
        let near = |a: f32, b: f32| assert!((a - b).abs() < 0.02, "{a} against {b}");
        near(single[0].value, half[0].value);
        single[0].policy.iter().zip(&half[0].policy).for_each(|(a, b)| near(*a, *b));
        let values = single[0].action_values.iter().zip(&half[0].action_values);
        values.for_each(|(a, b)| near(*a, *b));
    }

    #[test]
    fn mean_and_mode_are_two_summaries_of_one_distribution() {
        // Nine parts in ten far up, one part spread over the bottom: e^x of the logits.
        let mut row = [-1000.0; BUCKETS];
        (row[60], row[2]) = (9.0_f32.ln(), 0.0);
        let level = [0.0; 3];
        let rows = [row, {
            row.reverse();
            row
        }]
        .concat();
        let answer = answer(&[0.0, 0.0], &rows, &row, &level).unwrap();
        let (high, low) = (60.5 / 64.0, 2.5 / 64.0);
        let near = |a: f32, b: f32| (a - b).abs() < 1e-5;
        assert!(near(answer.action_values[0], 0.9 * high + 0.1 * low));
        assert!(near(answer.action_values[1], 1.0 - answer.action_values[0]));
        assert_eq!(answer.action_modes, [high, 1.0 - high]);
        assert_eq!(answer.value_mode, 1.0 - high);
        assert!(near(answer.value, answer.action_values[1]));
    }

    #[test]
    fn a_head_that_answers_no_number_is_named() {
        let mut network = Network::new(&NetConfig::default(), 1);
        let start = network.layout.value_buckets.bias.start;
        network.values[start] = f32::NAN;
        let position = Chess::default();
        let legal = canonical_moves(&position);
        let answer = CpuEvaluator::new(&network, Arithmetic::Single)
            .evaluate(&[Query { position: &position, legal: &legal }]);
        assert_eq!(answer, Err(EvalError::NotANumber("value")));
    }
}

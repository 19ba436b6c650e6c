//! Holds a network against labelled examples.

use crate::cpu::{Activations, Heads, forward};
use crate::data::Example;
use crate::encode::Item;
use crate::evaluator::EvalError;
use crate::imagine;
use crate::infer::{CpuEvaluator, answer};
use crate::metrics::{Answer, Metrics};
use crate::net::BUCKETS;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Examples a thread takes at a time.
const GROUP: usize = 4;

/// Judges all examples with `threads` threads, calling `done` with the number of each finished group.
///
/// # Errors
/// A head answered something that is no number, or a thread broke down.
pub fn assess(
    evaluator: &CpuEvaluator,
    examples: &[Example],
    threads: usize,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Metrics, EvalError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut judge = Judge {
            evaluator,
            activations: Activations::default(),
            again: Activations::default(),
            metrics: Metrics::default(),
        };
        loop {
            // Relaxed: only the number is shared.
            let first = next.fetch_add(GROUP, Ordering::Relaxed);
            let group = examples.get(first..examples.len().min(first + GROUP)).unwrap_or_default();
            if group.is_empty() {
                return Ok(judge.metrics);
            }
            judge.group(group)?;
            done(group.len());
        }
    };
    let parts: Vec<Result<Metrics, EvalError>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        // A part that is missing would make all numbers wrong without a word.
        let broken = |_| Err(EvalError::Device("a thread of the assessment broke down".to_owned()));
        running.into_iter().map(|thread| thread.join().unwrap_or_else(broken)).collect()
    });
    let mut metrics = Metrics::default();
    for part in parts {
        metrics.merge(&part?);
    }
    Ok(metrics)
}

/// One thread's.
struct Judge<'a> {
    evaluator: &'a CpuEvaluator,
    activations: Activations,
    /// Scratch for what is asked a second time.
    again: Activations,
    metrics: Metrics,
}

impl Judge<'_> {
    fn group(&mut self, group: &[Example]) -> Result<(), EvalError> {
        let items: Vec<Item<'_>> =
            group.iter().map(|e| Item { features: &e.features, moves: &e.moves }).collect();
        let CpuEvaluator { layout, weights } = self.evaluator;
        forward(layout, weights, &items, Heads::All, false, &mut self.activations);
        let mut start = 0;
        for (p, example) in group.iter().enumerate() {
            self.example(p, start, example)?;
            start += example.moves.len();
        }
        Ok(())
    }

    /// Takes in position `p` of the last pass, whose moves begin at `start`.
    fn example(&mut self, p: usize, start: usize, example: &Example) -> Result<(), EvalError> {
        let (CpuEvaluator { layout, weights }, activations) = (self.evaluator, &self.activations);
        let logits = (layout, activations);
        let legal = imagine::legal_moves(&logits, p);
        let next = example.next.as_ref().map(|_| imagine::next_board(&logits, p));
        let mut judged = Answer {
            legal: Some(&legal),
            terminal: Some(imagine::terminal(&logits, p)),
            next: next.as_ref(),
            ..Answer::default()
        };
        if example.moves.is_empty() {
            self.metrics.add(example, &judged);
            return Ok(());
        }
        let moves = start..start + example.moves.len();
        let policy = &activations.policy[moves.clone()];
        let evaluation = answer(
            policy,
            &activations.actions[moves.start * BUCKETS..moves.end * BUCKETS],
            &activations.value[p * BUCKETS..][..BUCKETS],
            &activations.result[p * 3..][..3],
        )?;
        let known = (example.moves.as_slice(), policy);
        judged.choice =
            imagine::choice((layout, weights), &example.features, &legal, known, &mut self.again);
        judged.policy = &evaluation.policy;
        judged.action_values = &evaluation.action_values;
        judged.value = Some(evaluation.value);
        self.metrics.add(example, &judged);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Network;
    use crate::data::boards::{random_boards, unlabelled, unlabelled_action};
    use crate::encode::canonical_moves;
    use crate::net::NetConfig;
    use crate::precision::Arithmetic;

    fn evaluator(network: &Network) -> CpuEvaluator {
        CpuEvaluator::new(network, Arithmetic::Single)
    }

    fn examples() -> Vec<Example> {
        let boards = random_boards(7, 1);
        let states = boards.iter().map(|board| unlabelled(board, None));
        let actions =
            boards.iter().map(|board| unlabelled_action(board, canonical_moves(board)[0]));
        states.chain(actions.flatten()).collect()
    }

    #[test]
    fn threads_change_no_sum() {
        let network = Network::new(&NetConfig::default(), 1);
        let examples = examples();
        let told = AtomicUsize::new(0);
        let done = |n| {
            told.fetch_add(n, Ordering::Relaxed);
        };
        let one = assess(&evaluator(&network), &examples, 1, &done).expect("numbers");
        let three = assess(&evaluator(&network), &examples, 3, &done).expect("numbers");
        assert_eq!(told.into_inner(), 2 * examples.len());
        for (one, three) in one.rows().iter().zip(three.rows()) {
            assert_eq!(one.count, three.count, "{}", one.name);
            let difference = one.value.unwrap_or(0.0) - three.value.unwrap_or(0.0);
            assert!(difference.abs() < 1e-9, "{}", one.name);
        }
        assert_eq!((one.terminal.count(), one.next_exact.count()), (14, 7));
        assert_eq!((one.policy_top[0].count(), one.value_error.count()), (0, 0));
    }

    #[test]
    fn an_answer_that_is_no_number_is_an_error() {
        let mut network = Network::new(&NetConfig::default(), 1);
        let start = network.layout.value_buckets.bias.start;
        network.values[start] = f32::NAN;
        assert_eq!(
            assess(&evaluator(&network), &examples(), 2, &|_| ()),
            Err(EvalError::NotANumber("value"))
        );
    }
}

//! Measures a network on labelled examples.

use crate::data::Example;
use crate::metrics::{Answer, Metrics};
use nn::cpu::{Activations, Heads, forward};
use nn::device::guarded;
use nn::encode::{Features, Item, MoveCode};
use nn::evaluator::EvalError;
use nn::evaluator::cpu::{CpuEvaluator, evaluation_at};
use nn::evaluator::world_model::{self, legal_moves};
use nn::numeric::argmax;
use rayon::ThreadPoolBuilder;
use rayon::iter::{ParallelBridge, ParallelIterator};
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

/// Examples per task.
const GROUP: usize = 4;

/// Measures `evaluator` on the examples with `threads` threads, calling `done` with the size of each finished
/// group. Once `stop` is set no further group starts: the sums are those of the finished ones.
///
/// # Errors
/// A head answered NaN or infinity, or a thread failed or could not be started.
pub fn assess(
    evaluator: &CpuEvaluator,
    examples: &[Example],
    threads: usize,
    stop: &AtomicBool,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Metrics, EvalError> {
    let broken = |error: &dyn Display| {
        EvalError::Device(format!("a thread of the assessment broke down: {error}"))
    };
    let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    let pool = pool.map_err(|error| broken(&error))?;
    let work = || {
        // A bridge hands out groups on demand: one thread takes them in order, so that its sums are
        // bit-identical.
        let groups = examples.chunks(GROUP).take_while(|_| !stop.load(Ordering::Relaxed));
        let groups = groups.par_bridge();
        let parts = groups.try_fold(
            || Assessor::new(evaluator),
            |mut assessor, group| {
                assessor.group(group)?;
                done(group.len());
                Ok(assessor)
            },
        );
        let parts = parts.map(|part: Result<_, EvalError>| part.map(|part| part.metrics));
        parts.try_reduce(Metrics::default, |mut sum, part| {
            sum.merge(&part);
            Ok(sum)
        })
    };
    // A missing part would silently corrupt all numbers.
    guarded(|| pool.install(work)).map_err(|error| broken(&error))?
}

/// State of one thread.
struct Assessor<'a> {
    evaluator: &'a CpuEvaluator,
    activations: Activations,
    /// Scratch of second passes.
    again: Activations,
    metrics: Metrics,
}

impl<'a> Assessor<'a> {
    fn new(evaluator: &'a CpuEvaluator) -> Assessor<'a> {
        Assessor {
            evaluator,
            activations: Activations::default(),
            again: Activations::default(),
            metrics: Metrics::default(),
        }
    }

    fn group(&mut self, group: &[Example]) -> Result<(), EvalError> {
        let items: Vec<Item<'_>> = group.iter().map(Example::item).collect();
        let CpuEvaluator { layout, weights } = self.evaluator;
        forward(layout, weights, &items, Heads::All, false, &mut self.activations);
        let mut start = 0;
        for (p, example) in group.iter().enumerate() {
            self.example(p, start, example)?;
            start += example.moves.len();
        }
        Ok(())
    }

    /// Adds position `p` of the last pass, whose moves begin at `start`.
    fn example(&mut self, p: usize, start: usize, example: &Example) -> Result<(), EvalError> {
        let activations = &self.activations;
        let logits = (&self.evaluator.layout, activations);
        let legal = legal_moves(&logits, p);
        let next = example.next.as_ref().map(|_| world_model::next_board(&logits, p));
        let mut judged = Answer {
            legal: Some(&legal),
            terminal: Some(world_model::terminal(&logits, p)),
            next: next.as_ref(),
            ..Answer::default()
        };
        if example.moves.is_empty() {
            self.metrics.add(example, &judged);
            return Ok(());
        }
        let moves = start..start + example.moves.len();
        let policy = &activations.logits.policy[moves.clone()];
        let evaluation =
            evaluation_at(self.evaluator.weights.isa(), activations, moves.clone(), p)?;
        let known = ScoredMoves { moves: &example.moves, policy };
        judged.choice = choice(self.evaluator, &example.features, &legal, known, &mut self.again);
        judged.policy = &evaluation.policy;
        judged.action_values = &evaluation.action_values;
        judged.value = Some(evaluation.value);
        self.metrics.add(example, &judged);
        Ok(())
    }
}

/// Moves that the network has already scored.
struct ScoredMoves<'a> {
    moves: &'a [MoveCode],
    /// Their policy logits.
    policy: &'a [f32],
}

/// The policy's best move among `found`, the moves predicted as legal by [`legal_moves`]: the network's choice
/// without the rules. None if it found none. The network runs again only if `found` has moves that are not
/// `known`.
fn choice(
    evaluator: &CpuEvaluator,
    features: &Features,
    found: &[MoveCode],
    known: ScoredMoves<'_>,
    scratch: &mut Activations,
) -> Option<MoveCode> {
    let of = |m: &MoveCode| {
        known.moves.iter().position(|other| other == m).and_then(|i| known.policy.get(i))
    };
    let scores: Option<Vec<f32>> = found.iter().map(|m| of(m).copied()).collect();
    let scores = scores.unwrap_or_else(|| {
        let item = Item { features, moves: found };
        forward(&evaluator.layout, &evaluator.weights, &[item], Heads::Play, false, scratch);
        scratch.logits.policy.clone()
    });
    found.get(argmax(&scores)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::boards::{random_boards, unlabelled, unlabelled_action};
    use crate::data::testing::position;
    use nn::checkpoint::Network;
    use nn::encode::canonical_moves;
    use nn::net::NetConfig;
    use nn::precision::Arithmetic;
    use std::sync::atomic::AtomicUsize;

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
        let reported = AtomicUsize::new(0);
        let done = |n| {
            reported.fetch_add(n, Ordering::Relaxed);
        };
        let go_on = AtomicBool::new(false);
        let one = assess(&evaluator(&network), &examples, 1, &go_on, &done).expect("numbers");
        let three = assess(&evaluator(&network), &examples, 3, &go_on, &done).expect("numbers");
        assert_eq!(reported.into_inner(), 2 * examples.len());
        for (one, three) in one.rows().iter().zip(three.rows()) {
            assert_eq!(one.count, three.count, "{}", one.name);
            let difference = one.value.unwrap_or(0.0) - three.value.unwrap_or(0.0);
            assert!(difference.abs() < 1e-9, "{}", one.name);
        }
        assert_eq!((one.terminal.count(), one.next_exact.count()), (14, 7));
        assert_eq!((one.policy_top[0].count(), one.value_error.count()), (0, 0));
    }

    #[test]
    fn a_flag_ends_it_with_what_it_has() {
        let network = Network::new(&NetConfig::default(), 1);
        let stop = AtomicBool::new(false);
        let done = |_| stop.store(true, Ordering::Relaxed);
        let some = assess(&evaluator(&network), &examples(), 1, &stop, &done).expect("numbers");
        let none = assess(&evaluator(&network), &examples(), 1, &stop, &done).expect("numbers");
        assert_eq!((some.terminal.count(), none.terminal.count()), (GROUP as u64, 0));
    }

    #[test]
    fn a_nan_answer_is_an_error() {
        let mut network = Network::new(&NetConfig::default(), 1);
        let start = network.layout.value_buckets.bias.start;
        network.values[start] = f32::NAN;
        assert_eq!(
            assess(&evaluator(&network), &examples(), 2, &AtomicBool::new(false), &|_| ()),
            Err(EvalError::NotANumber("value"))
        );
    }

    #[test]
    fn unscored_moves_are_scored() {
        let network = Network::new(&NetConfig::default(), 3);
        let state = position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1");
        let features = Features::of(&state);
        let legal: Vec<MoveCode> =
            canonical_moves(&state).iter().filter_map(|&m| MoveCode::new(m, false)).collect();
        let mut activations = Activations::default();
        let item = Item { features: &features, moves: &legal };
        let evaluator = evaluator(&network);
        let CpuEvaluator { layout, weights } = &evaluator;
        forward(layout, weights, &[item], Heads::All, false, &mut activations);
        let policy = activations.logits.policy.clone();
        let best = argmax(&policy).map(|index| legal[index]);
        let mut pick = |found: &[MoveCode], known: &[MoveCode], policy: &[f32]| {
            choice(
                &evaluator,
                &features,
                found,
                ScoredMoves { moves: known, policy },
                &mut activations,
            )
        };
        assert_eq!(pick(&legal, &legal, &policy), best);
        assert_eq!(pick(&legal, &[], &[]), best, "the same without any known move");
        assert_eq!(pick(&[], &legal, &policy), None);
        let invented = MoveCode { from: 30, to: 31, promotion: 0 };
        assert_eq!(pick(&[invented], &legal, &policy), Some(invented));
        let mut both = legal.clone();
        both.push(invented);
        let chosen = pick(&both, &legal, &policy);
        assert!(chosen == best || chosen == Some(invented));
    }
}

//! Holds a network against labelled examples.

use crate::checkpoint::Network;
use crate::cpu::{Heads, Item, Trace, forward};
use crate::data::Example;
use crate::evaluator::EvalError;
use crate::imagine;
use crate::infer::answer;
use crate::metrics::{Answer, Metrics};
use crate::net::{BUCKETS, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Examples a thread takes at a time.
const GROUP: usize = 4;

/// Judges all examples with `threads` threads, calling `done` with the number of each finished group.
///
/// # Errors
/// A head answered something that is no number.
pub fn assess(
    network: &Network,
    examples: &[Example],
    threads: usize,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Metrics, EvalError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut trace, mut metrics) = (Trace::default(), Metrics::default());
        loop {
            // Relaxed: only the number is shared.
            let first = next.fetch_add(GROUP, Ordering::Relaxed);
            let group = examples.get(first..examples.len().min(first + GROUP)).unwrap_or_default();
            if group.is_empty() {
                return Ok(metrics);
            }
            let items: Vec<Item<'_>> =
                group.iter().map(|e| Item { features: &e.features, moves: &e.moves }).collect();
            forward(&network.layout, &network.values, &items, Heads::All, false, &mut trace);
            let mut start = 0;
            for (p, example) in group.iter().enumerate() {
                judge(&network.layout, &trace, p, start, example, &mut metrics)?;
                start += example.moves.len();
            }
            done(group.len());
        }
    };
    let parts: Vec<Result<Metrics, EvalError>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut metrics = Metrics::default();
    for part in parts {
        metrics.merge(&part?);
    }
    Ok(metrics)
}

/// Takes in position `p` of a pass, whose moves begin at `start`.
fn judge(
    layout: &Layout,
    trace: &Trace,
    p: usize,
    start: usize,
    example: &Example,
    metrics: &mut Metrics,
) -> Result<(), EvalError> {
    let legal = imagine::legal_moves(layout, trace, p);
    let next = example.next.as_ref().map(|_| imagine::next_board(layout, trace, p));
    let mut judged = Answer {
        legal: Some(&legal),
        terminal: Some(imagine::terminal(trace, p)),
        next: next.as_ref(),
        ..Answer::default()
    };
    if example.moves.is_empty() {
        metrics.add(example, &judged);
        return Ok(());
    }
    let moves = start..start + example.moves.len();
    let evaluation = answer(
        &trace.policy[moves.clone()],
        &trace.actions[moves.start * BUCKETS..moves.end * BUCKETS],
        &trace.value[p * BUCKETS..][..BUCKETS],
        &trace.result[p * 3..][..3],
    )?;
    judged.policy = &evaluation.policy;
    judged.action_values = &evaluation.action_values;
    judged.value = Some(evaluation.value);
    metrics.add(example, &judged);
    Ok(())
}

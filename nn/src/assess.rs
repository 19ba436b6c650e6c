//! Holds a network against labelled examples: one [`Judgement`] each, for [`crate::metrics`] to sum up.

use crate::checkpoint::Network;
use crate::cpu::{Heads, Item, Trace, forward};
use crate::data::{Example, Source};
use crate::evaluator::EvalError;
use crate::infer::answer;
use crate::net::{BUCKETS, Layout, TOKENS};
use std::sync::atomic::{AtomicUsize, Ordering};

const GROUP: usize = 4;

/// How the network did on one example.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub source: Source,
    /// The example was of the form `MAV(s, a)`.
    pub action: bool,
    /// How many moves the policy, and the action values, put before the labelled best (0 = hit).
    pub policy_rank: Option<usize>,
    pub action_rank: Option<usize>,
    /// Win probability given away by the policy's and by the action values' choice; only where all
    /// values are known.
    pub policy_regret: Option<f32>,
    pub action_regret: Option<f32>,
    /// Action values as predicted and as labelled; only where all are known.
    pub action_values: Option<(Vec<f32>, Vec<f32>)>,
    /// Value as predicted and as labelled.
    pub value: Option<(f32, f32)>,
    /// Pairs (from, to): rightly called legal, wrongly called legal, missed.
    pub legality: (u32, u32, u32),
    /// All 64 squares, castling rooks and en passant right; only for `MAV(s, a)`.
    pub next_exact: Option<bool>,
}

/// Judges all examples with `threads` threads; order kept.
///
/// # Errors
/// A head answered something that is no number.
pub fn assess(network: &Network, examples: &[Example], threads: usize) -> Result<Vec<Judgement>, EvalError> {
    let next = AtomicUsize::new(0);
    let (layout, values, next) = (&network.layout, &network.values, &next);
    type Part = Result<Vec<(usize, Judgement)>, EvalError>;
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let work = move || {
            let (mut trace, mut judged) = (Trace::default(), Vec::new());
            loop {
                // Relaxed: only the number is shared.
                let first = next.fetch_add(GROUP, Ordering::Relaxed);
                let Some(group) = examples.get(first..examples.len().min(first + GROUP)) else { break };
                if group.is_empty() {
                    break;
                }
                let items: Vec<Item<'_>> =
                    group.iter().map(|e| Item { features: &e.features, moves: &e.moves }).collect();
                forward(layout, values, &items, Heads::All, false, &mut trace);
                let mut start = 0;
                for (p, example) in group.iter().enumerate() {
                    judged.push((first + p, judge(layout, &trace, p, start, example)?));
                    start += example.moves.len();
                }
            }
            Ok(judged)
        };
        let running: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut all = Vec::with_capacity(examples.len());
    for part in parts {
        all.extend(part?);
    }
    all.sort_unstable_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, judgement)| judgement).collect())
}

/// Position `p` of a pass, whose moves begin at `start`.
fn judge(layout: &Layout, trace: &Trace, p: usize, start: usize, e: &Example) -> Result<Judgement, EvalError> {
    let moves = start..start + e.moves.len();
    let mut judgement = Judgement {
        source: e.source,
        action: e.features.has_action,
        policy_rank: None,
        action_rank: None,
        policy_regret: None,
        action_regret: None,
        action_values: None,
        value: None,
        legality: legality(trace, p, e),
        next_exact: next_exact(layout, trace, p, e),
    };
    if e.moves.is_empty() {
        return Ok(judgement);
    }
    let evaluation = answer(
        &trace.policy[moves.clone()],
        &trace.actions[moves.start * BUCKETS..moves.end * BUCKETS],
        &trace.value[p * BUCKETS..][..BUCKETS],
        &trace.result[p * 3..][..3],
    )?;
    if e.value.is_finite() {
        judgement.value = Some((evaluation.value, e.value));
    }
    if let Some(best) = e.best.map(usize::from) {
        judgement.policy_rank = Some(rank(&evaluation.policy, best));
        judgement.action_rank = Some(rank(&evaluation.action_values, best));
    }
    let labels = &e.action_values;
    if labels.len() == e.moves.len() && labels.iter().all(|v| v.is_finite()) {
        let top = labels.iter().copied().fold(0.0, f32::max);
        judgement.policy_regret = Some(top - labels[first_best(&evaluation.policy)]);
        judgement.action_regret = Some(top - labels[first_best(&evaluation.action_values)]);
        judgement.action_values = Some((evaluation.action_values, labels.clone()));
    }
    Ok(judgement)
}

/// How many entries are larger than entry `index`.
fn rank(scores: &[f32], index: usize) -> usize {
    scores.iter().filter(|s| **s > scores[index]).count()
}

fn first_best(scores: &[f32]) -> usize {
    let better = |a: (usize, f32), (i, &s): (usize, &f32)| if s > a.1 { (i, s) } else { a };
    scores.iter().enumerate().fold((0, f32::MIN), better).0
}

fn legality(trace: &Trace, p: usize, e: &Example) -> (u32, u32, u32) {
    let mut legal = vec![false; TOKENS * TOKENS];
    for m in &e.moves {
        legal[usize::from(m.from) * TOKENS + usize::from(m.to)] = true;
    }
    let logits = &trace.legality[p * TOKENS * TOKENS..][..TOKENS * TOKENS];
    let mut counts = (0, 0, 0);
    for (legal, logit) in legal.into_iter().zip(logits) {
        match (legal, *logit > 0.0) {
            (true, true) => counts.0 += 1,
            (false, true) => counts.1 += 1,
            (true, false) => counts.2 += 1,
            (false, false) => {}
        }
    }
    counts
}

fn next_exact(layout: &Layout, trace: &Trace, p: usize, e: &Example) -> Option<bool> {
    let next = e.next.as_ref()?;
    Some((0..TOKENS).all(|t| {
        let (logits, _) = trace.transition(layout, p, t);
        first_best(&logits[..13]) == usize::from(next.pieces[t])
            && (0..3).all(|bit| (logits[13 + bit] > 0.0) == (next.flags[t] & (1 << bit) != 0))
    }))
}

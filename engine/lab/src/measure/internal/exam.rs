//! How well a decoder writes, unmasked: traces over made-up lists, held against the teacher's.

use super::lessons::lesson;
use engine::internal::grammar::Grammar;
use engine::internal::teacher;
use nn::EvalError;
use nn::rng::Rng;
use nn::writer::{Backup, Decoder, DecoderWeights, Shape, Trace, Writer};
use std::fmt::Write as _;
use std::sync::Arc;

/// Traces of one shape.
#[derive(Clone, Copy, Default)]
struct TraceCounts {
    traces: u64,
    /// Every word of the right kind and from the right source, but for what is selected.
    shaped: u64,
    /// Every word as the teacher's.
    exact: u64,
    words: u64,
    wrong: u64,
}

/// Breadth and depth of the trees asked for, by depth.
const SHAPES: [(u8, u8); 10] =
    [(4, 0), (2, 1), (4, 1), (5, 1), (3, 2), (4, 2), (5, 2), (3, 3), (4, 3), (5, 3)];

/// Has `weights` write the words of `traces` lessons of each shape, each word after the teacher's own words before it,
/// and answers a table.
///
/// # Errors
/// The decoder does not compute.
pub fn exam(weights: &DecoderWeights, traces: u64, seed: u64) -> Result<String, EvalError> {
    let weights = Arc::new(weights.clone());
    let mut out =
        "           shape      whole shape right   whole trace right   words wrong\n".to_owned();
    let pruned = SHAPES.into_iter().filter(|(_, depth)| *depth > 1);
    let pruned = pruned.map(|shape| (Backup::AlphaBeta, shape));
    let all = SHAPES.map(|shape| (Backup::Minimax, shape)).into_iter().chain(pruned);
    for (backup, (breadth, depth)) in all {
        let shape = Shape { breadth, depth };
        // Large trees take long, and each holds many words.
        let count = (traces * 40 / shape.nodes() as u64).clamp(10.min(traces), traces);
        let mut score = TraceCounts::default();
        let mut random = Rng::from_state(seed ^ u64::from(breadth * 8 + depth));
        for _ in 0..count {
            examine(&lesson(shape, backup, &mut random), &weights, &mut score)?;
        }
        let share = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        let _ = writeln!(
            out,
            "{:<10} ({breadth},{depth})      {:6.2} % of {:<6} {:6.2} %           {} of {}",
            backup.name(),
            share(score.shaped, score.traces),
            score.traces,
            share(score.exact, score.traces),
            score.wrong,
            score.words
        );
    }
    Ok(out)
}

/// Compares word for word.
fn examine(
    lesson: &Trace,
    weights: &Arc<DecoderWeights>,
    score: &mut TraceCounts,
) -> Result<(), EvalError> {
    let mut decoder = Decoder::new(weights.clone());
    let mut grammar = Grammar::new(lesson.shape(), lesson.backup());
    let (mut shaped, mut exact) = (true, true);
    for end in 2..lesson.words().len() {
        let trace = lesson.cut(end);
        if trace.asks_for().is_some() || !lesson.words()[end].kind.is_written() {
            continue;
        }
        if grammar.follow(&trace).is_err() {
            break;
        }
        let step = decoder.next(&trace, &[])?;
        let allowed = grammar.allowed();
        let right = teacher::step(&grammar, &trace) == Some(step);
        shaped &= allowed.iter().any(|allowed| allowed.has(step.kind, Some(step.source)));
        exact &= right;
        score.words += 1;
        score.wrong += u64::from(!right);
    }
    score.traces += 1;
    score.shaped += u64::from(shaped);
    score.exact += u64::from(exact);
    Ok(())
}

//! Training traces for the judging decoder: alpha-beta trees on positions with deep labels, with verdicts written by the
//! decoder itself and targets corrected by the annotator. Boards, lists and the written words stay as they are, or the
//! decoder would read the answer; only the targets change.
//!
//! The targets of the root's scores are the annotator's values, and the target of the choice minimises expected regret:
//! not the most probable best move, but the one that loses least on average. The decoder learns a move's value given its
//! subtree.

use super::judged::{Judged, verdict};
use super::regret::CAP;
use crate::measure::tune::labels::LabelledPosition;
use engine::chess::action::Action;
use engine::internal::boards::Boards;
use engine::internal::teacher::{Teacher, minimax, scores};
use engine::internal::think::{End, Task, think};
use nn::EvalError;
use nn::rng::Rng;
use nn::writer::word::bucket_of;
use nn::writer::{Backup, Correction, Decoder, Example, Kind, Shape, Trace, Word};

/// A tree of `shape` about `root`, judged as `judge` does now, and what it should have written. None if the trace broke.
///
/// # Errors
/// The network or the judge fails.
pub fn example(
    boards: &mut Boards<'_>,
    judge: Decoder,
    root: &LabelledPosition,
    shape: Shape,
) -> Result<Option<Example>, EvalError> {
    boards.set_root(&root.game, &[])?;
    let mut writer = Judged { tree: Teacher::default(), judge };
    let task = Task { shape, backup: Backup::Weigh, mask: true, stop: &|| false };
    let thought = think(boards, &mut writer, &task)?;
    let first = verdict(&thought.trace).filter(|_| thought.end == End::Played);
    Ok(first.map(|first| {
        let corrections = corrections(&thought.trace, first, root);
        Example { trace: thought.trace, first, corrections }
    }))
}

/// What the words of `trace` from `first` on should have been.
fn corrections(trace: &Trace, first: usize, root: &LabelledPosition) -> Vec<Correction> {
    let words = trace.words();
    let correction = |(place, word): (usize, &Word)| match word.kind {
        Kind::Score => {
            let bucket = label(word, root).or(minimax(trace, place).map(|(_, bucket)| bucket));
            Some(Correction { place, bucket, ..Correction::default() })
        }
        Kind::Select => {
            let costs = costs(words, &scores(&words[..place], word), root);
            // It has the value of the source it has chosen, whichever that is.
            let bucket = word.source.and_then(|source| words.get(source)?.bucket);
            Some(Correction { place, bucket, costs, ..Correction::default() })
        }
        _ => None,
    };
    words.iter().enumerate().skip(first).filter_map(correction).collect()
}

/// What the moves scored at `places` give away.
fn costs(words: &[Word], places: &[usize], root: &LabelledPosition) -> Vec<(usize, f32)> {
    let cost = |place: &usize| {
        let action = Action::from_code(words.get(*place)?.action?, false);
        Some((*place, root.regret(action).min(CAP)))
    };
    places.iter().filter_map(cost).collect()
}

/// The bucket of the annotator's value of a root's move that it has searched.
fn label(word: &Word, root: &LabelledPosition) -> Option<u8> {
    let action = Action::from_code(word.action?, false);
    let (_, value) = root.deep.iter().find(|(other, _)| *other == action)?;
    Some(bucket_of(*value))
}

/// Shapes to weigh in.
#[must_use]
pub fn shape(random: &mut Rng) -> Shape {
    let of = |breadths: [u8; 4], depth, random: &mut Rng| {
        let breadth = breadths[random.below(breadths.len())];
        Shape { breadth, depth }
    };
    match random.below(100) {
        0..15 => of([2, 3, 4, 5], 1, random),
        15..70 => of([2, 3, 4, 4], 2, random),
        _ => of([2, 3, 3, 4], 3, random),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::chess::game::Game;
    use engine::internal::boards::NodeValue;
    use engine::options::settings::Settings;
    use engine::play::network::{Installed, Networks};
    use nn::device::Backend;
    use nn::writer::DecoderWeights;
    use std::sync::Arc;

    #[test]
    fn the_annotators_values_are_to_be_written_and_stand_nowhere_in_the_trace() {
        let network = Installed.open(None, Backend::Cpu).unwrap();
        let value: NodeValue = (&Settings::default()).into();
        let mut boards = Boards::new(&*network.evaluator, value).unwrap();
        let game = Game::from_fen("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", false).unwrap();
        let actions = game.legal_actions();
        // The first two were searched, the others not.
        let value = |(i, a): (usize, &Action)| (*a, 0.8 - 0.1 * i.min(2) as f32);
        let (deep, shallow) = actions.iter().enumerate().map(value).partition(|(_, v)| *v > 0.65);
        let root = LabelledPosition { game, best: actions[0], deep, shallow };
        let shape = Shape { breadth: 5, depth: 2 };
        let judge = Decoder::new(Arc::new(DecoderWeights::untrained(1)));
        let example = example(&mut boards, judge, &root, shape).unwrap().unwrap();
        let words = example.trace.words();
        let (mut searched, mut not, mut weighed) = (0, 0, 0);
        assert_eq!(example.trace.backup(), Backup::Weigh);
        assert!(words[..example.first].iter().all(|w| w.kind != Kind::Score || w.level > 1));
        for correction in &example.corrections {
            let word = &words[correction.place];
            assert!(correction.place >= example.first && correction.source.is_none());
            if word.kind == Kind::Score {
                let action = Action::from_code(word.action.unwrap(), false);
                let label = root.deep.iter().find(|(a, _)| *a == action).map(|(_, v)| *v);
                searched += usize::from(label.is_some());
                not += usize::from(label.is_none());
                if label.is_some() {
                    assert_eq!(correction.bucket, label.map(bucket_of));
                } else {
                    let by_hand =
                        minimax(&example.trace, correction.place).map(|(_, bucket)| bucket);
                    assert_eq!(correction.bucket, by_hand);
                }
                continue;
            }
            assert_eq!((word.kind, word.node), (Kind::Select, Some(0)));
            for (source, cost) in &correction.costs {
                let of = Action::from_code(words[*source].action.unwrap(), false);
                assert_eq!((words[*source].kind, *cost), (Kind::Score, root.regret(of)));
            }
            weighed += correction.costs.len();
        }
        assert!(searched > 0 && not > 0, "{searched} {not}");
        assert_eq!(weighed, searched + not, "all of the root's moves");
    }
}

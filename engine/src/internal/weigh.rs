//! What teaches a decoder to weigh: its own traces over positions of labelled games, corrected where the annotator
//! knows better. The boards, the lists and what the decoder has written stay as they are, or it would read the
//! answer; what changes is what it should have written.
//!
//! The annotator has valued the root's moves, so the scores of the root are to be its. What stands below is backed up
//! by minimax, and the root's choice is its best score: what is learnt is what a move is worth, given all that was
//! seen below it.

use super::boards::Boards;
use super::roots::Root;
use super::teacher::minimax;
use super::think::{End, Task, think};
use crate::chess::action::Action;
use nn::EvalError;
use nn::rng::Rng;
use nn::writer::word::bucket_of;
use nn::writer::{Backup, Correction, Example, Kind, Shape, Trace, Word, Writer};

/// A tree of `shape` about `root`, as `writer` weighs now, and what it should have written. None if the trace broke.
///
/// # Errors
/// The network or the writer fails.
pub fn example(
    boards: &mut Boards<'_>,
    writer: &mut dyn Writer,
    root: &Root,
    shape: Shape,
) -> Result<Option<Example>, EvalError> {
    boards.set_root(&root.game, &[])?;
    let task = Task { shape, backup: Backup::Weigh, mask: true, stop: &|| false };
    let thought = think(boards, writer, &task)?;
    let corrections = corrections(&thought.trace, root);
    Ok((thought.end == End::Played).then_some(Example { trace: thought.trace, corrections }))
}

/// What the scores and selections of `trace` should have been.
fn corrections(trace: &Trace, root: &Root) -> Vec<Correction> {
    let words = trace.words();
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        if !word.kind.has_bucket() {
            continue;
        }
        let (source, bucket) = minimax(trace, place).unzip();
        let labelled = match (word.kind, word.level) {
            (Kind::Score, 1) => label(word, root),
            _ => None,
        };
        found.push(Correction { place, source, bucket: labelled.or(bucket) });
    }
    found
}

/// The bucket of the annotator's value of a root's move.
fn label(word: &Word, root: &Root) -> Option<u8> {
    let action = Action::from_code(word.action?, false);
    let (_, value) = root.values.iter().find(|(other, _)| *other == action)?;
    Some(bucket_of(*value))
}

/// Shapes to weigh in; at one ply every score has a label.
#[must_use]
pub fn shape(random: &mut Rng) -> Shape {
    match random.below(100) {
        0..60 => Shape { breadth: [2, 3, 4, 4, 5][random.below(5)], depth: 1 },
        _ => Shape { breadth: [2, 3, 4, 4][random.below(4)], depth: 2 },
    }
}

#[cfg(test)]
mod tests {
    use super::super::boards::NodeValue;
    use super::super::teacher::Teacher;
    use super::*;
    use crate::chess::game::Game;
    use crate::play::network::{Installed, Networks};
    use crate::play::settings::Settings;
    use nn::device::Backend;

    #[test]
    fn the_annotators_values_are_to_be_written_and_stand_nowhere_in_the_trace() {
        let network = Installed.open(None, Backend::Cpu).unwrap();
        let value: NodeValue = (&Settings::default()).into();
        let mut boards = Boards::new(&*network.evaluator, value).unwrap();
        let game = Game::from_fen("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", false).unwrap();
        let actions = game.legal_actions();
        let values = actions.iter().enumerate().map(|(i, a)| (*a, 0.1 + 0.1 * i as f32)).collect();
        let root = Root { game, values };
        let shape = Shape { breadth: 3, depth: 2 };
        let example = example(&mut boards, &mut Teacher::default(), &root, shape).unwrap().unwrap();
        let words = example.trace.words();
        assert_eq!(example.trace.backup(), Backup::Weigh);
        let mut seen = [0; 3];
        for correction in &example.corrections {
            let word = &words[correction.place];
            let labelled = word.kind == Kind::Score && word.level == 1;
            if labelled {
                let action = Action::from_code(word.action.unwrap(), false);
                let value = root.values.iter().find(|(a, _)| *a == action).unwrap().1;
                assert_eq!(correction.bucket, Some(bucket_of(value)));
            } else {
                assert_eq!(correction.bucket, word.bucket, "elsewhere, the teacher is right");
                assert!(correction.source.is_none_or(|source| Some(source) == word.source));
            }
            seen[if labelled { 0 } else { 1 + usize::from(word.kind == Kind::Select) }] += 1;
        }
        assert_eq!(seen[0], 3);
        assert!(seen[1] > 0 && seen[2] > 4);
    }
}

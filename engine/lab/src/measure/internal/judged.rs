//! Two writers of one trace: one says where to look, the other judges. Once the root is decided on, what is left to write are
//! the scores of its moves, the choice among them and the move to play; these are the judge's, where the prompt wants values
//! weighed. So a judge can be taught without what keeps the shape of a tree being touched.

use nn::EvalError;
use nn::writer::{Allowed, Backup, Kind, Step, Trace, Writer};

/// Both of them.
pub struct Judged<W, J> {
    /// Writes the tree.
    pub tree: W,
    /// Writes what is made of it, if it is to be weighed.
    pub judge: J,
}

impl<W: Writer, J: Writer> Writer for Judged<W, J> {
    fn next(&mut self, trace: &Trace, allowed: &[Allowed]) -> Result<Step, EvalError> {
        if trace.backup() == Backup::Weigh && verdict(trace).is_some() {
            self.judge.next(trace, allowed)
        } else {
            self.tree.next(trace, allowed)
        }
    }
}

/// The place of the first word after the root's decision is asked for; None before that.
#[must_use]
pub fn verdict(trace: &Trace) -> Option<usize> {
    let last = trace.words().iter().rposition(|word| word.kind == Kind::Decide)?;
    (trace.words()[last].node == Some(0)).then_some(last + 1)
}

#[cfg(test)]
mod tests {
    use super::super::lessons::lesson;
    use super::*;
    use engine::internal::grammar::Grammar;
    use engine::internal::teacher::step;
    use nn::rng::Rng;
    use nn::writer::Shape;

    /// Writes as the teacher does, and counts.
    struct Counting(Vec<Kind>);

    impl Writer for Counting {
        fn next(&mut self, trace: &Trace, _: &[Allowed]) -> Result<Step, EvalError> {
            let mut grammar = Grammar::new(trace.shape(), trace.backup());
            while grammar.advance(trace) {}
            let step = step(&grammar, trace).ok_or(EvalError::NoMoves)?;
            self.0.push(step.kind);
            Ok(step)
        }
    }

    #[test]
    fn the_judge_writes_the_roots_scores_and_choice_and_nothing_else() {
        let shape = Shape { breadth: 3, depth: 2 };
        let mut random = Rng::from_state(5);
        for backup in [Backup::Weigh, Backup::AlphaBeta] {
            let trace = lesson(shape, backup, &mut random);
            let mut judged = Judged { tree: Counting(Vec::new()), judge: Counting(Vec::new()) };
            let words = trace.words();
            for (place, word) in words.iter().enumerate().filter(|(_, w)| w.source.is_some()) {
                let step = judged.next(&trace.cut(place), &[]).unwrap();
                assert_eq!(step.kind, word.kind);
            }
            let written = words.iter().filter(|word| word.source.is_some()).count();
            assert_eq!(judged.tree.0.len() + judged.judge.0.len(), written);
            let scored = words.iter().filter(|w| w.kind == Kind::Score && w.level == 1).count();
            match backup {
                Backup::Weigh => {
                    let mut due = vec![Kind::Score; scored];
                    due.extend([Kind::Select, Kind::Play]);
                    assert_eq!(judged.judge.0, due);
                }
                _ => assert!(judged.judge.0.is_empty()),
            }
        }
    }
}

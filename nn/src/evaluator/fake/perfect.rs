//! A world model that is always right: it answers by the rules, so that a search in an imagined world can be
//! compared with a search by the rules.

use crate::encode::Terminal;
use crate::encode::terminal;
use crate::encode::{MoveCode, canonical_moves};
use crate::evaluator::Evaluator;
use crate::evaluator::error::EvalError;
use crate::evaluator::query::{Evaluation, Query};
use crate::evaluator::transition::{Imagined, Refusal, Step, Transition, grounded};
use shakmaty::Position;

/// The wrapped evaluator's outputs, with the rules of chess as its world model. An illegal move has no next
/// state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Perfect<E>(pub E);

impl<E: Evaluator> Evaluator for Perfect<E> {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.0.evaluate(batch)
    }

    fn preferred_batch(&self) -> usize {
        self.0.preferred_batch()
    }

    fn transition(&self) -> Option<&dyn Transition> {
        Some(self)
    }
}

impl<E: Evaluator> Transition for Perfect<E> {
    fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        batch.iter().map(|step| self.follow(step)).collect()
    }
}

impl<E: Evaluator> Perfect<E> {
    fn follow(&self, step: &Step<'_>) -> Result<Result<Imagined, Refusal>, EvalError> {
        let flip = step.state.turn().is_black();
        let legal = step.state.legal_moves();
        let Some(m) = legal.iter().find(|m| MoveCode::new(**m, flip) == Some(step.action)) else {
            return Ok(Err(Refusal::NoMoves));
        };
        let mut next = step.state.clone();
        next.play_unchecked(*m);
        let state = grounded(&next);
        let moves = canonical_moves(&state);
        let end = match terminal(&state, moves.len()) {
            Terminal::Ongoing => [1.0, 0.0, 0.0],
            Terminal::Lost => [0.0, 1.0, 0.0],
            Terminal::Drawn => [0.0, 0.0, 1.0],
        };
        let legal: Vec<MoveCode> = moves.iter().filter_map(|m| MoveCode::new(*m, flip)).collect();
        let certainty = vec![1.0; legal.len()];
        let evaluation = if moves.is_empty() {
            None
        } else {
            self.0.evaluate(&[Query { position: &state, legal: &moves }])?.pop()
        };
        Ok(Ok(Imagined { state, end, legal, certainty, rejected: 0, evaluation }))
    }
}

//! A regressor as an evaluator: it evaluates all successors of a position, which gives a value for every move. The
//! policy is uniform.

use super::board::Board;
use engine::chess::ending::by_board;
use nn::{EvalError, Evaluation, Evaluator, Query};
use shakmaty::Position;

/// Estimates win probabilities of boards.
pub trait BoardValue: Send + Sync {
    /// Win probability of the side to move of each board, in [0, 1].
    fn win_probabilities(&self, boards: &[Board]) -> Vec<f32>;
}

/// Evaluates all successors, one ply deep.
pub struct Successors<V>(pub V);

impl<V: BoardValue> Successors<V> {
    fn answer(&self, query: &Query<'_>) -> Result<Evaluation, EvalError> {
        if query.legal.is_empty() {
            return Err(EvalError::NoMoves);
        }
        let mut ends = Vec::with_capacity(query.legal.len());
        let mut boards = Vec::with_capacity(query.legal.len());
        for action in query.legal {
            let mut next = query.position.clone();
            next.play_unchecked(*action);
            // Endings follow the rules: a mate is certain.
            let end = by_board(&next, next.legal_moves().len());
            ends.push(end.map(|end| if end.winner().is_some() { 1.0 } else { 0.5 }));
            boards.push(Board::new(&next));
        }
        let predictions = self.0.win_probabilities(&boards);
        let values: Vec<f32> = ends
            .into_iter()
            .zip(predictions)
            .map(|(end, guess)| end.unwrap_or(1.0 - guess))
            .collect();
        let value = values.iter().copied().fold(0.0, f32::max);
        Ok(Evaluation {
            wdl: [value, 0.0, 1.0 - value],
            value,
            value_mode: value,
            action_modes: values.clone(),
            policy: vec![1.0 / values.len() as f32; values.len()],
            action_values: values,
        })
    }
}

impl<V: BoardValue> Evaluator for Successors<V> {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        batch.iter().map(|query| self.answer(query)).collect()
    }

    fn preferred_batch(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::super::features::Features;
    use super::super::model::Regressor;
    use super::*;
    use engine::chess::game::Game;

    #[test]
    fn successors_give_the_values_and_a_mate_is_certain() {
        let game = Game::from_fen("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", false).unwrap();
        let legal = game.position().legal_moves();
        let model = Regressor::new(Features::Giraffe, 1);
        let query = Query { position: game.position(), legal: &legal };
        let answer = Successors(model.clone()).answer(&query).unwrap();
        let mate = legal.iter().position(|m| m.to_string() == "Ra1-a8").unwrap();
        assert_eq!((answer.action_values[mate], answer.value), (1.0, 1.0));
        for (action, value) in legal.iter().zip(&answer.action_values) {
            let mut next = game.position().clone();
            next.play_unchecked(*action);
            let guess = 1.0 - model.win_probabilities(&[Board::new(&next)])[0];
            assert!(next.is_checkmate() || (guess - value).abs() < 1e-5);
        }
        assert!((answer.policy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
}

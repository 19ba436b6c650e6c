//! A trained regressor: as a file, and as an evaluator that values every successor of a position and so has a
//! value for every move. It has no policy: all moves are alike to it.

use super::features::{Board, Features};
use super::mlp::Mlp;
use crate::chess::ending::by_board;
use nn::{EvalError, Evaluation, Evaluator, Query};
use serde::{Deserialize, Serialize};
use shakmaty::Position;
use std::fmt;

/// How every file begins.
pub const MAGIC: &[u8] = b"MAVKA-REGRESSOR-1\n";

/// The line after the magic.
#[derive(Serialize, Deserialize)]
struct Header {
    features: String,
    widths: Vec<usize>,
}

/// Why a file is no regressor.
#[derive(Debug)]
pub enum BadModel {
    /// It ends within the header.
    Cut,
    /// The header does not read.
    Header(serde_json::Error),
    /// The header names features that there are not.
    Features(String),
    /// Too few or too many numbers for the layers, or one that is none.
    Numbers,
}

impl fmt::Display for BadModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no regressor: ")?;
        match self {
            BadModel::Cut => f.write_str("its header has no end"),
            BadModel::Header(why) => why.fmt(f),
            BadModel::Features(name) => write!(f, "unknown features `{name}`"),
            BadModel::Numbers => f.write_str("its numbers do not fit its layers"),
        }
    }
}

impl std::error::Error for BadModel {}

/// A regressor.
#[derive(Clone, Debug, PartialEq)]
pub struct Regressor {
    pub features: Features,
    pub network: Mlp,
}

impl Regressor {
    /// The file's bytes.
    ///
    /// # Errors
    /// Never, as its header is plain JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let (features, widths) = (self.features.name().to_owned(), self.network.widths());
        let mut bytes = MAGIC.to_vec();
        bytes.extend(serde_json::to_vec(&Header { features, widths })?);
        bytes.push(b'\n');
        bytes.extend(self.network.values().into_iter().flat_map(f32::to_le_bytes));
        Ok(bytes)
    }

    /// The regressor of a file; None if the file is something else.
    ///
    /// # Errors
    /// The file begins as a regressor and goes on otherwise.
    pub fn from_bytes(bytes: &[u8]) -> Option<Result<Regressor, BadModel>> {
        let rest = bytes.strip_prefix(MAGIC)?;
        Some(Regressor::read(rest))
    }

    fn read(rest: &[u8]) -> Result<Regressor, BadModel> {
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or(BadModel::Cut)?;
        let header: Header = serde_json::from_slice(&rest[..end]).map_err(BadModel::Header)?;
        let features = Features::named(&header.features)
            .ok_or_else(|| BadModel::Features(header.features.clone()))?;
        let (chunks, odd) = rest[end + 1..].as_chunks::<4>();
        let values: Vec<f32> = chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let sound = odd.is_empty()
            && header.widths.first() == Some(&features.width())
            && header.widths.last() == Some(&1)
            && values.iter().all(|value| value.is_finite());
        let network = Mlp::from_values(&header.widths, &values).filter(|_| sound);
        let network = network.ok_or(BadModel::Numbers)?;
        Ok(Regressor { features, network })
    }

    /// Win probability of the side to move of each board.
    #[must_use]
    pub fn win_probabilities(&self, boards: &[Board]) -> Vec<f32> {
        let width = self.features.width();
        let mut rows = vec![0.0; boards.len() * width];
        for (row, board) in rows.chunks_exact_mut(width).zip(boards) {
            self.features.write(board, row);
        }
        self.network.forward(&rows, boards.len())
    }

    fn answer(&self, query: &Query<'_>) -> Result<Evaluation, EvalError> {
        if query.legal.is_empty() {
            return Err(EvalError::NoMoves);
        }
        let mut ends = Vec::with_capacity(query.legal.len());
        let mut boards = Vec::with_capacity(query.legal.len());
        for action in query.legal {
            let mut next = query.position.clone();
            next.play_unchecked(*action);
            // The laws of chess are no lookahead: a mate is no guess.
            let end = by_board(&next, next.legal_moves().len());
            ends.push(end.map(|end| if end.winner().is_some() { 1.0 } else { 0.5 }));
            boards.push(Board::new(&next));
        }
        let guesses = self.win_probabilities(&boards);
        let values: Vec<f32> =
            ends.into_iter().zip(guesses).map(|(end, guess)| end.unwrap_or(1.0 - guess)).collect();
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

impl Evaluator for Regressor {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        batch.iter().map(|query| self.answer(query)).collect()
    }

    fn preferred_batch(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;

    fn regressor(features: Features) -> Regressor {
        let [a, b, c] = features.hidden();
        Regressor { features, network: Mlp::new(&[features.width(), a, b, c, 1], 1) }
    }

    #[test]
    fn files_hold_the_model_and_damage_is_named() {
        for features in Features::ALL {
            let model = regressor(features);
            let bytes = model.to_bytes().unwrap();
            assert_eq!(Regressor::from_bytes(&bytes).unwrap().unwrap(), model);
            for end in [MAGIC.len(), MAGIC.len() + 20, bytes.len() - 1, bytes.len() - 4] {
                assert!(Regressor::from_bytes(&bytes[..end]).unwrap().is_err(), "{end}");
            }
        }
        assert!(Regressor::from_bytes(b"something else").is_none());
    }

    #[test]
    fn successors_give_the_values_and_a_mate_is_certain() {
        let game = Game::from_fen("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", false).unwrap();
        let legal = game.position().legal_moves();
        let model = regressor(Features::Positional);
        let answer = model.answer(&Query { position: game.position(), legal: &legal }).unwrap();
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

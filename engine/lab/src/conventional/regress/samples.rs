//! Boards and win probabilities from our labelled games, balanced as paper 002 balances them: 21 bins of equal
//! width over the win probability, none fuller than its share; each board once. Games are kept apart: one
//! in fifty is for the test (the games that our networks do not see either), one for choosing when to stop.

use super::board::Board;
use nn::encode::moves::canonical_move;
use shakmaty::{Chess, Position};
use std::collections::HashSet;
use std::path::PathBuf;
use train::data::label::win_probability;
use train::data::{DataError, FileReader, Game, position_key};

/// Bins of the win probability (paper 002).
pub const BINS: usize = 21;
/// Every so many games of a file one is held out.
const HELD_OUT: u64 = 50;

/// Boards with the win probability of their side to move.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// As the regressors see them.
    pub boards: Vec<Board>,
    /// Win probability of each board's side to move.
    pub wins: Vec<f32>,
    /// The same boards whole, where asked for: other players may want them.
    pub positions: Vec<Chess>,
    filled: [usize; BINS],
}

impl Samples {
    fn offer(&mut self, position: &Chess, win: f32, most: usize, whole: bool) -> bool {
        let bin = bin(win);
        if self.filled[bin] >= most.div_ceil(BINS) {
            return false;
        }
        self.filled[bin] += 1;
        self.boards.push(Board::new(position));
        self.wins.push(win);
        if whole {
            self.positions.push(position.clone());
        }
        true
    }
}

/// The bin of a win probability.
#[must_use]
pub fn bin(win: f32) -> usize {
    ((win * BINS as f32) as usize).min(BINS - 1)
}

/// What is read of the files, at most.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Boards to train on.
    pub training: usize,
    /// Boards that say when to stop.
    pub validation: usize,
    /// Boards of games that no training sees.
    pub test: usize,
}

/// The three parts.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// To train on.
    pub training: Samples,
    /// To say when to stop.
    pub validation: Samples,
    /// Samples from games that no training sees.
    pub test: Samples,
}

/// Reads games with a value for every position (MAVG1) until they end. `heard` is told of each game.
///
/// # Errors
/// A file cannot be read.
pub fn read(files: &[PathBuf], sizes: Sizes, heard: &mut dyn FnMut()) -> Result<Parts, DataError> {
    let mut parts = Parts::default();
    let mut seen = HashSet::new();
    for file in files {
        for game in FileReader::open(file)? {
            let Game::Mavg(game) = game? else { continue };
            heard();
            let (part, most, whole) = match game.header.index % HELD_OUT {
                0 => (&mut parts.test, sizes.test, true),
                25 => (&mut parts.validation, sizes.validation, false),
                _ => (&mut parts.training, sizes.training, false),
            };
            let mut position = game.header.start.clone();
            for record in &game.positions {
                let win = win_probability(record.score);
                if win.is_finite()
                    && seen.insert(position_key(&position))
                    && !part.offer(&position, win, most, whole)
                {
                    // Not taken: another bin may still want a position like it.
                    seen.remove(&position_key(&position));
                }
                let Some(action) = canonical_move(&position, usize::from(record.played)) else {
                    break;
                };
                position.play_unchecked(action);
            }
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_equal_and_take_no_more_than_their_share() {
        assert_eq!([0.0, 0.04, 0.5, 0.999, 1.0].map(bin), [0, 0, 10, 20, 20]);
        let mut samples = Samples::default();
        let position = Chess::default();
        let taken = (0..10).filter(|_| samples.offer(&position, 0.5, 42, true)).count();
        assert_eq!((taken, samples.boards.len(), samples.positions.len()), (2, 2, 2));
        assert!(samples.offer(&position, 0.9, 42, false));
        assert_eq!((samples.wins.len(), samples.positions.len()), (3, 2));
    }
}

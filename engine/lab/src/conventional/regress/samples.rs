//! Boards and win probabilities from labelled games, balanced as in paper 002: 21 equal bins of win probability with
//! equal capacity; boards are unique. Games are split: one in fifty is test data (held out from our networks, too),
//! one validates early stopping.

use super::board::Board;
use nn::encode::moves::canonical_move;
use shakmaty::{Chess, Position};
use std::collections::HashSet;
use std::path::PathBuf;
use train::data::label::win_probability;
use train::data::{DataError, FileReader, Game, position_key};

/// Bins of win probability (paper 002).
pub const BINS: usize = 21;
/// One game of a file in this many is held out.
const HELD_OUT: u64 = 50;

/// Boards with win probabilities.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Boards from the side to move's view.
    pub boards: Vec<Board>,
    /// Win probability of the side to move.
    pub wins: Vec<f32>,
    /// Full positions of the same boards, if requested.
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

/// Bin of a win probability.
#[must_use]
pub fn bin(win: f32) -> usize {
    ((win * BINS as f32) as usize).min(BINS - 1)
}

/// Maximum sizes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Training boards.
    pub training: usize,
    /// Validation boards, for early stopping.
    pub validation: usize,
    /// Test boards from held-out games.
    pub test: usize,
}

/// The three data sets.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// For training.
    pub training: Samples,
    /// For early stopping.
    pub validation: Samples,
    /// From held-out games.
    pub test: Samples,
}

/// Reads games with values for all positions (MAVG1) to the end of the files. Calls `on_progress` once per game.
///
/// # Errors
/// A file cannot be read.
pub fn read(
    files: &[PathBuf],
    sizes: Sizes,
    on_progress: &mut dyn FnMut(),
) -> Result<Parts, DataError> {
    let mut parts = Parts::default();
    let mut seen = HashSet::new();
    for file in files {
        for game in FileReader::open(file)? {
            let Game::Mavg(game) = game? else { continue };
            on_progress();
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
                    // Rejected, its bin is full: with another label the board may fit another bin.
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

//! Which rows of the first layer a board adds up, and examples in that form.

use super::{INPUTS, bucket};
use crate::data::Example;
use crate::encode::Features;

/// How a side sees the board, which its king's place decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    /// The king stands on the files e to h.
    mirrored: bool,
    /// Which of [`ZONES`] it stands in.
    zone: u8,
}

/// The zone of a king on each square of the files a to d, from its own edge up: most kings stand on the first two ranks.
const ZONE: [[u8; 4]; 8] = [
    [0, 1, 2, 3],
    [4, 4, 5, 5],
    [6, 6, 6, 6],
    [6, 6, 6, 6],
    [7, 7, 7, 7],
    [7, 7, 7, 7],
    [7, 7, 7, 7],
    [7, 7, 7, 7],
];

impl View {
    /// Of a side whose king stands there, from its own edge.
    #[inline]
    pub fn of(king: usize) -> View {
        let mirrored = king % 8 >= 4;
        let square = if mirrored { king ^ 7 } else { king };
        View { mirrored, zone: ZONE[square / 8][square % 8] }
    }

    /// The row of a piece: `theirs` if it is the other side's, `role` from 0 for pawns to 5 for kings, `square` from the
    /// side's own edge.
    #[inline]
    pub fn row(self, theirs: bool, role: usize, square: usize) -> usize {
        let square = if self.mirrored { square ^ 7 } else { square };
        (usize::from(self.zone) * 12 + usize::from(theirs) * 6 + role) * 64 + square
    }
}

/// A board has no more pieces.
const PIECES: usize = 32;

/// A position and how it stands.
#[derive(Clone)]
pub struct Sample {
    /// Rows that the mover adds up.
    pub(super) us: [u16; PIECES],
    /// Rows that the other side adds up.
    pub(super) them: [u16; PIECES],
    pub(super) pieces: usize,
    pub(super) bucket: usize,
    /// Win probability of the mover.
    pub(super) value: f32,
}

impl Sample {
    /// The board of `features`, and the mover's win probability on it.
    #[must_use]
    pub fn new(features: &Features, value: f32) -> Sample {
        let king = |class| features.pieces.iter().position(|piece| *piece == class).unwrap_or(0);
        let views = (View::of(king(6)), View::of(king(12) ^ 56));
        let (mut us, mut them) = ([0; PIECES], [0; PIECES]);
        let mut count = 0;
        for (square, class) in features.pieces.iter().enumerate() {
            let Some(piece) = usize::from(*class).checked_sub(1) else { continue };
            let (theirs, role) = (piece >= 6, piece % 6);
            if count < PIECES {
                us[count] = views.0.row(theirs, role, square) as u16;
                them[count] = views.1.row(!theirs, role, square ^ 56) as u16;
                count += 1;
            }
        }
        debug_assert!(us.iter().chain(&them).all(|row| usize::from(*row) < INPUTS));
        Sample { us, them, pieces: count, bucket: bucket(count), value }
    }

    /// Of an example that is a quiet position whose value is known; None of others.
    #[must_use]
    pub fn of(example: &Example) -> Option<Sample> {
        let usable =
            !example.features.has_action && example.value.is_finite() && sees_quiet(example);
        usable.then(|| Sample::new(&example.features, example.value))
    }
}

/// The best move, if known, neither captures nor promotes: what a search of captures would look at is not for a network
/// without one to guess.
#[must_use]
pub fn sees_quiet(example: &Example) -> bool {
    let best = example.best.and_then(|best| example.moves.get(usize::from(best)));
    best.is_some_and(|m| m.promotion == 0 && example.features.pieces[usize::from(m.to)] == 0)
}

//! Which rows of the first layer a board adds up, and examples in that form.

use super::{INPUTS, ZONES, bucket};
use crate::data::Example;
use crate::encode::Features;
use shakmaty::{Bitboard, Chess};

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
    /// How many there are.
    pub const COUNT: usize = 2 * ZONES;

    /// Which of them.
    #[inline]
    pub fn index(self) -> usize {
        2 * usize::from(self.zone) + usize::from(self.mirrored)
    }

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

/// A position and how it stands, in little room.
#[derive(Clone)]
pub struct Sample {
    /// The squares that are, from the mover's edge.
    occupied: u64,
    /// What stands on them in this order, in half a byte each: 0..=5 the mover's pawn, knight, bishop, rook, queen and king, 6..=11 the
    /// other side's.
    classes: [u8; PIECES / 2],
    /// Win probability of the mover.
    pub value: f32,
}

/// What a sample adds up.
pub(super) struct Rows {
    /// Rows of the mover, and of the other side.
    lists: [[u16; PIECES]; 2],
    pieces: usize,
}

impl Rows {
    /// Of the mover, of the other side.
    pub fn lists(&self) -> [&[u16]; 2] {
        self.lists.each_ref().map(|list| &list[..self.pieces])
    }

    /// Which last layer judges the board.
    pub fn bucket(&self) -> usize {
        bucket(self.pieces)
    }
}

impl Sample {
    /// A position, and its mover's win probability.
    #[must_use]
    pub fn at(position: &Chess, value: f32) -> Sample {
        Sample::new(&Features::of(position), value)
    }

    /// The board of `features`, and the mover's win probability on it.
    #[must_use]
    pub(super) fn new(features: &Features, value: f32) -> Sample {
        let mut sample = Sample { occupied: 0, classes: [0; PIECES / 2], value };
        let pieces = features.pieces.iter().enumerate().filter(|(_, class)| **class > 0);
        for (at, (square, class)) in pieces.take(PIECES).enumerate() {
            sample.occupied |= 1 << square;
            sample.classes[at / 2] |= (class - 1) << (4 * (at % 2));
        }
        sample
    }

    /// What it adds up.
    pub(super) fn rows(&self) -> Rows {
        let class = |at: usize| usize::from(self.classes[at / 2] >> (4 * (at % 2)) & 15);
        let squares = || Bitboard(self.occupied).into_iter().map(usize::from).enumerate();
        let king = |of| squares().find(|(at, _)| class(*at) == of).map_or(0, |(_, square)| square);
        let views = [View::of(king(5)), View::of(king(11) ^ 56)];
        let mut lists = [[0; PIECES]; 2];
        for (at, square) in squares() {
            let (theirs, role) = (class(at) >= 6, class(at) % 6);
            lists[0][at] = views[0].row(theirs, role, square) as u16;
            lists[1][at] = views[1].row(!theirs, role, square ^ 56) as u16;
        }
        debug_assert!(lists.as_flattened().iter().all(|row| usize::from(*row) < INPUTS));
        Rows { lists, pieces: squares().count() }
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

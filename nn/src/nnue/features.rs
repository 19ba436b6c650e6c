//! Which rows of the first layer a board adds up, and examples in that form.

use super::{ZONES, bucket};
use crate::data::Example;
use crate::encode::Features;
use arrayvec::ArrayVec;
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

/// How both sides see a sample: what stands on each square, and from where.
#[derive(Clone)]
pub(super) struct Board {
    occupied: u64,
    /// From the mover's edge, one above [`Sample`]'s classes; 0 = empty.
    classes: [u8; 64],
    /// The mover's, the other side's.
    views: [View; 2],
}

/// Rows of the mover, and of the other side.
pub(super) type Lists = [ArrayVec<u16, PIECES>; 2];

/// What the sums of one board need to become those of another.
#[derive(Default)]
pub(super) struct Change {
    pub added: Lists,
    pub removed: Lists,
}

impl Board {
    /// Without pieces, seen as this one.
    fn emptied(&self) -> Board {
        Board { occupied: 0, classes: [0; 64], views: self.views }
    }

    /// Which last layer judges it.
    pub fn bucket(&self) -> usize {
        bucket(self.occupied.count_ones() as usize)
    }

    /// From an empty board.
    pub fn all(&self) -> Change {
        self.since(&self.emptied())
    }

    /// From `before`, if that takes less than from an empty board.
    pub fn follows(&self, before: &Board) -> Option<Change> {
        let squares = (self.occupied ^ before.occupied).count_ones();
        // Rarely does a piece stand where another stood.
        let near = self.views == before.views && 2 * squares < self.occupied.count_ones();
        near.then(|| self.since(before))
    }

    fn since(&self, before: &Board) -> Change {
        let mut change = Change::default();
        for square in Bitboard(self.occupied | before.occupied) {
            let square = usize::from(square);
            let (old, new) = (before.classes[square], self.classes[square]);
            if old != new {
                self.push(&mut change.removed, old, square);
                self.push(&mut change.added, new, square);
            }
        }
        change
    }

    /// The rows of a piece, for both sides.
    fn push(&self, lists: &mut Lists, class: u8, square: usize) {
        let Some(class) = class.checked_sub(1).map(usize::from) else { return };
        let (theirs, role) = (class >= 6, class % 6);
        lists[0].push(self.views[0].row(theirs, role, square) as u16);
        lists[1].push(self.views[1].row(!theirs, role, square ^ 56) as u16);
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

    /// How both sides see it.
    pub(super) fn board(&self) -> Board {
        let class = |at: usize| self.classes[at / 2] >> (4 * (at % 2)) & 15;
        let mut classes = [0; 64];
        let (mut ours, mut theirs) = (0, 0);
        for (at, square) in Bitboard(self.occupied).into_iter().map(usize::from).enumerate() {
            match class(at) {
                5 => ours = square,
                11 => theirs = square,
                _ => (),
            }
            classes[square] = class(at) + 1;
        }
        let views = [View::of(ours), View::of(theirs ^ 56)];
        Board { occupied: self.occupied, classes, views }
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

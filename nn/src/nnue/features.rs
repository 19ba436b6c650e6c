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

/// Rows that one side adds up.
type Rows = ArrayVec<u16, PIECES>;

/// What one side's sums of one board need to become those of another.
#[derive(Default)]
pub(super) struct Change {
    pub added: Rows,
    pub removed: Rows,
}

impl Board {
    /// Which last layer judges it.
    pub fn bucket(&self) -> usize {
        bucket(self.occupied.count_ones() as usize)
    }

    /// Squares that differ from `before`, from whose sums a side's sums of this board may follow. None if an empty board is as near, or
    /// if that side sees the two in different ways. A piece that stands where another stood, which is rare, counts for nothing.
    pub fn distance(&self, side: usize, before: &Board) -> Option<u32> {
        let squares = (self.occupied ^ before.occupied).count_ones();
        let near = 2 * squares < self.occupied.count_ones();
        (near && self.views[side] == before.views[side]).then_some(squares)
    }

    /// What a side's sums need that follow from those of `before`, which is seen in the same way, or from those of an empty board.
    pub fn since(&self, side: usize, before: Option<&Board>) -> Change {
        let mut change = Change::default();
        let class_before = |square: usize| before.map_or(0, |before| before.classes[square]);
        for square in Bitboard(self.occupied | before.map_or(0, |before| before.occupied)) {
            let square = usize::from(square);
            let (old, new) = (class_before(square), self.classes[square]);
            if old != new {
                change.removed.extend(self.row(side, old, square));
                change.added.extend(self.row(side, new, square));
            }
        }
        change
    }

    /// The row of a piece, if it is one.
    fn row(&self, side: usize, class: u8, square: usize) -> Option<u16> {
        let class = usize::from(class.checked_sub(1)?);
        let (other, role) = (class >= 6, class % 6);
        let theirs = other != (side == 1);
        Some(self.views[side].row(theirs, role, square ^ (56 * side)) as u16)
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

    /// Of its form in a file.
    pub(super) const BYTES: usize = 28;

    /// As files hold it.
    pub(super) fn to_bytes(&self) -> [u8; Sample::BYTES] {
        let mut bytes = [0; Sample::BYTES];
        bytes[..8].copy_from_slice(&self.occupied.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.classes);
        bytes[24..].copy_from_slice(&self.value.to_le_bytes());
        bytes
    }

    /// As files hold it; None if that is no board with a win probability.
    pub(super) fn from_bytes(bytes: &[u8; Sample::BYTES]) -> Option<Sample> {
        let (occupied, rest) = bytes.split_first_chunk::<8>()?;
        let (classes, rest) = rest.split_first_chunk::<{ PIECES / 2 }>()?;
        let value = f32::from_le_bytes(*rest.first_chunk()?);
        let sample = Sample { occupied: u64::from_le_bytes(*occupied), classes: *classes, value };
        let pieces = sample.occupied.count_ones() as usize;
        let known = (0..pieces.min(PIECES)).all(|at| sample.class(at) < 12);
        (pieces <= PIECES && known && (0.0..=1.0).contains(&value)).then_some(sample)
    }

    /// What stands on the `at`-th square that is occupied.
    fn class(&self, at: usize) -> u8 {
        self.classes[at / 2] >> (4 * (at % 2)) & 15
    }

    /// Where both kings stand, as far as it matters for what their sides see.
    pub(super) fn zones(&self) -> [u8; 2] {
        let mut zones = self.board().views.map(|view| view.zone);
        zones.sort_unstable();
        zones
    }

    /// How both sides see it.
    pub(super) fn board(&self) -> Board {
        let mut classes = [0; 64];
        let (mut ours, mut theirs) = (0, 0);
        for (at, square) in Bitboard(self.occupied).into_iter().map(usize::from).enumerate() {
            let class = self.class(at);
            match class {
                5 => ours = square,
                11 => theirs = square,
                _ => (),
            }
            classes[square] = class + 1;
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

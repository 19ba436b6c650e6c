//! A position and its value in compact form, and its board as rows of the first layer.

use crate::data::Example;
use alphabeta::nnue::{View, bucket};
use arrayvec::ArrayVec;
use nn::encode::Features;
use shakmaty::{Bitboard, Chess};

/// Most pieces on a board.
const PIECES: usize = 32;

/// A position and its value, compactly stored.
#[derive(Clone)]
pub struct Sample {
    /// Occupied squares, from the mover's edge.
    occupied: u64,
    /// Their pieces in this order, half a byte each: 0..=5 the mover's pawn, knight, bishop, rook, queen and
    /// king, 6..=11 the other side's.
    classes: [u8; PIECES / 2],
    /// Win probability of the mover.
    pub value: f32,
}

/// A decoded sample: piece classes by square, and both sides' views.
#[derive(Clone)]
pub(super) struct Board {
    occupied: u64,
    /// From the mover's edge, one above [`Sample`]'s classes; 0 = empty.
    classes: [u8; 64],
    /// The mover's, then the other side's.
    views: [View; 2],
}

/// Row indices of one side.
type Rows = ArrayVec<u16, PIECES>;

/// Difference of one side's accumulator between two boards.
#[derive(Default)]
pub(super) struct Change {
    pub added: Rows,
    pub removed: Rows,
}

impl Board {
    /// Output bucket.
    pub fn bucket(&self) -> usize {
        bucket(self.occupied.count_ones() as usize)
    }

    /// Number of squares that differ from `before`, from whose accumulator this one may be updated. None if a
    /// refresh is as cheap, or if the side's view differs. A replaced piece (rare) is ignored in the count.
    pub fn distance(&self, side: usize, before: &Board) -> Option<u32> {
        let squares = (self.occupied ^ before.occupied).count_ones();
        let near = 2 * squares < self.occupied.count_ones();
        (near && self.views[side] == before.views[side]).then_some(squares)
    }

    /// Update of a side's accumulator from `before`'s, of the same view, or from an empty board's.
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

    /// Row of a piece, if there is one.
    fn row(&self, side: usize, class: u8, square: usize) -> Option<u16> {
        let class = usize::from(class.checked_sub(1)?);
        let (other, role) = (class >= 6, class % 6);
        let theirs = other != (side == 1);
        Some(self.views[side].row(theirs, role, square ^ (56 * side)) as u16)
    }
}

impl Sample {
    /// A position and its mover's win probability.
    #[must_use]
    pub fn at(position: &Chess, value: f32) -> Sample {
        Sample::new(&Features::of(position), value)
    }

    /// The board of `features` and the mover's win probability.
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

    /// Bytes in a file.
    pub(super) const BYTES: usize = 28;

    /// Serialized form.
    pub(super) fn to_bytes(&self) -> [u8; Sample::BYTES] {
        let mut bytes = [0; Sample::BYTES];
        bytes[..8].copy_from_slice(&self.occupied.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.classes);
        bytes[24..].copy_from_slice(&self.value.to_le_bytes());
        bytes
    }

    /// From the serialized form; None if it is no board with a win probability.
    pub(super) fn from_bytes(bytes: &[u8; Sample::BYTES]) -> Option<Sample> {
        let (occupied, rest) = bytes.split_first_chunk::<8>()?;
        let (classes, rest) = rest.split_first_chunk::<{ PIECES / 2 }>()?;
        let value = f32::from_le_bytes(*rest.first_chunk()?);
        let sample = Sample { occupied: u64::from_le_bytes(*occupied), classes: *classes, value };
        let pieces = sample.occupied.count_ones() as usize;
        let known = (0..pieces.min(PIECES)).all(|at| sample.class(at) < 12);
        (pieces <= PIECES && known && (0.0..=1.0).contains(&value)).then_some(sample)
    }

    /// Piece on occupied square number `at`.
    fn class(&self, at: usize) -> u8 {
        self.classes[at / 2] >> (4 * (at % 2)) & 15
    }

    /// King buckets of both sides.
    pub(super) fn zones(&self) -> [u8; 2] {
        let mut zones = self.board().views.map(|view| view.zone());
        zones.sort_unstable();
        zones
    }

    /// Decoded form.
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

    /// From an example that is a quiet position with a known value; else None.
    #[must_use]
    pub fn of(example: &Example) -> Option<Sample> {
        let usable =
            !example.features.has_action && example.value.is_finite() && sees_quiet(example);
        usable.then(|| Sample::new(&example.features, example.value))
    }
}

/// Whether the best move, if known, is quiet (no capture, no promotion): a network without quiescence search
/// should not learn to predict captures.
#[must_use]
pub fn sees_quiet(example: &Example) -> bool {
    let best = example.best.and_then(|best| example.moves.get(usize::from(best)));
    best.is_some_and(|m| m.promotion == 0 && example.features.pieces[usize::from(m.to)] == 0)
}

//! Moves as (from, to, promotion) over tokens, and the canonical order of the data files.

use shakmaty::{Chess, Move, MoveList, Position, Role};

/// A move in the frame of the network's tokens. `promotion` 0 = none, 1..=4 = knight, bishop, rook,
/// queen. Castling is king takes own rook, in standard chess too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MoveCode {
    pub from: u8,
    pub to: u8,
    pub promotion: u8,
}

/// How many indices [`MoveCode::index`] can give.
pub const MOVE_CODES: usize = 64 * 64 * 5;

impl MoveCode {
    /// `flip` is true when the side to move *of the input position* is Black: for `MAV(s, a)` the
    /// moves of `s'` keep the frame of `s`. None for a drop (never in chess).
    #[must_use]
    pub fn new(m: Move, flip: bool) -> Option<MoveCode> {
        let turn = if flip { 56 } else { 0 };
        Some(MoveCode {
            from: (u32::from(m.from()?) ^ turn) as u8,
            to: (u32::from(m.to()) ^ turn) as u8,
            promotion: promotion_class(m.promotion()),
        })
    }

    /// A bijection between move codes and `0..MOVE_CODES`.
    #[must_use]
    pub fn index(self) -> usize {
        (usize::from(self.from) * 64 + usize::from(self.to)) * 5 + usize::from(self.promotion)
    }

    /// The inverse of [`MoveCode::index`].
    #[must_use]
    pub fn from_index(index: usize) -> Option<MoveCode> {
        (index < MOVE_CODES).then(|| MoveCode {
            from: (index / 320) as u8,
            to: (index / 5 % 64) as u8,
            promotion: (index % 5) as u8,
        })
    }
}

fn promotion_class(role: Option<Role>) -> u8 {
    // Knight is role 2 in shakmaty; a promotion is never to pawn or king.
    role.map_or(0, |role| u32::from(role) as u8 - 1)
}

/// What the canonical order sorts by.
fn canonical_key(m: &Move) -> u32 {
    let from = m.from().map_or(64, u32::from);
    (from * 64 + u32::from(m.to())) * 5 + u32::from(promotion_class(m.promotion()))
}

/// All legal moves in the order of the data files: by (from, to, promotion), a1 = 0 … h8 = 63,
/// absolute squares, castling as king takes rook.
#[must_use]
pub fn canonical_moves(position: &Chess) -> MoveList {
    let mut moves = position.legal_moves();
    moves.sort_unstable_by_key(canonical_key);
    moves
}

/// The `index`-th of [`canonical_moves`], found without sorting the others; None past the end.
#[must_use]
pub fn canonical_move(position: &Chess, index: usize) -> Option<Move> {
    let mut moves = position.legal_moves();
    (index < moves.len()).then(|| *moves.select_nth_unstable_by_key(index, canonical_key).1)
}

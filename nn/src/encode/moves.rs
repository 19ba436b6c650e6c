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

/// At most 218 moves are legal in a chess position; shakmaty's list holds no more than this.
const MOST_MOVES: usize = 256;

/// What the canonical order sorts by and below it, in the low byte, the move's index in its list.
/// Sorting such words takes half the time of sorting the moves by a key.
fn canonical_word(m: Move, index: usize) -> u32 {
    let from = m.from().map_or(64, u32::from);
    let key = (from * 64 + u32::from(m.to())) * 5 + u32::from(promotion_class(m.promotion()));
    key << 8 | index as u32
}

/// All legal moves in the order of the data files: by (from, to, promotion), a1 = 0 … h8 = 63,
/// absolute squares, castling as king takes rook.
#[must_use]
pub fn canonical_moves(position: &Chess) -> MoveList {
    let moves = position.legal_moves();
    let mut words = [u32::MAX; MOST_MOVES];
    for (index, (m, word)) in moves.iter().zip(&mut words).enumerate() {
        *word = canonical_word(*m, index);
    }
    let words = &mut words[..moves.len()];
    words.sort_unstable();
    words
        .iter()
        .map(|word| moves[(word & 0xff) as usize])
        .collect()
}

/// The `index`-th of [`canonical_moves`], found without sorting the others; None past the end.
#[must_use]
pub fn canonical_move(position: &Chess, index: usize) -> Option<Move> {
    let moves = position.legal_moves();
    if index >= moves.len() {
        return None;
    }
    // Replaying games is most of a loader's work: first the square, then the few moves from it.
    let mut from_square = [0u8; 65];
    for m in &moves {
        from_square[m.from().map_or(64, usize::from)] += 1;
    }
    let mut rank = index;
    let mut from = 0;
    while rank >= usize::from(from_square[from]) {
        rank -= usize::from(from_square[from]);
        from += 1;
    }
    let mut words = [u32::MAX; MOST_MOVES];
    let mut count = 0;
    for (index, m) in moves.iter().enumerate() {
        if m.from().map_or(64, usize::from) == from {
            words[count] = canonical_word(*m, index);
            count += 1;
        }
    }
    let (_, word, _) = words[..count].select_nth_unstable(rank);
    Some(moves[(*word & 0xff) as usize])
}

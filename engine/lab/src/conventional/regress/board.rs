//! Input of the regressors: a board from the side to move's view, flipped for Black.

use shakmaty::{CastlingSide, Chess, Color, Position};

/// Maximum number of pieces.
pub const PIECES: usize = 32;
/// Piece kinds: the mover's six, pawns first, then the opponent's.
pub const KINDS: usize = 12;
/// Empty slot.
const EMPTY: u16 = u16::MAX;

/// Board without history and en passant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// `64 * kind + square` of each piece, sorted and unique.
    pieces: [u16; PIECES],
    /// Castling rights: the mover's on the h side, on the a side, then the opponent's.
    pub castling: [bool; 4],
}

impl Board {
    /// The board of a position.
    #[must_use]
    pub fn new(position: &Chess) -> Board {
        let mut pieces = [EMPTY; PIECES];
        let mover = position.turn();
        for (slot, (square, piece)) in pieces.iter_mut().zip(position.board().iter()) {
            let seen = if mover == Color::White { square } else { square.flip_vertical() };
            let kind = piece.role as u16 - 1 + if piece.color == mover { 0 } else { 6 };
            *slot = 64 * kind + u16::from(seen);
        }
        // The order of own and enemy pieces depends on the colour.
        pieces.sort_unstable();
        let has = |color, side| position.castles().has(color, side);
        let castling = [(mover, CastlingSide::KingSide), (mover, CastlingSide::QueenSide)]
            .into_iter()
            .chain([(!mover, CastlingSide::KingSide), (!mover, CastlingSide::QueenSide)])
            .map(|(color, side)| has(color, side));
        let mut rights = [false; 4];
        rights.iter_mut().zip(castling).for_each(|(right, has)| *right = has);
        Board { pieces, castling: rights }
    }

    /// Kind and square of each piece; the mover's kinds come first.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let there = self.pieces.iter().filter(|piece| **piece != EMPTY);
        there.map(|piece| (usize::from(piece / 64), usize::from(piece % 64)))
    }

    /// Each piece as (slot, kind, square). The 32 slots are those of the initial position, by side and role; a
    /// promoted piece takes the slot of a pawn. A piece without a free slot is omitted.
    pub fn placed(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let mut taken = [false; PIECES];
        // Pawns first: promoted pieces get the remaining slots.
        let mut pieces: Vec<(usize, usize)> = self.pieces().collect();
        pieces.sort_by_key(|(kind, square)| (kind / 6, kind % 6 != 0, *kind, *square));
        pieces.into_iter().filter_map(move |(kind, square)| {
            let side = 16 * (kind / 6);
            let (first, count) = places(kind);
            let own = side + first..side + first + count;
            let place = own.chain(side..side + 8).find(|place| !taken[*place])?;
            taken[place] = true;
            Some((place, kind, square))
        })
    }
}

/// First slot and number of slots of a role among its side's sixteen.
fn places(kind: usize) -> (usize, usize) {
    match kind % 6 {
        0 => (0, 8),
        1 => (8, 2),
        2 => (10, 2),
        3 => (12, 2),
        4 => (14, 1),
        _ => (15, 1),
    }
}

/// The board of a FEN.
#[cfg(test)]
pub(super) fn board(fen: &str) -> Board {
    Board::new(engine::chess::game::Game::from_fen(fen, false).unwrap().position())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_colours_see_their_own_side_below() {
        let white = board("r3k3/8/8/8/8/8/4P3/4K2R w Kq - 0 1");
        assert_eq!(white, board("4k2r/4p3/8/8/8/8/8/R3K3 b Qk - 0 1"));
        assert_eq!(white.castling, [true, false, false, true]);
        assert!(white.pieces().any(|piece| piece == (3, 7)), "a rook of the mover on h1");
        assert!(white.pieces().any(|piece| piece == (11, 60)), "the enemy's king on e8");
    }

    #[test]
    fn every_piece_has_a_place_and_promoted_ones_a_pawns() {
        let full = board("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        let mut places: Vec<usize> = full.placed().map(|(place, ..)| place).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..PIECES));
        let queens = board("4k3/8/8/8/8/8/PPPPPP2/QQ2K3 w - - 0 1");
        let places: Vec<usize> = queens.placed().map(|(place, ..)| place).collect();
        // Six pawns, a queen, the second queen in the seventh pawn's slot, two kings.
        assert_eq!(places, [0, 1, 2, 3, 4, 5, 14, 6, 15, 31]);
    }
}

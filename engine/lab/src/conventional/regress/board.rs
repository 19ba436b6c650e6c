//! A board as the regressors see it: always from the side of whoever is to move, Black's turned upside down.

use shakmaty::{CastlingSide, Chess, Color, Position};

/// At most so many pieces stand on a board of chess.
pub const PIECES: usize = 32;
/// Kinds of pieces: the mover's six, pawns first, then the enemy's.
pub const KINDS: usize = 12;
/// No piece.
const NOBODY: u16 = u16::MAX;

/// What a position is to a regressor: no history, no en passant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// `64 * kind + square` of each piece, in order, none repeated.
    pieces: [u16; PIECES],
    /// The mover may castle with the rook of the h side, of the a side, then the enemy.
    pub castling: [bool; 4],
}

impl Board {
    /// The board of a position.
    #[must_use]
    pub fn new(position: &Chess) -> Board {
        let mut pieces = [NOBODY; PIECES];
        let mover = position.turn();
        for (slot, (square, piece)) in pieces.iter_mut().zip(position.board().iter()) {
            let seen = if mover == Color::White { square } else { square.flip_vertical() };
            let kind = piece.role as u16 - 1 + if piece.color == mover { 0 } else { 6 };
            *slot = 64 * kind + u16::from(seen);
        }
        // White's and Black's own side come in another order.
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

    /// Kind (the mover's pieces first) and square of each piece.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let there = self.pieces.iter().filter(|piece| **piece != NOBODY);
        there.map(|piece| (usize::from(piece / 64), usize::from(piece % 64)))
    }

    /// Each piece as (place, kind, square). Its place among 32 is that of its side and role, of which there are
    /// as many as a game begins with; a promoted piece takes the place of a pawn, which it was. A piece for
    /// which none is left has none.
    pub fn placed(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let mut taken = [false; PIECES];
        // Pawns first: promoted pieces get what they leave.
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

/// First place and number of places of a role among its side's sixteen.
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
        // Six pawns, a queen, the second queen where the seventh pawn was, two kings.
        assert_eq!(places, [0, 1, 2, 3, 4, 5, 14, 6, 15, 31]);
    }
}

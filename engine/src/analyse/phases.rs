//! Divides a game into opening, middlegame and endgame by its pieces, with two of the criteria of lichess
//! (`scalachess`, `Divider.scala`; its measure of how mixed the sides' pieces are is left out).

use crate::pgn::Positions;
use shakmaty::{Board, ByColor, Chess, Color, Position, Rank};
use std::ops::Range;

/// Pieces other than kings and pawns, of both sides, up to which a middlegame has begun.
const MIDDLEGAME_PIECES: usize = 10;
/// Those up to which an endgame has begun.
const ENDGAME_PIECES: usize = 6;
/// Pieces and pawns of a side on its first rank below which it is developed.
const UNDEVELOPED: usize = 4;

/// Part of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name.
    pub name: &'static str,
    /// Plies, from 0; may be empty.
    pub plies: Range<usize>,
}

/// Opening, middlegame and endgame of a game, in order; all plies are in one of them.
#[must_use]
pub fn phases(positions: &Positions) -> [Phase; 3] {
    let boards = || positions.boards().iter().map(Chess::board);
    let plies = positions.plies();
    let end = boards().position(|board| pieces(board) <= ENDGAME_PIECES);
    let end = end.unwrap_or(plies).min(plies);
    let middle =
        boards().position(|board| pieces(board) <= MIDDLEGAME_PIECES || is_developed(board));
    let middle = middle.unwrap_or(plies).min(end);
    [("Opening", 0..middle), ("Middlegame", middle..end), ("Endgame", end..plies)]
        .map(|(name, plies)| Phase { name, plies })
}

fn pieces(board: &Board) -> usize {
    (board.occupied() & !board.kings() & !board.pawns()).count()
}

/// Whether one side has left its first rank.
fn is_developed(board: &Board) -> bool {
    let left = ByColor { white: Rank::First, black: Rank::Eighth };
    Color::ALL.into_iter().any(|color| (board.by_color(color) & left[color]).count() < UNDEVELOPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_phase() {
        let of = |fen: &str| {
            let board = Board::from_ascii_board_fen(fen.as_bytes()).unwrap();
            (pieces(&board), is_developed(&board))
        };
        assert_eq!(of("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"), (14, false));
        assert_eq!(of("r3k2r/ppp2ppp/8/8/8/8/PPP2PPP/R3K2R"), (4, true));
        // Castled, with queen and bishops developed: king and both rooks are left.
        assert_eq!(of("r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R4RK1"), (14, true));
    }
}

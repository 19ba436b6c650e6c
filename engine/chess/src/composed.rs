//! Composed positions: more pieces than a game can give a side.

use shakmaty::{Chess, Color, Position, PositionError, Rank, Role, attacks};

/// Most legal moves of a position that a game can reach (N. Petrovic, 1964).
pub const MOST_MOVES: usize = 218;

/// Accepts a position that was refused for its material alone and whose sides have at most [`MOST_MOVES`] moves:
/// composed ones, as those of paper 003, may have nine pawns or many bishops.
///
/// # Errors
/// The refusal, if it has other reasons or the moves could be too many for a list.
#[expect(clippy::result_large_err, reason = "both are shakmaty's, for `or_else`")]
pub fn composed(refused: PositionError<Chess>) -> Result<Chess, PositionError<Chess>> {
    let unchanged = refused.clone();
    let position = refused.ignore_too_much_material()?;
    let fits = Color::ALL.iter().all(|&side| moves_at_most(&position, side) <= MOST_MOVES);
    if fits { Ok(position) } else { Err(unchanged) }
}

/// Upper bound of the moves of `side`: its pieces' attacks, four promotions on each square, pushes and castling.
fn moves_at_most(position: &Chess, side: Color) -> usize {
    let board = position.board();
    let mut moves = 2;
    for square in board.by_color(side) {
        let Some(piece) = board.piece_at(square) else { continue };
        let reached = attacks::attacks(square, piece, board.occupied()) & !board.by_color(side);
        moves += match piece.role {
            Role::Pawn if square.rank() == side.relative_rank(Rank::Seventh) => 12,
            Role::Pawn => 4,
            _ => reached.count(),
        };
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::fen::Fen;
    use shakmaty::{CastlingMode, PositionErrorKinds};

    #[test]
    fn composed_positions_are_accepted_up_to_the_moves_of_a_list() {
        let read = |board: &str| {
            let fen: Fen = format!("{board} w - - 0 1").parse().expect("a FEN");
            let position = fen.into_position(CastlingMode::Chess960).or_else(composed);
            position.map_err(|refused| refused.kinds())
        };
        for board in [
            "8/p4p2/kpP2p2/qrp1bp2/rpP2p2/pP6/P3K3/8",
            "n1B4r/r1p2k2/BpPp3p/pP1PpBpP/P1RbPpPb/1R1RbPbB/R1K3R1/1R3R1R",
            "6bQ/1b1b2PR/2b1b1PQ/3b2P1/2b3PQ/1b2p1PQ/b3P1P1/2k1KBRR",
        ] {
            let position = read(board).expect("composed");
            let bound = moves_at_most(&position, Color::White);
            assert!((1..=bound).contains(&position.legal_moves().len()), "{board}: {bound}");
        }
        let queens = read("QQQQQQQQ/Q6Q/Q6Q/Q6Q/Q6Q/QQn4Q/nnQ4Q/knQQQQQK").expect_err("refused");
        assert_eq!(queens, PositionErrorKinds::TOO_MUCH_MATERIAL);
        let two_kings = read("8/p4p2/kpP2p2/qrp1bp2/rpP2p2/pP6/P3KK2/8").expect_err("refused");
        assert!(two_kings.contains(PositionErrorKinds::TOO_MANY_KINGS));
    }
}

//! The scale of scores inside the search, in which what is known of margins is told (Stockfish): 361 points are a hundred centipawns.

use crate::conventional::exchange;
use crate::conventional::table::MATES;
use shakmaty::{Chess, Move, Position, Role};

/// Points that make a hundred centipawns.
const POINTS: i32 = 361;
/// No evaluation says more, so that none is taken for a mate.
pub(super) const MOST: i32 = 20_000;

pub(super) fn points(centipawns: i32) -> i32 {
    centipawns * POINTS / 100
}

/// Of a score; mates stay as they are.
pub(super) fn centipawns(score: i32) -> i32 {
    if score.abs() >= MATES { score } else { score * 100 / POINTS }
}

/// What a piece is worth.
pub(super) fn piece_value(role: Role) -> i32 {
    match role {
        Role::Pawn => 208,
        Role::Knight => 781,
        Role::Bishop => 825,
        Role::Rook => 1_276,
        Role::Queen => 2_538,
        Role::King => 0,
    }
}

/// What the mover's pieces other than pawns are worth together. None: it may well be better to pass, were it allowed.
pub(super) fn worth_of_pieces(position: &Chess) -> i32 {
    let (board, us) = (position.board(), position.us());
    let of = |role| piece_value(role) * (board.by_role(role) & us).count() as i32;
    [Role::Knight, Role::Bishop, Role::Rook, Role::Queen].into_iter().map(of).sum()
}

/// Whether a move wins so many points by exchanges. Castling and promotions win nothing and lose nothing.
pub(super) fn wins(position: &Chess, m: Move, least: i32) -> bool {
    match m {
        Move::Normal { promotion: None, .. } => exchange::wins(position, m, least, piece_value),
        _ => least <= 0,
    }
}

//! The scale of scores inside the search, in which what is known of margins is told (Stockfish 15.1): 361 points are a hundred centipawns.

use crate::conventional::exchange;
use crate::conventional::table::MATES;
use shakmaty::{Chess, Move, Role};

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

/// What a piece is worth while many are on the board: what exchanges and the order of captures go by.
pub(super) fn opening_value(role: Role) -> i32 {
    match role {
        Role::Pawn => 126,
        Role::Knight => 781,
        Role::Bishop => 825,
        Role::Rook => 1_276,
        Role::Queen => 2_538,
        Role::King => 0,
    }
}

/// What a piece is worth when few are left: what a capture may add to the evaluation.
pub(super) fn endgame_value(role: Role) -> i32 {
    match role {
        Role::Pawn => 208,
        Role::Knight => 854,
        Role::Bishop => 915,
        Role::Rook => 1_380,
        Role::Queen => 2_682,
        Role::King => 0,
    }
}

/// Whether a move wins so many points by exchanges. Castling and promotions win nothing and lose nothing.
pub(super) fn wins(position: &Chess, m: Move, least: i32) -> bool {
    match m {
        Move::Normal { promotion: None, .. } => exchange::wins(position, m, least, opening_value),
        _ => least <= 0,
    }
}

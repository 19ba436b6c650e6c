//! Units of scores. Inside the search they are Stockfish's points, 361 to a hundred centipawns, because its margins are; outside they are
//! centipawns and win probabilities.

use super::exchange;
use super::table::MATES;
use shakmaty::{Chess, Move, Position, Role};

/// Points that make a hundred centipawns.
const POINTS: i32 = 361;
/// No evaluation says more, so that none is taken for a mate.
pub(super) const MOST: i32 = 20_000;

pub(super) fn points(centipawns: i32) -> i32 {
    centipawns * POINTS / 100
}

/// The win probability of a score in centipawns (paper 000, footnote to section 2).
#[must_use]
pub fn win(centipawns: i32) -> f32 {
    1.0 / (1.0 + (-LOGIT * centipawns as f32).exp())
}

/// Centipawns of a win probability's logit.
#[must_use]
pub fn centipawns_of_logit(logit: f32) -> i32 {
    (logit / LOGIT) as i32
}

/// Points of a win probability; those of 0 and 1 are no evaluation's.
pub(super) fn points_of_win(win: f32) -> i32 {
    let logit = (win / (1.0 - win)).ln();
    let centipawns = if logit.is_nan() { -f32::INFINITY } else { logit / LOGIT };
    points(centipawns.clamp(-MOST_CENTIPAWNS, MOST_CENTIPAWNS) as i32)
}

/// Logit of the win probability per centipawn (paper 000, footnote to section 2).
const LOGIT: f32 = 0.003_682_08;
/// Centipawns of [`MOST`].
const MOST_CENTIPAWNS: f32 = 5_540.0;

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

/// Whether a move wins at least `least` points by exchanges. Castling and promotions win nothing and lose nothing.
pub(super) fn wins(position: &Chess, m: Move, least: i32) -> bool {
    match m {
        Move::Normal { promotion: None, .. } => exchange::wins(position, m, least, piece_value),
        _ => least <= 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn win_probabilities_and_points_invert_each_other() {
        assert!((win(0) - 0.5).abs() < 1e-6 && win(400) > 0.8 && win(-400) < 0.2);
        for centipawns in [-900, -35, 0, 1, 250, 1200] {
            let there_and_back = points_of_win(win(centipawns));
            assert!((there_and_back - points(centipawns)).abs() <= 8, "{there_and_back}");
        }
        assert!(points_of_win(1.0) <= MOST && points_of_win(-0.1) >= -MOST);
        assert_eq!(points_of_win(0.0), points_of_win(-0.5));
    }
}

//! Units of scores. The search uses Stockfish's points, 361 per 100 centipawns, because its margins do; callers see
//! centipawns and win probabilities.

use super::exchange;
use super::table::MATES;
use shakmaty::{Chess, Move, Position, Role};

/// Points per 100 centipawns.
const POINTS_PER_PAWN: i32 = 361;
/// Maximum static eval, below all mate scores.
pub(super) const MAX_EVAL: i32 = 20_000;

pub(super) fn points(centipawns: i32) -> i32 {
    centipawns * POINTS_PER_PAWN / 100
}

/// Win probability of a score in centipawns (paper 000, footnote to section 2).
#[must_use]
pub fn win(centipawns: i32) -> f32 {
    1.0 / (1.0 + (-LOGIT_PER_CENTIPAWN * centipawns as f32).exp())
}

/// Centipawns of a win probability's logit.
#[must_use]
pub fn centipawns_of_logit(logit: f32) -> i32 {
    (logit / LOGIT_PER_CENTIPAWN) as i32
}

/// Points of a win probability, clamped: 0 and 1 have infinite logits.
pub(super) fn points_of_win(win: f32) -> i32 {
    let logit = (win / (1.0 - win)).ln();
    let centipawns = if logit.is_nan() { -f32::INFINITY } else { logit / LOGIT_PER_CENTIPAWN };
    points(centipawns.clamp(-MOST_CENTIPAWNS, MOST_CENTIPAWNS) as i32)
}

/// Logit of the win probability per centipawn (paper 000, footnote to section 2).
const LOGIT_PER_CENTIPAWN: f32 = 0.003_682_08;
/// [`MAX_EVAL`] in centipawns.
const MOST_CENTIPAWNS: f32 = 5_540.0;

/// Converts points to centipawns; mate scores are unchanged.
pub(super) fn centipawns(score: i32) -> i32 {
    if score.abs() >= MATES { score } else { score * 100 / POINTS_PER_PAWN }
}

/// Piece values in points.
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

/// The mover's non-pawn material, in points. At 0, zugzwang is likely: no null move.
pub(super) fn non_pawn_material(position: &Chess) -> i32 {
    let (board, us) = (position.board(), position.us());
    let of = |role| piece_value(role) * (board.by_role(role) & us).count() as i32;
    [Role::Knight, Role::Bishop, Role::Rook, Role::Queen].into_iter().map(of).sum()
}

/// Static exchange evaluation of at least `least` points. Castling and promotions count as 0.
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
        assert!(points_of_win(1.0) <= MAX_EVAL && points_of_win(-0.1) >= -MAX_EVAL);
        assert_eq!(points_of_win(0.0), points_of_win(-0.5));
    }
}

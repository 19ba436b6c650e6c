//! A move without network or search, for when both are gone.

use chess::action::Action;
use chess::game::Game;
use shakmaty::{Move, Position, Role};

/// A mate, else the best capture or promotion, else the first of `allowed`, which are legal and not none.
#[must_use]
pub fn fallback_move(game: &Game, allowed: &[Action]) -> Action {
    let score = |action: &Action| {
        let Some(m) = action.to_move(game.position()) else { return -1 };
        let mut after = game.position().clone();
        after.play_unchecked(m);
        if after.is_checkmate() { 100 } else { material(m) }
    };
    // The first of the best, so that repeated runs agree.
    let best = allowed.iter().rev().max_by_key(|action| score(action));
    best.copied().unwrap_or(Action::from(0))
}

/// Twice what the move wins, less half of what it risks when it captures.
fn material(m: Move) -> i32 {
    let points = |role: Role| [0, 1, 3, 3, 5, 9, 0][role as usize];
    2 * (m.capture().map_or(0, points) + m.promotion().map_or(0, points))
        - i32::from(m.is_capture()) * points(m.role()) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mate_or_a_capture_is_found() {
        let game = Game::from_fen("7k/8/5KQ1/8/8/8/q7/8 w - - 0 1", false).unwrap();
        let best = fallback_move(&game, &game.legal_actions());
        assert_eq!(game.uci(best), "g6g7");
        let game = Game::from_fen("7k/8/8/3q4/4P3/8/8/K7 w - - 0 1", false).unwrap();
        assert_eq!(game.uci(fallback_move(&game, &game.legal_actions())), "e4d5");
    }
}

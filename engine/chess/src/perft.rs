//! `mavka perft` and `go perft`: counts leaves of the move tree through the packed moves of the search, and so tests
//! both.

use super::action::Action;
use super::game::Game;
use shakmaty::{Chess, Position};

/// Prints the count below each move, then the total. False if `cancelled` aborted it, without a total.
pub fn divide(
    game: &Game,
    depth: u32,
    cancelled: &dyn Fn() -> bool,
    say: &mut dyn FnMut(String),
) -> bool {
    let mut total: u64 = u64::from(depth == 0);
    if depth > 0 {
        for action in game.legal_actions() {
            let Some(count) = after(game.position(), action, depth - 1, cancelled) else {
                return false;
            };
            total += count;
            say(format!("{}: {count}", game.uci(action)));
        }
    }
    say(String::new());
    say(format!("Nodes searched: {total}"));
    true
}

/// Leaves `depth` plies below `position`; None if cancelled.
pub fn count(position: &Chess, depth: u32, cancelled: &dyn Fn() -> bool) -> Option<u64> {
    if depth == 0 {
        return Some(1);
    }
    if depth >= 3 && cancelled() {
        return None;
    }
    let legal = position.legal_moves();
    if depth == 1 {
        return u64::try_from(legal.len()).ok();
    }
    legal
        .into_iter()
        .try_fold(0, |sum, m| Some(sum + after(position, Action::new(m), depth - 1, cancelled)?))
}

fn after(
    position: &Chess,
    action: Action,
    depth: u32,
    cancelled: &dyn Fn() -> bool,
) -> Option<u64> {
    // An action that cannot be decoded counts as 0, so that the total shows the error.
    let Some(m) = action.to_move(position) else { return Some(0) };
    let mut next = position.clone();
    next.play_unchecked(m);
    count(&next, depth, cancelled)
}

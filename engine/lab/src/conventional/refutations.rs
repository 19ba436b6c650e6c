//! Move ordering of the classical alpha-beta search: killer moves and the history heuristic.

use super::evaluation::value;
use chess::action::Action;
use shakmaty::{Color, Move};

/// Killer moves, two per ply, and history scores by side, origin and target.
pub struct OrderingTables {
    killers: Vec<[Option<Action>; 2]>,
    history: Vec<i32>,
}

impl OrderingTables {
    /// Empty tables for lines of `plies`.
    #[must_use]
    pub fn new(plies: usize) -> OrderingTables {
        OrderingTables { killers: vec![[None; 2]; plies], history: vec![0; 2 * 64 * 64] }
    }

    /// Updates killers and history after a beta cutoff.
    pub fn update(&mut self, turn: Color, m: Move, depth: i32, ply: usize) {
        if m.is_capture() || m.is_promotion() {
            return;
        }
        let action = Action::new(m);
        if let Some([first, second]) = self.killers.get_mut(ply)
            && *first != Some(action)
        {
            *second = first.replace(action);
        }
        let update = &mut self.history[index(turn, action)];
        *update = (*update + depth * depth).min(1_000_000);
    }

    /// Rank for move ordering: captures by MVV-LVA, promotions, killer moves, then quiet moves by history.
    #[must_use]
    pub fn rank(&self, turn: Color, m: Move, ply: usize) -> i32 {
        if let Some(victim) = m.capture() {
            return 2_000_000 + 10 * value(victim) - value(m.role());
        }
        if let Some(role) = m.promotion() {
            return 1_900_000 + value(role);
        }
        let action = Action::new(m);
        if self.killers.get(ply).is_some_and(|killers| killers.contains(&Some(action))) {
            return 1_800_000;
        }
        self.history[index(turn, action)]
    }
}

fn index(turn: Color, action: Action) -> usize {
    (usize::from(turn.is_white()) * 64 + usize::from(action.origin())) * 64
        + usize::from(action.target())
}

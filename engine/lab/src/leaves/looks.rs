//! What a short alpha-beta search of a position looks at.

use engine::alphabeta::{AlphaBeta, Found, Question, Watch};
use nn::nnue::Nnue;
use shakmaty::Chess;
use std::sync::Arc;

/// Entries of a search's table: it looks at a few thousand positions.
const POSITIONS: usize = 1 << 15;

/// For such searches.
pub fn memory(nnue: Arc<Nnue>) -> AlphaBeta {
    AlphaBeta::new(nnue, POSITIONS)
}

/// Searches until so many positions were looked at, and answers with what was found and with one in sixteen of these, as far as they are to
/// be kept. `keys` are those of the positions so far, the root's last.
pub fn look(
    memory: &mut AlphaBeta,
    keys: impl IntoIterator<Item = u64>,
    position: &Chess,
    left: u64,
    keeps: fn(&Chess) -> bool,
) -> (Option<Found>, Vec<Chess>) {
    let mut seen = Seen { left, keeps, positions: Vec::new() };
    let question = Question { position, allowed: &[], lines: 1, compare: None };
    let found = memory.search(keys, &question, &mut seen);
    (found, seen.positions)
}

/// Some positions of a search.
struct Seen {
    left: u64,
    keeps: fn(&Chess) -> bool,
    positions: Vec<Chess>,
}

impl Watch for Seen {
    fn is_over(&mut self, positions: u64, at: &Chess) -> bool {
        if (self.keeps)(at) {
            self.positions.push(at.clone());
        }
        self.left = self.left.saturating_sub(positions);
        self.left == 0
    }

    fn on_depth(&mut self, _: &Found) {}
}

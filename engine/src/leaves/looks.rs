//! What a short alpha-beta search of a position looks at.

use crate::chess::action::Action;
use crate::conventional::selective::{self, Found, Memory, Question, Watch};
use crate::conventional::table::Table;
use nn::nnue::Nnue;
use shakmaty::Chess;
use std::sync::Arc;

/// Entries of a search's table: it looks at a few thousand positions.
const POSITIONS: usize = 1 << 15;

/// For such searches.
pub fn memory(nnue: Arc<Nnue>) -> Memory {
    Memory::new(nnue, Arc::new(Table::new(POSITIONS)))
}

/// Searches until so many positions were looked at, and answers with what was found and with one in sixteen of these, as far as they are to
/// be kept. `keys` are those of the positions so far, the root's last.
pub fn look(
    memory: &mut Memory,
    keys: impl IntoIterator<Item = u64>,
    position: &Chess,
    left: u64,
    keeps: fn(&Chess) -> bool,
) -> (Option<Found>, Vec<Chess>) {
    let mut seen = Seen { left, keeps, positions: Vec::new() };
    let question = Question { position, allowed: &[], lane: 0, lines: 1 };
    let found = selective::search(memory, keys, &question, &mut seen);
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

    fn favourite(&self) -> Option<Action> {
        None
    }

    fn heard(&mut self, _: &Found) {}
}

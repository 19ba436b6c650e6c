//! Positions visited by a short alpha-beta search.

use alphabeta::nnue::Nnue;
use alphabeta::{AlphaBeta, Observer, SearchRequest, SearchResult};
use shakmaty::Chess;
use std::sync::Arc;

/// Table entries: a search visits a few thousand positions.
const POSITIONS: usize = 1 << 15;

/// A search with a small table.
pub fn memory(nnue: Arc<Nnue>) -> AlphaBeta {
    AlphaBeta::new(nnue, POSITIONS)
}

/// Searches up to `left` positions; returns the result and a sample of one in sixteen visited positions that satisfy
/// the filter. `keys` are those of the game, the root's last.
pub fn sample_search(
    memory: &mut AlphaBeta,
    keys: impl IntoIterator<Item = u64>,
    position: &Chess,
    left: u64,
    keeps: fn(&Chess) -> bool,
) -> (Option<SearchResult>, Vec<Chess>) {
    let mut seen = Sampler { left, keeps, positions: Vec::new() };
    let question = SearchRequest { position, allowed: &[], lines: 1, compare: None };
    let found = memory.search(keys, &question, &mut seen);
    (found, seen.positions)
}

/// Samples positions of a search.
struct Sampler {
    left: u64,
    keeps: fn(&Chess) -> bool,
    positions: Vec<Chess>,
}

impl Observer for Sampler {
    fn is_over(&mut self, positions: u64, at: &Chess) -> bool {
        if (self.keeps)(at) {
            self.positions.push(at.clone());
        }
        self.left = self.left.saturating_sub(positions);
        self.left == 0
    }

    fn on_depth(&mut self, _: &SearchResult) {}
}

//! Second opinions for the tree search: a small alpha-beta search of material looks where many playouts have been, for
//! a move that wins something and that the network does not see.

use crate::chess::action::Action;
use crate::conventional::selective::{self, Memory, Question};
use crossbeam::queue::SegQueue;
use shakmaty::Chess;

/// Plies that must have been searched.
const SHALLOWEST: u32 = 2;
/// The fewest nodes of one look: less than a millisecond.
const LEAST: u64 = 2_000;
/// The most nodes of one look, about a third of a second.
const MOST: u64 = 1_000_000;

/// Looks for what is overlooked. Shared by the threads of a search.
pub struct Scout {
    nodes_per_visit: u64,
    margin: i32,
    /// Those that no thread is using: each is a thread's own while it looks.
    idle: SegQueue<Memory>,
}

impl Scout {
    /// Spends so many nodes of alpha-beta on each visit of a position; None for 0.
    #[must_use]
    pub fn new(nodes_per_visit: u64, margin: i32) -> Option<Scout> {
        (nodes_per_visit > 0).then(|| Scout { nodes_per_visit, margin, idle: SegQueue::new() })
    }

    /// The line of a move that is better than `favourite` by far. `keys` are those of the positions so far, this one's last.
    pub(super) fn look(
        &self,
        position: &Chess,
        keys: impl IntoIterator<Item = u64>,
        favourite: Action,
        visits: u64,
        stopped: &dyn Fn() -> bool,
    ) -> Option<Vec<Action>> {
        let mut memory = self.idle.pop().unwrap_or_default();
        let question = Question {
            position,
            favourite,
            margin: self.margin,
            budget: visits.saturating_mul(self.nodes_per_visit).clamp(LEAST, MOST),
            stopped,
        };
        let found = selective::search(&mut memory, keys, &question);
        self.idle.push(memory);
        found.filter(|found| found.behind && found.depth >= SHALLOWEST).map(|found| found.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;

    fn look(fen: &str, favourite: &str) -> Option<String> {
        let game = Game::from_fen(fen, false).unwrap();
        let mut moves = game.legal_actions().into_iter();
        let favourite = moves.find(|action| game.uci(*action) == favourite).unwrap();
        let scout = Scout::new(20, 80).unwrap();
        let named =
            scout.look(game.position(), game.keys().iter().copied(), favourite, 512, &|| false)?;
        named.first().map(|named| game.uci(*named))
    }

    #[test]
    fn what_wins_material_is_named_and_what_is_as_good_is_not() {
        let fork = "r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1";
        assert_eq!(look(fork, "e1e2").as_deref(), Some("b5c7"));
        assert_eq!(look(fork, "b5c7"), None);
        let quiet = "4k3/pppp4/8/8/8/8/4PPPP/4K3 w - - 0 1";
        assert_eq!(look(quiet, "e1d2"), None);
        let mate = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1";
        assert_eq!(look(mate, "d1d7").as_deref(), Some("d1d8"));
    }

    #[test]
    fn a_stopped_search_is_not_kept_waiting() {
        let fork = "r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1";
        let game = Game::from_fen(fork, false).unwrap();
        let scout = Scout::new(1000, 80).unwrap();
        let asked = std::cell::Cell::new(0);
        let stopped = || {
            asked.set(asked.get() + 1);
            true
        };
        let keys = game.keys().iter().copied();
        let _ = scout.look(game.position(), keys, game.legal_actions()[0], 1 << 20, &stopped);
        assert_eq!(asked.get(), 1);
    }
}

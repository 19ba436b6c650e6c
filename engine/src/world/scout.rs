//! Second opinions for the tree search: a small alpha-beta search of material looks where many playouts have been, for
//! a move that wins something and that the network does not see.

use crate::chess::action::Action;
use crate::conventional::bundled::nnue;
use crate::conventional::evaluation::win;
use crate::conventional::selective::{self, Memory, Question, Scouted};
use crossbeam::queue::SegQueue;
use mcts::Opinion;
use nn::nnue::Nnue;
use shakmaty::Chess;
use std::sync::Arc;

/// Plies that must have been searched.
const SHALLOWEST: u32 = 2;
/// The fewest nodes of one look: less than a millisecond.
const LEAST: u64 = 2_000;
/// The most nodes of one look, about a third of a second.
const MOST: u64 = 1_000_000;

/// What a look may cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Visits that the position has gathered.
    pub visits: u64,
    /// Its distance from the search's root.
    pub plies: usize,
}

impl Effort {
    /// As many for each visit at the root and after its moves, from there on half as many with every ply: so all looks
    /// along a playout cost no more than three times those at the root, however deep the tree is.
    fn nodes(self, per_visit: u64) -> u64 {
        let halvings = u32::try_from(self.plies.saturating_sub(1)).unwrap_or(u32::MAX);
        let nodes = self.visits.saturating_mul(per_visit);
        nodes.checked_shr(halvings).unwrap_or(0).clamp(LEAST, MOST)
    }
}

/// Looks for what is overlooked. Shared by the threads of a search.
pub struct Scout {
    nodes_per_visit: u64,
    margin: i32,
    nnue: Arc<Nnue>,
    /// Those that no thread is using: each is a thread's own while it looks.
    idle: SegQueue<Memory>,
}

impl Scout {
    /// Spends so many nodes of alpha-beta on each visit of a position; None for 0, or if the small network is damaged.
    #[must_use]
    pub fn new(nodes_per_visit: u64, margin: i32) -> Option<Scout> {
        let asked = nodes_per_visit > 0;
        let nnue =
            asked.then(nnue)?.inspect_err(|why| log::warn!("no second opinions: {why}")).ok()?;
        Some(Scout { nodes_per_visit, margin, nnue, idle: SegQueue::new() })
    }

    /// The score, and the line of a move that is better than `favourite` by far. `keys` are those of the positions so far, this one's last.
    pub(super) fn look(
        &self,
        position: &Chess,
        keys: impl IntoIterator<Item = u64>,
        favourite: Action,
        effort: Effort,
        stopped: &dyn Fn() -> bool,
    ) -> Option<Opinion<Action>> {
        let mut memory = self.idle.pop().unwrap_or_else(|| Memory::new(self.nnue.clone()));
        let question = Question {
            position,
            favourite,
            margin: self.margin,
            budget: effort.nodes(self.nodes_per_visit),
            stopped,
        };
        let found = selective::search(&mut memory, keys, &question);
        self.idle.push(memory);
        let Scouted { line, score, behind, .. } =
            found.filter(|found| found.depth >= SHALLOWEST)?;
        Some(Opinion { value: win(score), line: if behind { line } else { Vec::new() } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;

    const FAR: Effort = Effort { visits: 512, plies: 0 };

    fn look(fen: &str, favourite: &str) -> Option<String> {
        let game = Game::from_fen(fen, false).unwrap();
        let mut moves = game.legal_actions().into_iter();
        let favourite = moves.find(|action| game.uci(*action) == favourite).unwrap();
        let scout = Scout::new(20, 80).unwrap();
        let named =
            scout.look(game.position(), game.keys().iter().copied(), favourite, FAR, &|| false)?;
        named.line.first().map(|named| game.uci(*named))
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
    fn all_looks_along_a_playout_cost_a_bounded_number_of_nodes() {
        let at = |plies| Effort { visits: 1000, plies }.nodes(200);
        assert_eq!([0, 1, 2, 3].map(at), [200_000, 200_000, 100_000, 50_000]);
        assert_eq!([20, 200].map(at), [LEAST; 2]);
        assert_eq!(Effort { visits: u64::MAX, plies: 0 }.nodes(200), MOST);
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
        let _ = scout.look(
            game.position(),
            keys,
            game.legal_actions()[0],
            Effort { visits: 1 << 20, plies: 0 },
            &stopped,
        );
        assert_eq!(asked.get(), 1);
    }
}

//! The scout: alpha-beta with a small network searches the root beside the tree search. It sees tactics that the tree is slow to
//! find; the tree judges better what is quiet.

use crate::chess::action::Action;
use crate::conventional::bundled::nnue;
use crate::conventional::evaluation::win;
use crate::conventional::selective::{self, Found, Memory, Question, Variation, Watch};
use crate::conventional::table::Table;
use mcts::{Opinion, Scouted};
use nn::nnue::Nnue;
use shakmaty::Chess;
use std::sync::{Arc, Mutex, PoisonError};

/// Plies that must have been searched.
const SHALLOWEST: u32 = 2;

/// Kept from move to move for what it remembers.
pub struct Scout {
    nnue: Arc<Nnue>,
    table: Arc<Table>,
    /// Of the threads that do not search at present.
    memories: Mutex<Vec<Memory>>,
}

impl Scout {
    /// Its threads remember `positions` together, a power of two. None if the small network is damaged.
    #[must_use]
    pub fn new(positions: usize) -> Option<Scout> {
        let nnue = nnue().inspect_err(|why| log::warn!("no scout: {why}")).ok()?;
        let table = Arc::new(Table::new(positions));
        Some(Scout { nnue, table, memories: Mutex::default() })
    }

    /// Searches for as long as `tree` goes on. `keys` are those of the positions so far, this one's last; `lane` is the number of
    /// the thread.
    pub(super) fn accompany(
        &self,
        position: &Chess,
        keys: impl IntoIterator<Item = u64>,
        lane: usize,
        tree: &mut dyn Scouted<Action>,
    ) {
        let question = Question { position, allowed: &tree.allowed(), lane, lines: tree.lines() };
        self.search(keys, &question, &mut Beside { tree, untold: 0 });
    }

    /// Searches alone until `watch` has enough. `keys` are those of the positions so far, the root's last.
    pub fn search(
        &self,
        keys: impl IntoIterator<Item = u64>,
        question: &Question<'_>,
        watch: &mut dyn Watch,
    ) -> Option<Found> {
        let memories = || self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = memories().pop();
        let mut memory = kept.unwrap_or_else(|| Memory::new(self.nnue.clone(), self.table.clone()));
        let found = selective::search(&mut memory, keys, question, watch);
        memories().push(memory);
        found
    }
}

/// Positions after which the tree has its turn: it looks at the clock each time.
const PATIENCE: u64 = 128;

/// A search beside the tree's.
struct Beside<'a> {
    tree: &'a mut dyn Scouted<Action>,
    /// Positions that it has not heard of.
    untold: u64,
}

impl Watch for Beside<'_> {
    fn is_over(&mut self, positions: u64, _: &Chess) -> bool {
        self.untold += positions;
        self.untold >= PATIENCE && !self.tree.goes_on(std::mem::take(&mut self.untold))
    }

    fn favourite(&self) -> Option<Action> {
        self.tree.favourite()
    }

    fn heard(&mut self, found: &Found) {
        if !found.best.line.is_empty() && found.depth >= SHALLOWEST {
            let tell = |found: &Variation| mcts::Variation {
                line: found.line.clone(),
                worth: win(found.score),
                mate_plies: found.mate_plies(),
            };
            let mut told = found.variations().map(tell);
            let favourite = found.favourite.as_ref().map(tell);
            if let Some(best) = told.next() {
                let others = told.collect();
                let Found { depth, seldepth, .. } = *found;
                self.tree.hear(Opinion { best, others, depth, seldepth, favourite });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::game::Game;

    /// A tree that prefers one move, and gives the scout so many positions.
    struct Fixed {
        favourite: Action,
        allowed: Vec<Action>,
        left: u64,
        last: Option<Opinion<Action>>,
    }

    impl Scouted<Action> for Fixed {
        fn goes_on(&mut self, positions: u64) -> bool {
            self.left = self.left.saturating_sub(positions);
            self.left > 0
        }

        fn favourite(&self) -> Option<Action> {
            Some(self.favourite)
        }

        fn allowed(&self) -> Vec<Action> {
            self.allowed.clone()
        }

        fn lines(&self) -> usize {
            1
        }

        fn hear(&mut self, opinion: Opinion<Action>) {
            self.last = Some(opinion);
        }
    }

    /// The best move, and whether the favourite is as good.
    fn ask(fen: &str, favourite: &str) -> (String, bool) {
        ask_of(fen, favourite, &[])
    }

    /// The same where these moves are not to be played.
    fn ask_of(fen: &str, favourite: &str, forbidden: &[&str]) -> (String, bool) {
        let game = Game::from_fen(fen, false).unwrap();
        let mut allowed = game.legal_actions();
        allowed.retain(|action| !forbidden.contains(&game.uci(*action).as_str()));
        let named = |action: &&Action| game.uci(**action) == favourite;
        let favourite = *allowed.iter().find(named).unwrap();
        let mut tree = Fixed { favourite, allowed, left: 20_000, last: None };
        let keys = game.keys().iter().copied();
        Scout::new(1 << 16).unwrap().accompany(game.position(), keys, 0, &mut tree);
        assert!(tree.left == 0 || tree.last.as_ref().is_some_and(|last| last.best.worth > 0.99));
        let last = tree.last.unwrap();
        let (best, most) = (last.best.line[0], last.best.worth);
        let content = last.favourite.is_some_and(|told| told.worth >= most);
        (game.uci(best), best == favourite || content)
    }

    #[test]
    fn what_wins_material_is_named_and_what_is_as_good_is_approved_of() {
        let fork = "r3k3/8/8/1N6/8/8/8/4K3 w - - 0 1";
        assert_eq!(ask(fork, "e1e2"), ("b5c7".to_owned(), false));
        assert_eq!(ask(fork, "b5c7"), ("b5c7".to_owned(), true));
        let rooks = "7k/8/6K1/8/8/8/8/R1R5 w - - 0 1";
        assert!(ask(rooks, "a1a8").1 && ask(rooks, "c1c8").1, "two mates");
        let mate = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1";
        assert_eq!(ask(mate, "d1d7"), ("d1d8".to_owned(), false));
        assert_ne!(ask_of(mate, "d1d7", &["d1d8"]).0, "d1d8");
    }
}

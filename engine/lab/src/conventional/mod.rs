//! Players without a network, as chess programs were before and as paper 002 (section "Tree engines") builds
//! them: [`negamax`] is minimax and alpha-beta with their heuristics over a small [`evaluation`] made by
//! hand, [`uct`] the tree of random games, [`regress`] small networks that guess a board's value. They know nothing of clocks and protocols: a
//! watch ends their searches.
//!
//! They are sparring partners and the lower rungs of the league, and share chess, options and reports with
//! the search that has a network.

pub mod evaluation;
pub mod negamax;
mod refutations;
pub mod regress;
pub mod uct;

use engine::play::player::{Player, PlayerFound, PlayerQuestion, PlayerWatch, StaticPlayer};
use negamax::Pruning;

/// The players of paper 002, section "Tree engines".
pub static PLAYERS: [(&str, StaticPlayer); 4] = [
    ("classical-alpha-beta", &Negamax(Pruning::AlphaBeta)),
    ("minimax", &Negamax(Pruning::None)),
    ("uct", &Uct { heuristics: false }),
    ("uct-heuristics", &Uct { heuristics: true }),
];

struct Negamax(Pruning);

impl Player for Negamax {
    fn search(
        &self,
        question: &PlayerQuestion<'_>,
        watch: &mut dyn PlayerWatch,
    ) -> Option<PlayerFound> {
        let PlayerQuestion { game, allowed, depth, .. } = *question;
        negamax::search(&negamax::Question { game, allowed, pruning: self.0, depth }, watch)
    }
}

struct Uct {
    heuristics: bool,
}

impl Player for Uct {
    fn search(
        &self,
        question: &PlayerQuestion<'_>,
        watch: &mut dyn PlayerWatch,
    ) -> Option<PlayerFound> {
        let PlayerQuestion { game, allowed, playouts, rollouts, seed, .. } = *question;
        let leaf = match self.heuristics {
            true => uct::LeafValue::Heuristics,
            false => uct::LeafValue::Rollouts(rollouts),
        };
        uct::search(&uct::Question { game, allowed, leaf, seed, playouts }, watch)
    }
}

//! Players without deep networks, after paper 002 (section "Tree engines"): [`negamax`] is minimax and alpha-beta with
//! classical heuristics and a hand-crafted [`evaluation`], [`uct`] is Monte-Carlo tree search with random games. They are independent of clocks and protocols: a watch stops
//! them.
//!
//! They are opponents for low ratings of the league, and share chess, options and reports with the network's search.

pub mod evaluation;
pub mod negamax;
mod refutations;
pub mod uct;

use engine::play::players::player::{
    Player, PlayerRequest, PlayerResult, PlayerWatch, StaticPlayer,
};
use negamax::Pruning;
use nn::rng::Rng;

/// The players of paper 002, section "Tree engines".
pub static PLAYERS: [(&str, StaticPlayer); 5] = [
    ("random", &RandomMover),
    ("classical-alpha-beta", &Negamax(Pruning::AlphaBeta)),
    ("minimax", &Negamax(Pruning::None)),
    ("uct", &Uct { heuristics: false }),
    ("uct-heuristics", &Uct { heuristics: true }),
];

/// Plays any legal move, each as likely as the others: the zero of what learns from nothing. The seed and the position decide.
struct RandomMover;

impl Player for RandomMover {
    fn search(
        &self,
        question: &PlayerRequest<'_>,
        _: &mut dyn PlayerWatch,
    ) -> Option<PlayerResult> {
        let PlayerRequest { game, allowed, seed, .. } = *question;
        let key = game.keys().last().copied().unwrap_or_default();
        let action = *allowed.get(Rng::new(seed ^ key).below(allowed.len().max(1)))?;
        let line = vec![action];
        Some(PlayerResult { line, win: 0.5, mate_plies: None, depth: 1, seldepth: 1, nodes: 1 })
    }
}

struct Negamax(Pruning);

impl Player for Negamax {
    fn search(
        &self,
        question: &PlayerRequest<'_>,
        watch: &mut dyn PlayerWatch,
    ) -> Option<PlayerResult> {
        let PlayerRequest { game, allowed, depth, .. } = *question;
        negamax::search(&negamax::NegamaxRequest { game, allowed, pruning: self.0, depth }, watch)
    }
}

struct Uct {
    heuristics: bool,
}

impl Player for Uct {
    fn search(
        &self,
        question: &PlayerRequest<'_>,
        watch: &mut dyn PlayerWatch,
    ) -> Option<PlayerResult> {
        let PlayerRequest { game, allowed, playouts, rollouts, seed, .. } = *question;
        let leaf = match self.heuristics {
            true => uct::LeafValue::Heuristics,
            false => uct::LeafValue::Rollouts(rollouts),
        };
        uct::search(&uct::UctRequest { game, allowed, leaf, seed, playouts }, watch)
    }
}

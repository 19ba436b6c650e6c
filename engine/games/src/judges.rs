//! The judge without a network: random games.

use crate::game::Game;
use crate::world::{INTRINSIC, Judge, Opinion};
use nn::rng::{Rng, split_mix};

/// Values a position by one random game; policy and action values are flat. With it the search is the plain Monte-Carlo tree search
/// of paper 000, table 1.
#[derive(Clone, Copy, Debug)]
pub struct RandomGames {
    /// The same seed and position give the same game, in any batch and on any thread.
    pub seed: u64,
}

impl<G: Game> Judge<G> for RandomGames {
    fn judge(&self, game: &G, states: &[&G::State]) -> Vec<Opinion> {
        let opinion = |&state: &&G::State| {
            let mut random = Rng::from_state(self.seed ^ split_mix(game.key(state)));
            let moves = game.moves(state).len();
            Opinion {
                wdl: game.random_game(state, &mut random),
                values: vec![0.5; moves],
                policy: vec![1.0 / moves as f32; moves],
                intrinsic: [0.0; INTRINSIC],
            }
        };
        states.iter().map(opinion).collect()
    }
}

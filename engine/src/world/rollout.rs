//! Baseline player: plain Monte-Carlo tree search with uniform priors, each leaf evaluated by one random game. The
//! last row of paper 000, table 1 (100 simulations a move), and the zero of its internal Elo scale.
//!
//! It uses the ordinary search: [`Rollouts`] takes the network's place; [`world`] and [`params`] join it to
//! [`RulesWorld`] and `mcts`.

use crate::world::RulesWorld;
use crate::world::rules::Scoring;
use chess::ending;
use mcts::Params;
use nn::rng::Rng;
use nn::{EvalError, Evaluation, Evaluator, Query};
use shakmaty::{Chess, Color, Position};
use std::sync::Arc;

/// Seed of the random games for the option `Search`.
pub const SEED: u64 = 0;

/// Maximum length in plies of a random game, then a draw. Nearly all end long before; the fifty-move rule alone would
/// allow thousands.
const MAX_PLIES: usize = 500;

/// Evaluates a position by one uniformly random game. All moves get the same policy and the action value 0.5, so that
/// no unvisited edge is preferred.
///
/// The game depends only on seed and position, not on batch or thread.
#[derive(Clone, Copy, Debug)]
pub struct Rollouts {
    /// Equal seeds give equal games.
    pub seed: u64,
}

impl Rollouts {
    fn answer(self, query: &Query<'_>) -> Result<Evaluation, EvalError> {
        let moves = query.legal.len();
        if moves == 0 {
            return Err(EvalError::NoMoves);
        }
        let mut random = Rng::from_state(self.seed ^ ending::key(query.position));
        let mover = query.position.turn();
        let (wdl, value) = match random_game(query.position.clone(), &mut random) {
            Some(winner) if winner == mover => ([1.0, 0.0, 0.0], 1.0),
            Some(_) => ([0.0, 0.0, 1.0], 0.0),
            None => ([0.0, 1.0, 0.0], 0.5),
        };
        Ok(Evaluation {
            wdl,
            value,
            value_mode: value,
            action_values: vec![0.5; moves],
            action_modes: vec![0.5; moves],
            policy: vec![1.0 / moves as f32; moves],
        })
    }
}

impl Evaluator for Rollouts {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        batch.iter().map(|query| self.answer(query)).collect()
    }

    fn preferred_batch(&self) -> usize {
        1
    }
}

/// Plays random moves to the end; returns the winner, None for a draw.
pub fn random_game(mut position: Chess, random: &mut Rng) -> Option<Color> {
    for _ in 0..MAX_PLIES {
        let legal = position.legal_moves();
        if let Some(ending) = ending::by_board(&position, legal.len()) {
            return ending.winner();
        }
        if ending::by_fifty_moves(&position) {
            return None;
        }
        position.play_unchecked(legal[random.below(legal.len())]);
    }
    None
}

/// The rules of chess with values from random games.
#[must_use]
pub fn world(seed: u64) -> RulesWorld {
    // Back up only the roll-out: action values carry no information.
    RulesWorld::new(Arc::new(Rollouts { seed }), Scoring::Mean, 1.0)
}

/// Search parameters: uniform prior over *all* moves (Eq. 1 would select the top few among equals), one leaf at a
/// time.
#[must_use]
pub fn params(seed: u64) -> Params {
    // No policy share: random games only.
    Params { batch: 1, policy_share: 1.0, epsilon: 1.0, seed, ..Params::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::rules::RulesState;
    use chess::action::Action;
    use chess::game::Game;
    use mcts::{Leaf, Patient, Searcher, World};

    fn search(fen: &str, seed: u64, playouts: u64) -> Option<Action> {
        let game = Game::from_fen(fen, false).unwrap();
        let mut searcher = Searcher::new(params(seed), 16 << 20);
        searcher.set_root(RulesState::root(&game));
        searcher.run(&world(seed), 1, Some(playouts), &Patient).best
    }

    #[test]
    fn the_same_seed_and_position_give_the_same_game() {
        let position = Chess::default();
        let legal = position.legal_moves();
        let query = Query { position: &position, legal: &legal };
        let values = |seed| -> Vec<f32> {
            let rollouts = Rollouts { seed };
            rollouts.evaluate(&[query, query]).unwrap().iter().map(|answer| answer.value).collect()
        };
        let prediction: Vec<f32> = (0..40)
            .map(|seed| {
                let pair = values(seed);
                assert_eq!(pair[0], pair[1], "seed {seed}");
                assert_eq!(pair, values(seed));
                pair[0]
            })
            .collect();
        for outcome in [0.0, 0.5, 1.0] {
            assert!(prediction.contains(&outcome), "no random game in 40 ended {outcome}");
        }
    }

    #[test]
    fn all_edges_are_equal() {
        let state = RulesState::root(&Game::default());
        let Some(Leaf::Open { edges, .. }) = world(1).evaluate(&[&state]).unwrap().pop() else {
            panic!("the game has only begun");
        };
        assert_eq!(edges.len(), 20);
        assert!(edges.iter().all(|edge| edge.q == 0.5 && (edge.policy - 0.05).abs() < 1e-6));
    }

    #[test]
    fn an_army_wins_more_random_games_than_a_bare_king() {
        let sum = |fen: &str| -> f32 {
            let game = Game::from_fen(fen, false).unwrap();
            let legal = game.position().legal_moves();
            let query = Query { position: game.position(), legal: &legal };
            (0..200).map(|seed| Rollouts { seed }.answer(&query).unwrap().value).sum()
        };
        let army = sum("4k3/p7/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1");
        let bare = sum("rnbqkbnr/pppppppp/8/8/8/8/P7/4K3 w kq - 0 1");
        assert!(army > 110.0 && bare < 90.0, "{army} {bare}");
    }

    #[test]
    fn mate_in_one_is_found() {
        let cases = [
            ("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", "a1a8"),
            ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", "h5f7"),
        ];
        for (fen, best) in cases {
            for seed in 0..3 {
                let found = search(fen, seed, 400).unwrap();
                assert_eq!(format!("{found:?}"), best, "seed {seed}");
            }
        }
    }

    #[test]
    fn one_thread_repeats_itself() {
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";
        let moves: Vec<_> = (0..6).map(|seed| search(fen, seed, 100)).collect();
        let repeated: Vec<_> = (0..6).map(|seed| search(fen, seed, 100)).collect();
        assert_eq!(moves, repeated);
    }
}

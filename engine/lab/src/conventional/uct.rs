//! UCT of paper 002: the ordinary tree search with uniform priors, leaves evaluated by random games. Its best variant
//! evaluates all children of an expanded node by the static evaluation and one random game each, and backs up their
//! maximum. The paper backs up their mean deep in the tree; here the maximum serves at every depth.

use super::evaluation::evaluate;
use alphabeta::scale::win;
use chess::action::Action;
use chess::ending::{by_board, key};
use chess::game::Game;
use engine::play::players::player::{PlayerResult, PlayerWatch};
use engine::world::RulesWorld;
use engine::world::rollout::{params, random_game};
use engine::world::rules::{RulesState, Scoring};
use mcts::{Params, Patient, Searcher, Snapshot};
use nn::rng::Rng;
use nn::{EvalError, Evaluation, Evaluator, Query};
use shakmaty::{Chess, Position};
use std::sync::Arc;

/// Evaluation of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafValue {
    /// Mean of this many random games.
    Rollouts(usize),
    /// Values of its children, each half static evaluation and half random game.
    Heuristics,
}

/// Weight of the static evaluation in a child's value; the random game has the rest. Guess.
const EVALUATION_WEIGHT: f32 = 0.5;
/// Exploration constant. Against a tree of UCT's own, whose bound is `sqrt(2 ln(N) / (n + 1))`: 0.3 scored -17 ± 70 Elo, 1 -83 ± 66, 16
/// -117 ± 98 (100 playouts of one random game, 40 to 60 games each).
const C_PUCT: f32 = 0.3;
/// Memory of the tree, in bytes.
const MEMORY: usize = 256 << 20;

/// Position and limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct UctRequest<'a> {
    /// The position is its last; earlier ones count for repetitions.
    pub game: &'a Game,
    /// Root moves, all legal.
    pub allowed: &'a [Action],
    /// Evaluation of leaves.
    pub leaf: LeafValue,
    /// Equal seeds play equal games.
    pub seed: u64,
    /// Exact number of playouts; None = unlimited.
    pub playouts: Option<u64>,
}

/// Searches until the watch or the playouts end it. None without moves.
pub fn search(question: &UctRequest<'_>, watch: &mut dyn PlayerWatch) -> Option<PlayerResult> {
    let UctRequest { game, allowed, leaf, seed, playouts } = *question;
    let world = RulesWorld::new(Arc::new(RandomGames { leaf, seed }), Scoring::Mean, 1.0);
    // Constant exploration, as in UCT.
    let params = Params { c_puct: C_PUCT, c_factor: 0.0, ..params(seed) };
    let mut searcher = Searcher::new(params, MEMORY);
    searcher.set_root(RulesState::root(game));
    searcher.restrict_root(allowed);
    let (mut done, mut seldepth, mut best) = (0, 1, None);
    while playouts.is_none_or(|most| done < most) && !(done > 0 && watch.is_over(done)) {
        let Snapshot { playouts, lines, depth, seldepth: plies, .. } =
            searcher.run(&world, 1, Some(1), &Patient).snapshot;
        if playouts == 0 {
            break;
        }
        (done, seldepth) = (done + playouts, seldepth.max(plies));
        let Some(line) = lines.into_iter().next() else { break };
        let (win, mate_plies) = (line.value.q(), line.mate_plies);
        let found =
            PlayerResult { line: line.moves, win, mate_plies, depth, seldepth, nodes: done };
        // Reports whenever the number of playouts has doubled.
        if done.is_power_of_two() && done >= 16 {
            watch.on_found(&found);
        }
        best = Some(found);
    }
    best
}

/// Evaluates positions by random games: uniform policy, so that the visits alone decide.
struct RandomGames {
    leaf: LeafValue,
    seed: u64,
}

impl RandomGames {
    fn answer(&self, query: &Query<'_>) -> Result<Evaluation, EvalError> {
        let moves = query.legal.len();
        if moves == 0 {
            return Err(EvalError::NoMoves);
        }
        let mut random = Rng::from_state(self.seed ^ key(query.position));
        let (value, action_values) = match self.leaf {
            LeafValue::Rollouts(games) => {
                let games = games.max(1);
                let wins: f32 = (0..games).map(|_| rollout(query.position, &mut random)).sum();
                (wins / games as f32, vec![0.5; moves])
            }
            LeafValue::Heuristics => {
                let after = |m: &shakmaty::Move| {
                    let mut next = query.position.clone();
                    next.play_unchecked(*m);
                    1.0 - by_hand(&next, &mut random)
                };
                let values: Vec<f32> = query.legal.iter().map(after).collect();
                (values.iter().copied().fold(0.0, f32::max), values)
            }
        };
        Ok(Evaluation {
            wdl: [value, 0.0, 1.0 - value],
            value,
            value_mode: value,
            action_modes: action_values.clone(),
            action_values,
            policy: vec![1.0 / moves as f32; moves],
        })
    }
}

impl Evaluator for RandomGames {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        batch.iter().map(|query| self.answer(query)).collect()
    }

    fn preferred_batch(&self) -> usize {
        1
    }
}

/// Value of a position for its side to move: static evaluation and a random game.
fn by_hand(position: &Chess, random: &mut Rng) -> f32 {
    match by_board(position, position.legal_moves().len()) {
        Some(ending) if ending.winner().is_some() => 0.0,
        Some(_) => 0.5,
        None => {
            EVALUATION_WEIGHT * win(evaluate(position))
                + (1.0 - EVALUATION_WEIGHT) * rollout(position, random)
        }
    }
}

/// Result of a random game for the side to move.
fn rollout(position: &Chess, random: &mut Rng) -> f32 {
    match random_game(position.clone(), random) {
        Some(winner) if winner == position.turn() => 1.0,
        Some(_) => 0.0,
        None => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Never stops the search.
    struct NeverStop;

    impl PlayerWatch for NeverStop {
        fn is_over(&mut self, _nodes: u64) -> bool {
            false
        }

        fn on_found(&mut self, found: &PlayerResult) {
            assert!(!found.line.is_empty());
        }
    }

    fn run(fen: &str, leaf: LeafValue, seed: u64, playouts: u64) -> (Game, PlayerResult) {
        let game = Game::from_fen(fen, false).unwrap();
        let allowed = game.legal_actions();
        let question =
            UctRequest { game: &game, allowed: &allowed, leaf, seed, playouts: Some(playouts) };
        let found = search(&question, &mut NeverStop).unwrap();
        (game, found)
    }

    const BOTH: [LeafValue; 2] = [LeafValue::Rollouts(3), LeafValue::Heuristics];

    #[test]
    fn mates_in_one_are_found_and_lines_are_legal() {
        let cases = [
            ("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", "a1a8"),
            ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", "h5f7"),
        ];
        for (fen, best) in cases {
            for leaf in BOTH {
                for seed in 0..3 {
                    let (mut game, found) = run(fen, leaf, seed, 600);
                    assert_eq!(game.uci(found.line[0]), best, "{leaf:?} {seed}");
                    assert_eq!(found.nodes, 600);
                    found.line.iter().for_each(|action| game.play(*action).unwrap());
                }
            }
        }
    }

    #[test]
    fn equal_seeds_play_alike() {
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";
        for leaf in BOTH {
            assert_eq!(run(fen, leaf, 1, 60).1, run(fen, leaf, 1, 60).1);
        }
        let wins: Vec<f32> = (0..5).map(|seed| run(fen, BOTH[0], seed, 60).1.win).collect();
        assert!(wins.windows(2).any(|pair| pair[0] != pair[1]), "{wins:?}");
    }

    #[test]
    fn heuristics_see_what_few_random_games_do_not() {
        // A knight can take the queen; a random game rarely does.
        let fen = "rnb1kbnr/pppp1ppp/8/4p3/6q1/5N1P/PPPPPPP1/RNBQKB1R w KQkq - 0 1";
        let (game, found) = run(fen, LeafValue::Heuristics, 0, 100);
        assert_eq!(game.uci(found.line[0]), "h3g4", "{found:?}");
        assert!(found.win > 0.6, "{found:?}");
    }
}

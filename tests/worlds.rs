//! The rules world as the search sees it: draws by repetition and by the fifty-move rule, ends without
//! the network, and answers of the network that are refused.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::world::RulesWorld;
use engine::world::rules::{RulesState, Scoring};
use engine::{Action, Game};
use mcts::{Leaf, Wdl, World};
use nn::evaluator::fake::{Breakdown, Failing, Hashed, Uniform};
use nn::{EvalError, Evaluation, Evaluator, Query};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn world() -> RulesWorld {
    RulesWorld::new(Arc::new(Uniform), Scoring::Mean, 0.0)
}

fn game(fen: &str, moves: &str) -> Game {
    let mut game = Game::from_fen(fen, false).unwrap();
    for text in moves.split_whitespace() {
        game.play_uci(text).unwrap();
    }
    game
}

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const DANCE: &str = "g1f3 g8f6 f3g1 f6g8";

/// Steps through `moves` and returns what the last one ends in; none before it may end the game.
fn steps(root: &Game, moves: &str) -> Option<Wdl> {
    let world = world();
    let mut state = RulesState::root(root);
    let mut end = None;
    for text in moves.split_whitespace() {
        assert_eq!(end, None, "over before {text}");
        let action = Action::from_uci(text, state.position()).unwrap();
        end = world.step(&mut state, action);
    }
    end
}

#[test]
fn a_second_occurrence_inside_the_tree_is_a_draw() {
    // After g1f3 the position stands in the tree; five plies later it comes back.
    assert_eq!(steps(&game(START, ""), "g1f3 g8f6 f3g1 f6g8 g1f3"), Some(Wdl::DRAW));
}

#[test]
fn a_position_of_the_game_must_come_a_third_time() {
    // The root itself was on the board: its second occurrence is no draw yet.
    assert_eq!(steps(&game(START, ""), DANCE), None);
    // Twice on the board, the third time in the tree.
    assert_eq!(steps(&game(START, DANCE), DANCE), Some(Wdl::DRAW));
    assert_eq!(steps(&game(START, "g1f3 g8f6 f3g1"), "f6g8"), None);
}

#[test]
fn lost_castling_rights_make_another_position() {
    let fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
    // After the first e1e2 Black may still castle, after the second no more; after e8e7 neither time.
    let root = game(fen, "");
    assert_eq!(steps(&root, "e1e2 e8e7 e2e1 e7e8 e1e2"), None);
    assert_eq!(steps(&root, "e1e2 e8e7 e2e1 e7e8 e1e2 e8e7"), Some(Wdl::DRAW));
}

#[test]
fn fifty_moves_are_a_draw_unless_they_mate() {
    let root = game("7k/8/5KQ1/8/8/8/8/8 w - - 99 80", "");
    assert_eq!(steps(&root, "g6g1"), Some(Wdl::DRAW));
    assert_eq!(steps(&root, "g6g7"), None);
    let world = world();
    let mut state = RulesState::root(&root);
    let mate = Action::from_uci("g6g7", state.position()).unwrap();
    world.step(&mut state, mate);
    let leaves = world.evaluate(&[&state]).unwrap();
    assert!(matches!(leaves[0], Leaf::Over(Wdl::LOSS)));
}

/// Counts the positions it is asked about.
struct Counting(AtomicUsize);

impl Evaluator for Counting {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.0.fetch_add(batch.len(), Ordering::Relaxed);
        Hashed::default().evaluate(batch)
    }
}

fn after(fen: &str, text: &str) -> RulesState {
    let mut state = RulesState::root(&game(fen, ""));
    let action = Action::from_uci(text, state.position()).unwrap();
    assert_eq!(world().step(&mut state, action), None);
    state
}

#[test]
fn ends_are_seen_without_the_network_and_order_is_kept() {
    let counting = Arc::new(Counting(AtomicUsize::new(0)));
    let world = RulesWorld::new(counting.clone(), Scoring::Mean, 0.0);
    let mate = after("7k/8/5KQ1/8/8/8/8/8 w - - 0 1", "g6g7");
    let open = after(START, "e2e4");
    let stalemate = after("7k/8/8/6Q1/8/8/8/K7 w - - 0 1", "g5g6");
    let dead = after("7k/8/8/8/8/8/1p6/K7 w - - 0 1", "a1b2");
    let leaves = world.evaluate(&[&mate, &open, &stalemate, &dead]).unwrap();
    assert!(matches!(leaves[0], Leaf::Over(Wdl::LOSS)));
    assert!(matches!(&leaves[1], Leaf::Open { edges, .. } if edges.len() == 20));
    assert!(matches!(leaves[2], Leaf::Over(Wdl::DRAW)));
    assert!(matches!(leaves[3], Leaf::Over(Wdl::DRAW)));
    assert_eq!(counting.0.load(Ordering::Relaxed), 1);
    assert!(world.evaluate(&[]).unwrap().is_empty());
}

#[test]
fn a_dead_position_at_the_root_still_has_moves() {
    let root = RulesState::root(&game("7k/8/8/8/8/8/8/K7 w - - 0 1", ""));
    let leaves = world().evaluate(&[&root]).unwrap();
    assert!(matches!(&leaves[0], Leaf::Open { edges, .. } if edges.len() == 3));
}

#[test]
fn the_value_is_the_best_action_value_or_the_value_head_as_told() {
    let root = RulesState::root(&game(START, ""));
    let legal = shakmaty::Position::legal_moves(root.position());
    let answer = Hashed::default()
        .evaluate(&[Query { position: root.position(), legal: &legal }])
        .unwrap()
        .remove(0);
    let value = |scoring, share| {
        let world = RulesWorld::new(Arc::new(Hashed::default()), scoring, share);
        match world.evaluate(&[&root]).unwrap().remove(0) {
            Leaf::Open { value, .. } => value,
            other => panic!("{other:?}"),
        }
    };
    let best = |values: &[f32]| values.iter().copied().fold(0.0, f32::max);
    assert!((value(Scoring::Mean, 0.0).q() - best(&answer.action_values)).abs() < 1e-6);
    assert!((value(Scoring::Max, 0.0).q() - best(&answer.action_modes)).abs() < 1e-6);
    assert!((value(Scoring::Mean, 1.0).q() - answer.value).abs() < 1e-6);
    assert!((value(Scoring::Max, 1.0).q() - answer.value_mode).abs() < 1e-6);
    let whole = value(Scoring::Mean, 0.5);
    assert!((whole.win + whole.draw + whole.loss - 1.0).abs() < 1e-6);
}

#[test]
fn broken_answers_are_errors_by_name() {
    let root = RulesState::root(&game(START, ""));
    let error = |how| {
        let world = RulesWorld::new(Arc::new(Failing::after(0, how)), Scoring::Mean, 0.0);
        world.evaluate(&[&root]).unwrap_err()
    };
    assert_eq!(error(Breakdown::NotANumber), EvalError::NotANumber("action value"));
    assert!(matches!(error(Breakdown::Error), EvalError::Device(_)));
    assert!(error(Breakdown::Short).to_string().contains("19 of 20"));
}

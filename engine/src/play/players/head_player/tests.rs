//! Each rule changes the choice exactly when it should: the same opinions, with and without its reason.

use super::*;
use crate::world::rules::Scoring;
use chess::game::Game;
use mcts::Params;
use nn::{Evaluation, Evaluator, Query};
use shakmaty::{CastlingMode, Chess};
use std::sync::Arc;

/// Opinions by name; about everything unnamed the same poor one.
#[derive(Clone, Default)]
struct Opinions {
    /// Move, action value, its most likely bucket, policy.
    moves: Vec<(&'static str, f32, f32, f32)>,
    /// Position, value, its most likely bucket, draw.
    positions: Vec<(Chess, f32, f32, f32)>,
}

const POOR: f32 = 0.3;
/// Centres of buckets, as a real network's modes are.
const GOOD: f32 = 45.5 / 64.0;
const BEST_CENTRE: f32 = 63.5 / 64.0;

impl Opinions {
    /// Action value and policy per move.
    fn of(moves: &[(&'static str, f32, f32)]) -> Opinions {
        let moves = moves.iter().map(|(m, value, policy)| (*m, *value, *value, *policy)).collect();
        Opinions { moves, positions: Vec::new() }
    }

    /// The same about the positions behind the moves, the values being the mover's before the move.
    fn of_positions(game: &Game, moves: &[(&'static str, f32, f32)]) -> Opinions {
        let mut opinions = Opinions::of(moves);
        for (text, value, _) in moves {
            opinions.add(game, text, *value, *value, 0.0);
        }
        opinions
    }

    fn add(&mut self, game: &Game, text: &str, value: f32, mode: f32, draw: f32) {
        let mut after = game.clone();
        after.play_uci(text).unwrap();
        self.positions.push((after.position().clone(), 1.0 - value, 1.0 - mode, draw));
    }

    /// How the root itself stands.
    fn standing(mut self, game: &Game, value: f32) -> Opinions {
        self.positions.push((game.position().clone(), value, value, 0.0));
        self
    }
}

impl Evaluator for Opinions {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        Ok(batch
            .iter()
            .map(|query| {
                let about = |m: &shakmaty::Move| {
                    let text = m.to_uci(CastlingMode::Standard).to_string();
                    let known = self.moves.iter().find(|opinion| opinion.0 == text);
                    known.map_or((POOR, POOR, 0.001), |known| (known.1, known.2, known.3))
                };
                let moves: Vec<(f32, f32, f32)> = query.legal.iter().map(about).collect();
                let known = self.positions.iter().find(|opinion| opinion.0 == *query.position);
                // Unnamed positions are good for the side to move there: poor for the one before.
                let (value, value_mode, draw) = known
                    .map_or((1.0 - POOR, 1.0 - POOR, 0.0), |known| (known.1, known.2, known.3));
                Evaluation {
                    wdl: [value - draw / 2.0, draw, 1.0 - value - draw / 2.0],
                    value,
                    value_mode,
                    action_values: moves.iter().map(|about| about.0).collect(),
                    action_modes: moves.iter().map(|about| about.1).collect(),
                    policy: moves.iter().map(|about| about.2).collect(),
                }
            })
            .collect())
    }
}

fn game(fen: &str, moves: &str) -> Game {
    let mut game = match fen {
        "" => Game::default(),
        fen => Game::from_fen(fen, false).unwrap(),
    };
    for text in moves.split_whitespace() {
        game.play_uci(text).unwrap();
    }
    game
}

fn snapshot(
    head: Head,
    game: &Game,
    opinions: &Opinions,
    settings: &Settings,
    seed: u64,
) -> Snapshot<Action> {
    let world = RulesWorld::new(Arc::new(opinions.clone()), settings.scoring, 1.0);
    let root = RulesState::root(game);
    let allowed = game.legal_actions();
    let question = Question { head, world: &world, root: &root, allowed: &allowed, settings, seed };
    question.answer().unwrap()
}

fn order(head: Head, game: &Game, opinions: &Opinions, scoring: Scoring) -> Vec<String> {
    let settings = Settings { scoring, ..Settings::default() };
    let lines = snapshot(head, game, opinions, &settings, 0).lines;
    lines.iter().map(|line| game.uci(line.moves[0])).collect()
}

fn best(head: Head, game: &Game, opinions: &Opinions) -> String {
    order(head, game, opinions, Scoring::Mean).remove(0)
}

#[test]
fn the_prior_is_the_searchs_own() {
    let game = Game::default();
    // One move has all of the softmax, the other nothing; else its policy would win.
    let opinions = Opinions {
        moves: vec![("e2e4", 0.60, 0.60, 0.1), ("d2d4", 0.59, 0.59, 0.3)],
        ..Opinions::default()
    };
    let best = |top_k| {
        let tree = Params { top_k, policy_share: 0.5, ..Params::default() };
        let settings = Settings { tree, ..Settings::default() };
        let lines = snapshot(Head::Prior, &game, &opinions, &settings, 0).lines;
        assert!((lines.iter().map(|line| line.prior).sum::<f32>() - 1.0).abs() < 1e-4);
        game.uci(lines[0].moves[0])
    };
    assert_eq!((best(1).as_str(), best(2).as_str()), ("e2e4", "d2d4"));
}

#[test]
fn mean_and_max_each_follow_their_own_number() {
    let game = Game::default();
    let mut opinions = Opinions::default();
    for (text, mean, mode) in [("e2e4", 0.6, 0.5), ("d2d4", 0.55, GOOD)] {
        opinions.moves.push((text, mean, mode, 0.1));
        opinions.add(&game, text, mean, mode, 0.0);
    }
    for head in [Head::ActionValue, Head::StateValue] {
        assert_eq!(order(head, &game, &opinions, Scoring::Mean)[..2], ["e2e4", "d2d4"], "{head:?}");
        assert_eq!(order(head, &game, &opinions, Scoring::Max)[..2], ["d2d4", "e2e4"], "{head:?}");
    }
}

#[test]
fn of_equal_buckets_the_policy_chooses() {
    let game = Game::default();
    let mut opinions = Opinions::default();
    // Draws of different likelihood, so that the sums round differently.
    for (text, mean, policy, draw) in
        [("e2e4", 0.74, 0.1, 0.13), ("c2c4", 0.71, 0.3, 0.37), ("d2d4", 0.72, 0.2, 0.0)]
    {
        opinions.moves.push((text, mean, GOOD, policy));
        opinions.add(&game, text, mean, GOOD, draw);
    }
    for head in [Head::ActionValue, Head::StateValue] {
        let max = order(head, &game, &opinions, Scoring::Max);
        assert_eq!(max[..3], ["c2c4", "d2d4", "e2e4"], "{head:?}");
        assert_eq!(order(head, &game, &opinions, Scoring::Mean)[0], "e2e4", "{head:?}");
    }
}

/// Black can repeat the first position of the game by `f6g8`: for the second time, or for the third.
const SECOND: &str = "g1f3 g8f6 f3g1";
const THIRD: &str = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1";

#[test]
fn a_third_occurrence_counts_as_half() {
    for head in [Head::ActionValue, Head::StateValue] {
        let third = game("", THIRD);
        let ahead = Opinions::of_positions(&third, &[("f6g8", 0.7, 0.5), ("b8c6", 0.6, 0.1)]);
        assert_eq!(best(head, &third, &ahead), "b8c6", "{head:?}");
        assert_eq!(
            best(head, &game("", SECOND), &ahead),
            "f6g8",
            "{head:?}: only the third counts"
        );
        let behind = Opinions::of_positions(&third, &[("f6g8", 0.1, 0.0), ("b8c6", 0.4, 0.1)]);
        assert_eq!(best(head, &third, &behind), "f6g8", "{head:?}: a draw beats a bad game");
        assert_eq!(best(head, &game("", SECOND), &behind), "b8c6", "{head:?}");
        let lines = snapshot(head, &third, &behind, &Settings::default(), 0).lines;
        assert_eq!(lines[0].value, Wdl::DRAW, "{head:?}: and is reported as one");
    }
}

#[test]
fn a_policy_repeats_only_what_it_does_not_win() {
    for head in [Head::Policy, Head::Prior] {
        let third = game("", THIRD);
        let opinions = Opinions::of(&[("f6g8", 0.4, 0.9), ("b8c6", 0.4, 0.05)]);
        let (ahead, behind) =
            (opinions.clone().standing(&third, 0.6), opinions.standing(&third, 0.4));
        assert_eq!(best(head, &third, &ahead), "b8c6", "{head:?}");
        assert_eq!(order(head, &third, &ahead, Scoring::Mean).last().unwrap(), "f6g8", "{head:?}");
        assert_eq!(best(head, &third, &behind), "f6g8", "{head:?}");
        assert_eq!(best(head, &game("", SECOND), &ahead), "f6g8", "{head:?}");
    }
}

/// An endgame with this fifty-move counter.
fn on(clock: u32) -> Game {
    game(&format!("k7/8/8/8/8/4P3/8/K6R w - - {clock} 80"), "")
}

#[test]
fn the_hundredth_quiet_ply_counts_as_half() {
    for head in [Head::ActionValue, Head::StateValue] {
        let opinions = Opinions::of_positions(&on(99), &[("a1a2", 0.9, 0.5), ("e3e4", 0.6, 0.1)]);
        assert_eq!(best(head, &on(99), &opinions), "e3e4", "{head:?}");
        assert_eq!(best(head, &on(98), &opinions), "a1a2", "{head:?}");
    }
    // A mate on that ply is no draw.
    let mate = game("7k/8/5KQ1/8/8/8/8/8 w - - 99 80", "");
    assert_eq!(best(Head::StateValue, &mate, &Opinions::default()), "g6g7");
    let opinions = Opinions::of(&[("g6g7", 0.6, 0.1), ("g6g1", 0.9, 0.1)]);
    assert_eq!(best(Head::ActionValue, &mate, &opinions), "g6g7");
}

#[test]
fn stalemate_counts_as_half() {
    let queen = game("7k/8/8/6Q1/8/8/8/K7 w - - 0 1", "");
    for head in [Head::ActionValue, Head::StateValue] {
        let ahead = Opinions::of_positions(&queen, &[("g5g6", 0.999, 0.9), ("g5g4", 0.6, 0.1)]);
        assert_eq!(best(head, &queen, &ahead), "g5g4", "{head:?}");
        let behind = Opinions::of_positions(&queen, &[("g5g6", 0.1, 0.0), ("g5g4", 0.4, 0.1)]);
        assert_eq!(best(head, &queen, &behind), "g5g6", "{head:?}");
    }
    let opinions = Opinions::of(&[("g5g6", 0.9, 0.9), ("g5g4", 0.9, 0.1)]);
    assert_eq!(best(Head::Policy, &queen, &opinions.standing(&queen, 0.9)), "g5g4");
}

/// Five good moves and a sixth, all liked differently.
const WON: [(&str, f32, f32); 6] = [
    ("e2e4", 0.999, 0.10),
    ("d2d4", 0.998, 0.12),
    ("c2c4", 0.997, 0.20),
    ("g1f3", 0.996, 0.15),
    ("b2b3", 0.995, 0.05),
    ("g2g3", 0.994, 0.30),
];

#[test]
fn the_policy_chooses_among_five_moves_that_win() {
    let start = Game::default();
    for head in [Head::ActionValue, Head::StateValue] {
        let won = Opinions::of_positions(&start, &WON);
        let lines = order(head, &start, &won, Scoring::Mean);
        assert_eq!(lines[..6], ["c2c4", "e2e4", "d2d4", "g1f3", "b2b3", "g2g3"], "{head:?}");
        // The fifth below the mark, and the sixth with it.
        let mut nearly = WON;
        nearly[4].1 = 0.989;
        nearly[5].1 = 0.98;
        let nearly = Opinions::of_positions(&start, &nearly);
        assert_eq!(best(head, &start, &nearly), "e2e4", "{head:?}");
    }
    let won = Opinions::of(&WON);
    assert_eq!(best(Head::Policy, &start, &won), "g2g3", "the policy needs no such rule");
}

#[test]
fn max_scoring_reaches_the_mark_with_its_last_bucket() {
    let start = Game::default();
    let mut opinions = Opinions::default();
    for (text, mean, policy) in WON {
        opinions.moves.push((text, mean, BEST_CENTRE, policy));
    }
    assert_eq!(order(Head::ActionValue, &start, &opinions, Scoring::Max)[0], "g2g3");
    opinions.moves.truncate(4);
    opinions.moves.push(("b2b3", 0.995, 61.5 / 64.0, 0.9));
    assert_eq!(order(Head::ActionValue, &start, &opinions, Scoring::Max)[0], "c2c4");
}

#[test]
fn fewer_than_five_moves_must_all_win() {
    let corner = game("K7/8/8/8/8/6p1/7k/8 w - - 0 1", "");
    assert_eq!(corner.legal_actions().len(), 3);
    let opinions =
        |third| Opinions::of(&[("a8b8", 0.999, 0.1), ("a8a7", 0.998, 0.5), ("a8b7", third, 0.2)]);
    assert_eq!(best(Head::ActionValue, &corner, &opinions(0.992)), "a8a7");
    assert_eq!(best(Head::ActionValue, &corner, &opinions(0.98)), "a8b8");
}

#[test]
fn a_mate_comes_before_any_favourite() {
    let won = game("k7/8/1K6/8/8/8/8/7R w - - 0 1", "");
    let others = ["h1h7", "h1h6", "h1g1", "h1f1", "h1e1"];
    let names: Vec<(&'static str, f32, f32)> = others.iter().map(|m| (*m, 0.999, 0.2)).collect();
    let opinions = Opinions::of_positions(&won, &names);
    let lines = snapshot(Head::StateValue, &won, &opinions, &Settings::default(), 0).lines;
    assert_eq!((won.uci(lines[0].moves[0]).as_str(), lines[0].mate_plies), ("h1h8", Some(1)));
    assert!(lines[1..].iter().all(|line| line.mate_plies.is_none()));
}

#[test]
fn a_winner_does_not_go_back_while_it_can_go_on() {
    let won = [
        ("f6g8", 0.999, 0.9),
        ("b8c6", 0.998, 0.3),
        ("e7e5", 0.997, 0.4),
        ("d7d5", 0.996, 0.2),
        ("c7c5", 0.995, 0.1),
    ];
    // The knight may go home where the board has changed meanwhile.
    for (moves, expected) in [(SECOND, "e7e5"), ("e2e3 g8f6 g1f3", "f6g8")] {
        let game = game("", moves);
        let opinions = Opinions::of_positions(&game, &won);
        for head in [Head::ActionValue, Head::StateValue] {
            assert_eq!(best(head, &game, &opinions), expected, "{head:?} after {moves}");
        }
    }
}

#[test]
fn a_winner_remembers_the_fifty_moves() {
    let won = [
        ("h1h2", 0.999, 0.9),
        ("h1h3", 0.998, 0.3),
        ("a1a2", 0.997, 0.2),
        ("a1b2", 0.996, 0.2),
        ("e3e4", 0.995, 0.1),
    ];
    for head in [Head::ActionValue, Head::StateValue] {
        let opinions = Opinions::of_positions(&on(10), &won);
        assert_eq!(best(head, &on(59), &opinions), "h1h2", "{head:?}");
        assert_eq!(best(head, &on(60), &opinions), "e3e4", "{head:?}");
    }
}

#[test]
fn lots_vary_the_first_moves_and_spare_what_is_certain() {
    let start = Game::default();
    let opinions = Opinions::of_positions(
        &start,
        &[("e2e4", 0.60, 0.50), ("d2d4", 0.60, 0.49), ("c2c4", 0.59, 0.01)],
    );
    let hot = Settings { temperature: 0.005, ..Settings::default() };
    let names = |head, game: &Game, settings: &Settings| {
        let mut names: Vec<String> = (0..200)
            .map(|seed| {
                let lines = snapshot(head, game, &opinions, settings, seed).lines;
                assert_eq!(lines.len(), game.legal_actions().len());
                game.uci(lines[0].moves[0])
            })
            .collect();
        names.sort();
        names.dedup();
        names
    };
    for head in [Head::ActionValue, Head::StateValue] {
        assert_eq!(names(head, &start, &hot), ["c2c4", "d2d4", "e2e4"], "{head:?}");
        assert_eq!(names(head, &start, &Settings::default()), ["e2e4"], "{head:?}");
    }
    let policy = Settings { temperature: 0.05, ..Settings::default() };
    assert_eq!(names(Head::Policy, &start, &policy), ["d2d4", "e2e4"]);
    let late = Settings { temperature_moves: 0, ..hot.clone() };
    assert_eq!(names(Head::ActionValue, &start, &late), ["e2e4"]);
    let mate = game("k7/8/1K6/8/8/8/8/7R w - - 0 1", "");
    let boiling = Settings { temperature: 10.0, ..Settings::default() };
    assert_eq!(names(Head::StateValue, &mate, &boiling), ["h1h8"]);
    let third = game("", THIRD);
    let spoilt = opinions.clone().standing(&third, 0.9);
    for seed in 0..200 {
        let lines = snapshot(Head::Policy, &third, &spoilt, &boiling, seed).lines;
        assert_ne!(third.uci(lines[0].moves[0]), "f6g8");
    }
}

#[test]
fn a_network_that_fails_is_an_error() {
    let failing = nn::evaluator::fake::Failing::after(0, nn::evaluator::fake::Breakdown::Error);
    let world = RulesWorld::new(Arc::new(failing), Scoring::Mean, 1.0);
    let game = Game::default();
    let (root, allowed, settings) =
        (RulesState::root(&game), game.legal_actions(), Settings::default());
    for head in [Head::ActionValue, Head::StateValue, Head::Policy, Head::Prior] {
        let (world, root, allowed, settings) = (&world, &root, &allowed, &settings);
        assert!(Question { head, world, root, allowed, settings, seed: 0 }.answer().is_err());
    }
}

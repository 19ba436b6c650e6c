//! Properties of every game: checked along seeded random ones, standard and Chess960. A failure
//! prints its seed.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::world::RulesWorld;
use engine::world::rules::{RulesState, Scoring};
use engine::{Action, Game, Setup};
use mavka_tests::{Dice, Session};
use mcts::{Leaf, Wdl, World};
use nn::evaluator::fake::Hashed;
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, EnPassantMode, Position};
use std::collections::HashSet;
use std::sync::Arc;

const CHESS960: &str = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9";
const CASTLING: &str = "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 0 1";

/// Plays random games and shows every position to `look`.
fn along_random_games(games: u64, mut look: impl FnMut(u64, &Game)) {
    for seed in 0..games {
        let mut dice = Dice::new(seed);
        let mut game = match seed % 3 {
            0 => Game::default(),
            1 => Game::from_fen(CHESS960, true).unwrap(),
            _ => Game::from_fen(CASTLING, false).unwrap(),
        };
        for _ in 0..120 {
            look(seed, &game);
            if game.ending().is_some() {
                break;
            }
            let legal = game.legal_actions();
            game.play(*dice.pick(&legal)).unwrap();
        }
    }
}

#[test]
fn moves_and_actions_are_a_bijection() {
    along_random_games(60, |seed, game| {
        let legal = game.position().legal_moves();
        let actions: HashSet<u16> = legal.iter().map(|m| Action::new(*m).into()).collect();
        assert_eq!(actions.len(), legal.len(), "seed {seed}");
        for m in legal {
            let action = Action::new(m);
            assert_eq!(action.to_move(game.position()), Some(m), "seed {seed}");
            for mode in [CastlingMode::Standard, CastlingMode::Chess960] {
                // Standard notation cannot tell a Chess960 castling from a king's step.
                if mode == game.mode() || game.mode() == CastlingMode::Standard {
                    let text = action.to_uci(game.position(), mode);
                    assert_eq!(
                        Action::from_uci(&text, game.position()),
                        Some(action),
                        "seed {seed}: {text}"
                    );
                }
            }
        }
    });
}

#[test]
fn states_follow_the_game_key_by_key() {
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let root =
            if seed % 2 == 0 { Game::default() } else { Game::from_fen(CHESS960, true).unwrap() };
        let mut game = root.clone();
        let mut state = RulesState::root(&root);
        for _ in 0..100 {
            let legal = game.legal_actions();
            if legal.is_empty() {
                break;
            }
            let action = *dice.pick(&legal);
            game.play(action).unwrap();
            let over = state.follow(action).unwrap();
            assert_eq!(state.key(), *game.keys().last().unwrap(), "seed {seed}");
            assert_eq!(state.position(), game.position());
            assert!(
                over || game.ending().is_none(),
                "seed {seed}: the game ended and the state goes on"
            );
        }
    }
}

#[test]
fn a_fen_leads_back_to_its_position() {
    along_random_games(60, |seed, game| {
        let fen = Fen::from_position(game.position(), EnPassantMode::Legal).to_string();
        let again = Game::from_fen(&fen, game.mode() == CastlingMode::Chess960).unwrap();
        assert_eq!(again.position(), game.position(), "seed {seed}: {fen}");
        assert_eq!(again.fen(), fen, "seed {seed}");
    });
}

#[test]
fn leaves_are_probabilities() {
    let world = RulesWorld::new(Arc::new(Hashed::default()), Scoring::Mean, 0.3);
    along_random_games(30, |seed, game| {
        let leaf = world.evaluate(&[&RulesState::root(game)]).unwrap().remove(0);
        if let Leaf::Open { value, edges } = leaf {
            assert_eq!(edges.len(), game.legal_actions().len());
            assert!(
                (edges.iter().map(|edge| edge.policy).sum::<f32>() - 1.0).abs() < 1e-4,
                "seed {seed}"
            );
            assert!(edges.iter().all(|edge| (0.0..=1.0).contains(&edge.q)));
            assert!((value.win + value.draw + value.loss - 1.0).abs() < 1e-5);
            assert!(
                value.win >= 0.0 && value.draw >= 0.0 && value.loss >= 0.0,
                "seed {seed}: {value:?}"
            );
        }
    });
}

#[test]
fn flipping_twice_changes_nothing() {
    let mut dice = Dice::new(7);
    for _ in 0..1_000 {
        let share = |dice: &mut Dice| dice.below(1_001) as f32 / 1_000.0;
        let wdl = Wdl::from_score_and_draw(share(&mut dice), share(&mut dice));
        assert_eq!(wdl.flip().flip(), wdl);
        assert!((wdl.q() + wdl.flip().q() - 1.0).abs() < 1e-6);
    }
}

/// GUIs make easy levels of `go depth N`: it ends when the best line has N plies, after few playouts.
#[test]
fn a_depth_is_that_of_the_line_and_soon_reached() {
    let mut session = Session::start(Setup::default());
    session.send("setoption name Threads value 1");
    for (fen, most) in [
        (
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            [100, 200, 500, 1_000, 2_000, 4_000],
        ),
        (
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            [100, 200, 500, 1_000, 2_000, 4_000],
        ),
    ] {
        for (depth, most) in (1..).zip(most) {
            session.send("ucinewgame");
            session.send(&format!("position fen {fen}"));
            session.send(&format!("go depth {depth}"));
            session.expect("bestmove *");
            let info = session.final_info().unwrap_or_default().to_owned();
            let Some(uci::Answer::Info(info)) = uci::parse_answer(&info) else { panic!("{info}") };
            assert!(info.depth.is_some_and(|found| found >= depth), "{depth}: {info:?}");
            assert!(info.pv.len() >= depth as usize, "{depth}: {info:?}");
            assert!(info.nodes.is_some_and(|nodes| nodes <= most), "{depth}: {info:?}");
        }
    }
    session.finish();
}

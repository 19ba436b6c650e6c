//! It finds mates, and what wins material as exact alpha-beta does.

use super::*;
use crate::chess::game::Game;

fn ask(fen: &str, favourite: &str, budget: u64) -> Scouted {
    let game = Game::from_fen(fen, false).unwrap();
    let mut moves = game.legal_actions().into_iter();
    let favourite = moves.find(|action| game.uci(*action) == favourite).unwrap();
    let position = game.position();
    let question = Question { position, favourite, margin: 80, budget, stopped: &|| false };
    let mut memory = Memory::default();
    let found = search(&mut memory, game.keys().iter().copied(), &question).unwrap();
    let mut line = game.clone();
    for action in memory.line(position, &found) {
        line.play(action).unwrap();
    }
    assert_eq!(line.actions().first(), Some(&found.best));
    if found.score > MATES {
        assert!(line.position().is_checkmate(), "{}", line.fen());
    }
    found
}

#[test]
fn mates_are_found_and_counted() {
    // Two rooks; a smothered mate by a queen's sacrifice (Philidor's legacy).
    for (fen, quiet, mate, moves) in [
        ("7k/8/8/8/8/8/R7/1R5K w - - 0 1", "h1g1", None, 2),
        ("5r1k/6pp/8/6N1/8/1Q6/6PP/6K1 w - - 0 1", "h2h3", Some("g5f7"), 4),
    ] {
        let found = ask(fen, quiet, 200_000);
        assert_eq!(MATE - found.score, 2 * moves - 1, "{fen}: {found:?}");
        assert!(found.behind);
        let game = Game::from_fen(fen, false).unwrap();
        assert!(mate.is_none_or(|mate| game.uci(found.best) == mate));
    }
}

#[test]
fn it_agrees_with_exact_alpha_beta_about_what_wins_material() {
    use super::super::negamax;
    use super::super::{Found, Watch};

    struct Patient;
    impl Watch for Patient {
        fn is_over(&mut self, _: u64) -> bool {
            false
        }
        fn heard(&mut self, _: &Found) {}
    }

    // Middlegames from random moves: something always hangs.
    let mut random = nn::rng::Rng::new(7);
    let (mut tried, mut same) = (0, 0);
    while tried < 60 {
        let mut game = Game::default();
        while game.ending().is_none() && game.actions().len() < 24 {
            let moves = game.legal_actions();
            game.play(moves[random.below(moves.len())]).unwrap();
        }
        let allowed = game.legal_actions();
        if game.ending().is_some() {
            continue;
        }
        tried += 1;
        let pruning = negamax::Pruning::AlphaBeta;
        let question =
            negamax::Question { game: &game, allowed: &allowed, pruning, depth: Some(3) };
        let exact = negamax::search(&question, &mut Patient).unwrap();
        let first = exact.line[0];
        let position = game.position();
        let stopped = &|| false;
        let question = Question { position, favourite: first, margin: 80, budget: 20_000, stopped };
        let keys = game.keys().iter().copied();
        let found = search(&mut Memory::default(), keys, &question).unwrap();
        assert!(found.depth >= 3);
        same += i32::from(!found.behind);
    }
    // What it finds beyond the third ply may differ.
    assert!(same >= 45, "{same} of {tried}");
}

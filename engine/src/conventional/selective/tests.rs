//! It finds mates, and what wins material as exact alpha-beta does.

use super::*;
use crate::chess::game::Game;

fn ask(fen: &str, favourite: &str, budget: u64) -> Scouted {
    let game = Game::from_fen(fen, false).unwrap();
    let mut moves = game.legal_actions().into_iter();
    let favourite = moves.find(|action| game.uci(*action) == favourite).unwrap();
    let position = game.position();
    let question = Question { position, favourite, margin: 80, budget, stopped: &|| false };
    let found = search(&mut Memory::default(), game.keys().iter().copied(), &question).unwrap();
    let mut line = game.clone();
    for action in &found.line {
        line.play(*action).unwrap();
    }
    if found.score > MATES {
        assert!(line.position().is_checkmate(), "{}", line.fen());
        assert_eq!(found.line.len() as i32, MATE - found.score);
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
        assert!(mate.is_none_or(|mate| game.uci(found.line[0]) == mate));
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

#[test]
fn moves_come_by_rank_and_each_once() {
    // A pawn takes a pawn, a queen would lose itself for that pawn, and there is a killer.
    let game = Game::from_fen("4k3/8/2p5/3p4/3QPP2/8/8/4K3 w - - 0 1", false).unwrap();
    let position = game.position();
    let mut memory = Memory::default();
    let legal = game.legal_actions();
    let named = |name: &str| *legal.iter().find(|action| game.uci(**action) == name).unwrap();
    let killer = named("e1d2").to_move(position).unwrap();
    memory.refutations.count(position.turn(), killer, 1, 0);
    let question =
        Question { position, favourite: legal[0], margin: 80, budget: 1, stopped: &|| false };
    let tree = Tree { memory: &mut memory, question: &question, nodes: 0, over: false };
    let mut moves = position.legal_moves();
    let ordered = tree.order(position, &mut moves, 0, Some(named("e1f1")));
    let order: Vec<String> = ordered.map(|m| game.uci(Action::new(m))).collect();
    assert_eq!(order[..3], ["e1f1", "e4d5", "e1d2"], "{order:?}");
    assert_eq!(order.last().unwrap(), "d4d5", "it loses the queen for a pawn");
    let mut all: Vec<String> = legal.iter().map(|action| game.uci(*action)).collect();
    let mut each = order.clone();
    all.sort();
    each.sort();
    assert_eq!(each, all);
}

#[test]
fn a_check_at_the_deepest_ply_is_no_mate() {
    let game = Game::from_fen("4k3/8/8/8/8/8/8/r3K2Q w - - 0 1", false).unwrap();
    let position = game.position();
    let favourite = game.legal_actions()[0];
    let question = Question { position, favourite, margin: 80, budget: 100, stopped: &|| false };
    let mut memory = Memory::default();
    let mut tree = Tree { memory: &mut memory, question: &question, nodes: 0, over: false };
    assert!(tree.quiesce(position, -INFINITE, INFINITE, DEEPEST) > 300);
    assert!(tree.quiesce(position, -INFINITE, INFINITE, DEEPEST - 5) > -MATES);
}

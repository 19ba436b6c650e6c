//! Toy games with known results: the search must find them, and must never claim a false proof.

use super::*;
use crate::{
    Edge, FinalMove, Fpu, Leaf, Wdl,
    node::{NodeState, Proof},
    toy::{Board, Broken, Nim, TicTacToe, minimax},
};
use std::convert::Infallible;

/// Checks every proof in the tree against full search.
fn check_proofs<W: World>(world: &W, searcher: &Searcher<W>) -> usize {
    let tree = searcher.tree();
    let mut stack = vec![(tree.root, searcher.root_state().clone())];
    let mut checked = 0;
    while let Some((at, state)) = stack.pop() {
        let meta = tree.node(at).meta();
        if let Some(proof) = meta.proof() {
            let (value, plies) = minimax(world, &state);
            assert_eq!(proof.wdl(), value, "{proof:?}");
            match proof {
                Proof::Win(bound) | Proof::Loss(bound) => {
                    assert!(bound >= plies, "{bound} < {plies}")
                }
                Proof::Draw => {}
            }
            checked += 1;
        }
        if meta.state() == NodeState::Expanded {
            for edge in tree.edges(meta.edges()).iter() {
                let mut next = state.clone();
                let end = world.step(&mut next, edge.action().into());
                if let Some(child) = edge.child() {
                    if end.is_some() {
                        assert_eq!(
                            tree.node(child).meta().proof(),
                            None,
                            "a path's end was stored"
                        );
                    } else {
                        stack.push((child, next));
                    }
                }
            }
        }
    }
    checked
}

#[test]
fn nim_is_solved_and_every_proof_is_true() {
    for heaps in [[1, 2, 3], [1, 2, 2], [3, 3, 0], [3, 1, 0], [0, 0, 4], [2, 3, 1], [1, 1, 1]] {
        for threads in [1, 4] {
            let (searcher, outcome) = search(&Nim, heaps, Params::default(), threads, 20_000);
            let (value, plies) = minimax(&Nim, &heaps);
            let line = &outcome.snapshot.lines[0];
            let mate = line.mate_plies.unwrap_or_else(|| panic!("{heaps:?} not solved"));
            assert_eq!(mate > 0, value.q() > 0.5, "{heaps:?}");
            assert!(mate.unsigned_abs() >= plies);
            assert!(check_proofs(&Nim, &searcher) > 1);
        }
    }
}

/// Nim with a table of the results from three stones on.
struct TabledNim;

impl World for TabledNim {
    type State = [u8; 3];
    type Action = u16;
    type Error = Broken;

    fn step(&self, heaps: &mut [u8; 3], action: u16) -> Option<Wdl> {
        Nim.step(heaps, action)
    }

    fn evaluate(&self, leaves: &[&[u8; 3]]) -> Result<Vec<Leaf<u16>>, Broken> {
        let mut answers = Nim.evaluate(leaves)?;
        for (leaf, heaps) in answers.iter_mut().zip(leaves) {
            if (1..=3).contains(&heaps.iter().sum::<u8>()) {
                *leaf = Leaf::Known(minimax(&Nim, heaps).0);
            }
        }
        Ok(answers)
    }
}

#[test]
fn a_known_result_is_proven_and_no_mate_is_claimed() {
    for heaps in [[1, 2, 3], [1, 2, 2], [2, 3, 1], [3, 1, 0]] {
        for threads in [1, 4] {
            let (_, outcome) = search(&TabledNim, heaps, Params::default(), threads, 20_000);
            let line = &outcome.snapshot.lines[0];
            assert_eq!((line.value, line.mate_plies), (minimax(&Nim, &heaps).0, None), "{heaps:?}");
            assert!(outcome.snapshot.known > 0);
        }
    }
    // One move ends the game; each other leads to a position that the table knows to be lost.
    let (_, outcome) = search(&TabledNim, [4, 0, 0], Params::default(), 1, 2000);
    let [mate, others @ ..] = &outcome.snapshot.lines[..] else { panic!("no line") };
    assert_eq!((mate.value, mate.mate_plies), (Wdl::WIN, Some(1)));
    assert!(others.iter().all(|line| (line.value, line.mate_plies) == (Wdl::LOSS, None)));
    assert_eq!((others.len() as u64, outcome.snapshot.known), (3, 3));
}

#[test]
fn the_winning_move_of_nim_is_minimaxs() {
    for heaps in [[1, 2, 2], [3, 1, 0], [2, 3, 2], [3, 3, 2]] {
        let (_, outcome) = search(&Nim, heaps, Params::default(), 1, 20_000);
        let mut next = heaps;
        Nim.step(&mut next, outcome.best.unwrap());
        assert_eq!(minimax(&Nim, &next).0, crate::Wdl::LOSS, "{heaps:?}");
    }
}

#[test]
fn tic_tac_toe_is_a_draw_with_every_rule_and_option() {
    let default = Params::default();
    for params in [
        Params { final_move: FinalMove::Max, ..default.clone() },
        Params { fpu: Fpu::ParentQ, ..default.clone() },
        Params { dynamic_virtual: None, ..default.clone() },
        Params { policy_share: 1.0, ..default.clone() },
        Params { noise_epsilon: 0.25, ..default.clone() },
        default,
    ] {
        let (searcher, outcome) = search(&TicTacToe, Board::default(), params.clone(), 2, 30_000);
        let value = outcome.snapshot.lines[0].value.q();
        assert!((value - 0.5).abs() < 0.1, "{params:?}: {value}");
        let mut board = Board::default();
        TicTacToe.step(&mut board, outcome.best.unwrap());
        assert_eq!(minimax(&TicTacToe, &board).0, crate::Wdl::DRAW);
        check_proofs(&TicTacToe, &searcher);
    }
}

/// An endless game in which the move `at` plies below the root decides whether it becomes sharp or drawish.
struct Temper {
    at: usize,
}

impl World for Temper {
    type State = (usize, Option<u16>);
    type Action = u16;
    type Error = Infallible;

    fn step(&self, (plies, decided): &mut Self::State, action: u16) -> Option<Wdl> {
        if *plies == self.at {
            *decided = Some(action);
        }
        *plies += 1;
        None
    }

    fn evaluate(&self, leaves: &[&Self::State]) -> Result<Vec<Leaf<u16>>, Infallible> {
        let value = |decided| match decided {
            Some(1) => Wdl::DRAW,
            _ => Wdl { win: 0.5, draw: 0.0, loss: 0.5 },
        };
        let edges = || [0, 1].map(|action| Edge { action, policy: 0.5, q: 0.5 }).into();
        Ok(leaves
            .iter()
            .map(|state| Leaf::Open { value: value(state.1), edges: edges() })
            .collect())
    }
}

#[test]
fn contempt_steers_both_sides_and_leaves_the_values_alone() {
    for (at, contempt, choice) in [(0, 0.1, 0), (0, -0.1, 1), (1, 0.1, 1), (1, -0.1, 0)] {
        for final_move in [FinalMove::Robust, FinalMove::Max] {
            let params = Params { contempt, final_move, ..Params::default() };
            let (_, outcome) = search(&Temper { at }, (0, None), params, 1, 2000);
            let line = &outcome.snapshot.lines[0];
            assert_eq!(line.moves[at], choice, "{at} {contempt} {final_move:?}");
            assert!((line.value.q() - 0.5).abs() < 1e-3, "{:?}", line.value);
        }
    }
}

#[test]
fn a_mate_in_one_is_found_and_its_distance_is_one() {
    let board = Board { mine: 0o003, theirs: 0o050 };
    let (_, outcome) = search(&TicTacToe, board, Params::default(), 1, 500);
    assert_eq!((outcome.best, outcome.snapshot.lines[0].mate_plies), (Some(2), Some(1)));
    assert_eq!(outcome.ponder, None);
}

#[test]
fn a_losing_move_is_not_played_while_there_is_another() {
    // The opponent threatens square 2; every other move loses at once.
    let board = Board { mine: 0o020, theirs: 0o003 };
    let (_, outcome) = search(&TicTacToe, board, Params::default(), 1, 3000);
    assert_eq!(outcome.best, Some(2));
    let lost = &outcome.snapshot.lines[1..];
    assert!(lost.iter().all(|line| line.mate_plies == Some(-2)), "{lost:?}");
}

/// Two plies: action 0 loses at once, and the others are nearly lost.
struct Trap;

impl World for Trap {
    /// The last action.
    type State = u16;
    type Action = u16;
    type Error = Infallible;

    fn step(&self, last: &mut u16, action: u16) -> Option<Wdl> {
        *last = action;
        None
    }

    fn evaluate(&self, leaves: &[&u16]) -> Result<Vec<Leaf<u16>>, Infallible> {
        let edges = || (0..3).map(|action| Edge { action, policy: 1.0 / 3.0, q: 0.01 }).collect();
        let leaf = |&&last: &&u16| match last {
            0 => Leaf::Over(Wdl::WIN),
            _ => Leaf::Open { value: Wdl { win: 0.99, draw: 0.0, loss: 0.01 }, edges: edges() },
        };
        Ok(leaves.iter().map(leaf).collect())
    }
}

#[test]
fn a_move_proven_lost_is_visited_once() {
    let (_, outcome) = search(&Trap, 9, Params { batch: 1, ..Params::default() }, 1, 500);
    let trap = outcome.snapshot.lines.iter().find(|line| line.moves[0] == 0).unwrap();
    assert_eq!((trap.visits, trap.mate_plies), (1, Some(-1)));
}

#[test]
fn below_a_proven_node_nothing_grows() {
    let (mut searcher, _) = search(&Nim, [1, 2, 3], Params::default(), 1, 20_000);
    let solved = searcher.audit();
    let more = searcher.run(&Nim, 1, Some(5000), &Patient);
    assert_eq!(more.snapshot.playouts, 5000);
    assert_eq!(
        (searcher.audit().nodes, searcher.audit().expanded),
        (solved.nodes, solved.expanded)
    );
}

#[test]
fn a_restricted_root_plays_nothing_else() {
    let board = Board { mine: 0o003, theirs: 0o050 };
    let mut searcher = Searcher::new(Params::default(), MIB);
    searcher.set_root(board);
    searcher.restrict_root(&[7, 8]);
    let outcome = searcher.run(&TicTacToe, 1, Some(300), &Patient);
    assert_eq!(outcome.snapshot.lines.len(), 2);
    assert!([7, 8].contains(&outcome.best.unwrap()));
    assert!(
        outcome.snapshot.lines.iter().all(|line| line.mate_plies.is_none_or(|plies| plies < 0))
    );
    searcher.restrict_root(&[99]);
    assert_eq!(searcher.run(&TicTacToe, 1, Some(300), &Patient).best, Some(2), "no such move: all");
}

#[test]
fn a_root_with_one_move_and_a_terminal_root_end_well() {
    let (_, outcome) = search(&Nim, [1, 0, 0], Params::default(), 2, 100);
    assert_eq!((outcome.best, outcome.snapshot.playouts), (Some(1), 100));
    let (mut searcher, outcome) = search(&Nim, [0, 0, 0], Params::default(), 2, 100);
    assert_eq!((outcome.best, outcome.snapshot.playouts), (None, 1));
    let again = searcher.run(&Nim, 2, None, &Patient);
    assert_eq!((again.best, again.snapshot.lines.len()), (None, 0));
}

#[test]
fn lines_are_playable_and_start_with_the_best_move() {
    let (_, outcome) = search(&TicTacToe, Board::default(), Params::default(), 1, 2000);
    let lines = &outcome.snapshot.lines;
    assert_eq!((lines.len(), lines[0].moves[0]), (9, outcome.best.unwrap()));
    assert_eq!(lines[0].moves.get(1), outcome.ponder.as_ref());
    assert!(lines.is_sorted_by_key(|line| std::cmp::Reverse(line.visits)));
    for line in lines {
        let mut board = Board::default();
        for &square in &line.moves {
            assert_eq!((board.mine | board.theirs) >> square & 1, 0, "{:?}", line.moves);
            TicTacToe.step(&mut board, square);
        }
    }
}

#[test]
fn one_playout_tells_the_roots_own_value_and_the_moves_distances_from_it() {
    let (searcher, outcome) = search(&TicTacToe, Board::default(), Params::default(), 1, 1);
    let lines = &outcome.snapshot.lines;
    let own = searcher.tree().root().stats().mean().unwrap().q();
    let best = lines.iter().map(|line| line.q).fold(0.0, f32::max);
    assert!((best - own).abs() > 0.01, "the two differ in this game");
    for line in lines {
        let expected = (own + line.q - best).clamp(0.0, 1.0);
        assert!((line.value.q() - expected).abs() < 1e-4, "{line:?}");
    }
}

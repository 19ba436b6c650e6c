//! Invariants: exact playouts, the invariant of visits, nothing in flight, repetition, reuse, memory.

use super::*;
use crate::toy::{Board, Nim, TicTacToe, Wide};
use crate::{Edge, Leaf, Race, Wdl};
use std::convert::Infallible;

#[test]
fn playouts_are_exact_and_the_law_of_visits_holds() {
    for (threads, batch, playouts) in
        [(1, 1, 1), (1, 16, 0), (1, 16, 777), (3, 16, 5000), (8, 64, 3001)]
    {
        let params = Params { batch, ..Params::default() };
        let (searcher, outcome) = search(&Wide::CHESSLIKE, 0, params, threads, playouts);
        assert_eq!(outcome.snapshot.playouts, playouts);
        assert_eq!(outcome.snapshot.nodes, playouts);
        let audit = searcher.audit();
        assert_eq!((audit.in_flight, audit.claimed), (0, 0));
        assert_eq!((audit.below_law, audit.above_law), (0, 0));
        assert_eq!(audit.expanded, playouts, "each playout expands one node here");
        // 35 priors, each off by half a unit at most.
        assert!(audit.prior_error < 35.0 * 0.5 / 65535.0 + 1e-5);
        assert_eq!(outcome.best.is_some(), playouts > 0);
    }
}

#[test]
fn path_ends_count_as_playouts_and_keep_the_law() {
    let world = Wide { end_one_in: 3, ..Wide::CHESSLIKE };
    let (searcher, outcome) = search(&world, 0, Params::default(), 3, 4000);
    let audit = searcher.audit();
    assert_eq!(outcome.snapshot.playouts, 4000);
    assert!(audit.expanded < 4000 && audit.proven == 0);
    assert_eq!((audit.in_flight, audit.claimed, audit.below_law, audit.above_law), (0, 0, 0, 0));
}

#[test]
fn one_thread_repeats_bit_for_bit() {
    let params = Params { noise_epsilon: 0.25, seed: 5, ..Params::default() };
    let (mut searcher, first) = search(&Wide::CHESSLIKE, 0, params.clone(), 1, 3000);
    let (_, second) = search(&Wide::CHESSLIKE, 0, params.clone(), 1, 3000);
    assert_eq!(first.snapshot, second.snapshot);
    searcher.clear();
    let third = searcher.run(&Wide::CHESSLIKE, 1, Some(3000), &Patient);
    assert_eq!(first.snapshot, third.snapshot, "a cleared tree is a new tree");
    let (_, other) = search(&Wide::CHESSLIKE, 0, Params { seed: 6, ..params }, 1, 3000);
    assert_ne!(first.snapshot, other.snapshot);
}

#[test]
fn stopping_leaves_nothing_in_flight() {
    for polls in [0, 1, 2, 50, 999, 5003] {
        for threads in [1, 4] {
            let mut searcher = Searcher::new(Params::default(), MIB);
            searcher.set_root(0);
            // The limit is for a search that ignores the stop.
            let limit = Some(50_000);
            let outcome = searcher.run(&Wide::CHESSLIKE, threads, limit, &StopAfter::new(polls));
            assert!(outcome.best.is_some(), "stopped after {polls} polls: still a move");
            assert!(outcome.snapshot.playouts <= polls + 1);
            let audit = searcher.audit();
            assert_eq!((audit.in_flight, audit.claimed, audit.below_law), (0, 0, 0));
            let more = searcher.run(&Wide::CHESSLIKE, threads, Some(500), &Patient);
            assert_eq!(more.snapshot.playouts, 500, "and the tree can be searched on");
        }
    }
}

#[test]
fn a_tick_can_stop_the_search() {
    struct Ticks(u64);
    impl Control<Wide> for Ticks {
        fn tick(&self, view: &View<'_, Wide>) -> ControlFlow<()> {
            let Race { first, second, moves, .. } = view.root_race();
            assert!(first >= second && moves == 35);
            assert!(view.snapshot(3).lines.len() == 3);
            if view.playouts() >= self.0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
        fn stopped(&self) -> bool {
            false
        }
    }
    for (wanted, threads) in [(0, 1), (1, 2), (400, 1), (400, 3)] {
        let mut searcher = Searcher::new(Params::default(), MIB);
        searcher.set_root(0);
        let outcome = searcher.run(&Wide::CHESSLIKE, threads, Some(50_000), &Ticks(wanted));
        assert!(outcome.snapshot.playouts < 50_000, "the limit is for a tick that is not heeded");
        assert!(outcome.snapshot.playouts >= wanted.max(1) && outcome.best.is_some());
        assert_eq!(searcher.audit().in_flight, 0);
    }
}

#[test]
fn a_small_tree_is_searched_in_sequence() {
    // With one leaf in flight at a time, no descent can collide.
    let params = Params { ramp: 1000, ..Params::default() };
    let (_, outcome) = search(&Wide::CHESSLIKE, 0, params, 1, 999);
    assert_eq!(outcome.snapshot.collisions, 0);
}

#[test]
fn moving_the_root_keeps_the_visits_of_the_move_played() {
    let (mut searcher, outcome) = search(&Wide::CHESSLIKE, 0, Params::default(), 2, 3000);
    let line = &outcome.snapshot.lines[0];
    let mut state = 0;
    for &action in &line.moves[..2] {
        Wide::CHESSLIKE.step(&mut state, action);
    }
    let kept = searcher.reroot(state, Ancestor::Root, &line.moves[..2]);
    assert!(kept > 0 && kept < line.visits);
    let audit = searcher.audit();
    assert_eq!((audit.below_law, audit.above_law, audit.expanded), (0, 0, kept));
    let outcome = searcher.run(&Wide::CHESSLIKE, 1, Some(100), &Patient);
    assert_eq!((outcome.snapshot.playouts, outcome.snapshot.nodes), (100, kept + 100));
    assert_eq!(outcome.snapshot.lines[0].moves[0], outcome.best.unwrap());
    searcher.set_root(1234);
    assert_eq!(searcher.reroot(1234, Ancestor::Root, &[3]), 0, "an unvisited move keeps nothing");
    assert_eq!(searcher.run(&Wide::CHESSLIKE, 1, Some(10), &Patient).snapshot.nodes, 10);
}

#[test]
fn a_former_root_is_found_again_until_the_tree_is_compacted() {
    let world = Wide::CHESSLIKE;
    let (mut searcher, outcome) = search(&world, 0, Params::default(), 1, 3000);
    let after = |path: &[u16]| {
        let mut state = 0;
        for &action in path {
            world.step(&mut state, action);
        }
        state
    };
    assert_eq!(searcher.plies_since_former_root(), None);
    // The expected reply and another one that was visited.
    let line = &outcome.snapshot.lines[0].moves;
    let guess = [line[0], line[1]];
    let kept = searcher.reroot(after(&guess), Ancestor::Root, &guess);
    assert_eq!(searcher.plies_since_former_root(), Some(2));
    searcher.run(&world, 1, Some(200), &Patient);
    let aside = (0..35)
        .map(|reply| [line[0], reply])
        .find(|path| *path != guess && searcher.tree().path(0, *path).is_some())
        .expect("another reply was visited");
    let at = *searcher.tree().path(0, aside).unwrap().last().unwrap();
    let visits = searcher.tree().node(at).stats().visits;
    assert_eq!(searcher.reroot(after(&aside), Ancestor::FormerRoot, &aside), visits);
    let outcome = searcher.run(&world, 1, Some(50), &Patient);
    assert_eq!(outcome.snapshot.nodes, visits + 50);
    assert_eq!(searcher.audit().below_law, 0);
    // The guess keeps its visits plus those of its own search; a step down moves the former root.
    assert_eq!(searcher.reroot(after(&guess), Ancestor::FormerRoot, &guess), kept + 200);
    let best = searcher.run(&world, 1, Some(0), &Patient).best.unwrap();
    let next = [guess[0], guess[1], best];
    assert!(searcher.reroot(after(&next), Ancestor::Root, &[best]) > 0);
    assert_eq!(searcher.plies_since_former_root(), Some(1));
    assert_eq!(
        searcher.reroot(after(&guess), Ancestor::FormerRoot, &[]),
        kept + 200,
        "a move taken back"
    );
    assert_eq!(searcher.plies_since_former_root(), None);

    let mut small = Searcher::new(Params::default(), MIB);
    small.set_root(0);
    let best = small.run(&world, 1, Some(500), &Patient).best.unwrap();
    small.reroot(after(&[best]), Ancestor::Root, &[best]);
    small.run(&world, 1, Some(10_000), &Patient);
    assert_eq!(small.plies_since_former_root(), None, "compacted away");
    assert_eq!(small.reroot(0, Ancestor::FormerRoot, &[]), 0);
}

#[test]
fn the_same_root_again_keeps_everything() {
    let (mut searcher, _) = search(&Wide::CHESSLIKE, 0, Params::default(), 1, 500);
    assert_eq!(searcher.reroot(0, Ancestor::Root, &[]), 500);
}

#[test]
fn a_proven_move_can_become_the_root_and_still_be_searched() {
    let mut searcher = Searcher::new(Params::default(), MIB);
    let mut heaps = [3, 2, 0];
    searcher.set_root(heaps);
    while heaps != [0; 3] {
        let outcome = searcher.run(&Nim, 1, Some(2000), &Patient);
        let action = outcome.best.expect("stones are left, so there is a move");
        Nim.step(&mut heaps, action);
        searcher.reroot(heaps, Ancestor::Root, &[action]);
    }
    assert_eq!(searcher.run(&Nim, 1, Some(2000), &Patient).best, None);
}

#[test]
fn restrictions_and_noise_leave_no_trace_in_the_tree() {
    let plain = search(&TicTacToe, Board::default(), Params::default(), 1, 1).1;
    let noisy = Params { noise_epsilon: 0.9, ..Params::default() };
    let noisy = search(&TicTacToe, Board::default(), noisy, 1, 1).1;
    let priors = |outcome: &Outcome<u16, _>| -> Vec<f32> {
        outcome.snapshot.lines.iter().map(|line| line.prior).collect()
    };
    assert_eq!(priors(&plain), priors(&noisy));
}

#[test]
fn chesslike_positions_take_320_bytes_each() {
    let (searcher, _) = search(&Wide::CHESSLIKE, 0, Params::default(), 1, 5000);
    let audit = searcher.audit();
    assert_eq!(audit.bytes / audit.expanded, 320);
}

/// A change here is a change of the search, to be justified by strength. Avoids `exp`, `ln` and powers, whose
/// last bits differ between machines.
#[test]
fn the_golden_tree_grows_again() {
    let params = Params {
        policy_share: 1.0,
        policy_temperature: 1.0,
        root_policy_temperature: 0.0,
        c_factor: 0.0,
        seed: 42,
        ..Params::default()
    };
    let (searcher, outcome) = search(&Wide::CHESSLIKE, 0, params, 1, 5000);
    let top: Vec<(u16, u64)> =
        outcome.snapshot.lines[..4].iter().map(|line| (line.moves[0], line.visits)).collect();
    assert_eq!(top, [(14, 1021), (13, 684), (30, 460), (6, 441)]);
    assert_eq!((outcome.snapshot.depth, outcome.snapshot.seldepth), (3, 6));
    assert_eq!(searcher.audit().nodes, 5000);
}

/// Action 0 leads to a path-dependent draw at the second ply after the root. The side to move at even plies of
/// the game has value 0.75.
struct Returning;

impl World for Returning {
    /// Plies of the game, and after the root.
    type State = (u32, u32);
    type Action = u16;
    type Error = Infallible;

    fn step(&self, (game, tree): &mut (u32, u32), action: u16) -> Option<Wdl> {
        (*game, *tree) = (*game + 1, *tree + 1);
        (action == 0 && *tree == 2).then_some(Wdl::DRAW)
    }

    fn evaluate(&self, leaves: &[&(u32, u32)]) -> Result<Vec<Leaf<u16>>, Infallible> {
        let leaf = |&&(game, _): &&(u32, u32)| {
            let value = Wdl { win: 0.75, draw: 0.0, loss: 0.25 };
            let value = if game % 2 == 0 { value } else { value.flip() };
            let edge = |action| Edge { action, policy: 1.0 / 3.0, q: value.q() };
            Leaf::Open { value, edges: (0..3).map(edge).collect() }
        };
        Ok(leaves.iter().map(leaf).collect())
    }
}

#[test]
fn draws_of_the_path_are_forgotten_when_the_root_has_moved_past_their_cause() {
    for threads in [1, 2] {
        let (mut searcher, _) = search(&Returning, (0, 0), Params::default(), threads, 2000);
        let kept = searcher.reroot((1, 0), Ancestor::Root, &[1]);
        let audit = searcher.audit();
        assert_eq!((audit.below_law, audit.above_law, audit.in_flight), (0, 0, 0));
        let value = |searcher: &mut Searcher<_>, playouts| {
            let snapshot = searcher.run(&Returning, 1, Some(playouts), &Patient).snapshot;
            assert_eq!(snapshot.nodes, snapshot.playouts + kept);
            searcher.tree().root().stats().mean().unwrap().q()
        };
        // No draw is left in the sums of the moved root.
        assert_eq!(value(&mut searcher, 0), 0.25);
        assert!(value(&mut searcher, 500) > 0.25, "and new ones are found two plies further on");
        assert_eq!(searcher.audit().below_law, 0);
    }
}

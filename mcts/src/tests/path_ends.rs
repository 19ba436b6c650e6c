//! Path-dependent ends: after the root has moved, no sum holds one of the former root's.

use super::*;
use crate::{Edge, Leaf, Wdl, rng::Rng};
use std::convert::Infallible;

/// Action 0 ends the game on its path at every even ply after the root, to the mover's disadvantage, so that
/// the other actions are searched too. The side to move at even plies of the game has value 0.75. Ends have a
/// draw share and evaluations have none, so a draw in a sum comes from a path end.
struct Shuffling;

const END: Wdl = Wdl { win: 0.625, draw: 0.25, loss: 0.125 };

/// Plies of the game, and after the root.
type Plies = (u32, u32);

impl World for Shuffling {
    type State = Plies;
    type Action = u16;
    type Error = Infallible;

    fn step(&self, (game, tree): &mut Plies, action: u16) -> Option<Wdl> {
        (*game, *tree) = (*game + 1, *tree + 1);
        (action == 0 && tree.is_multiple_of(2)).then_some(END)
    }

    fn evaluate(&self, leaves: &[&Plies]) -> Result<Vec<Leaf<u16>>, Infallible> {
        let leaf = |&&(game, _): &&Plies| {
            let edge = |action| Edge { action, policy: 1.0 / 3.0, q: value_at(game).q() };
            Leaf::Open { value: value_at(game), edges: (0..3).map(edge).collect() }
        };
        Ok(leaves.iter().map(leaf).collect())
    }
}

fn value_at(game: u32) -> Wdl {
    let value = Wdl { win: 0.75, draw: 0.0, loss: 0.25 };
    if game.is_multiple_of(2) { value } else { value.flip() }
}

/// Asserts that every sum below the root consists of evaluations only. The root is at ply `game`.
fn assert_no_path_ends(searcher: &Searcher<Shuffling>, game: u32) {
    let tree = searcher.tree();
    let mut stack = vec![(tree.root, game)];
    while let Some((at, game)) = stack.pop() {
        let (meta, stats) = (tree.node(at).meta(), tree.node(at).stats());
        assert!(stats.visits < 1 << 30, "a sum was taken off twice: {stats:?}");
        if let Some(mean) = stats.mean() {
            assert_eq!(mean, value_at(game), "{meta:?} {stats:?}");
        }
        if meta.state() == crate::node::NodeState::Expanded {
            let children = tree.edges(meta.edges()).iter().filter_map(|edge| edge.child());
            stack.extend(children.map(|child| (child, game + 1)));
        }
    }
    assert_eq!(searcher.audit().in_flight, 0);
}

fn draws_at_the_root(searcher: &Searcher<Shuffling>) -> f32 {
    searcher.tree().root().stats().mean().unwrap().draw
}

fn searched(bytes: usize, threads: usize, playouts: u64) -> Searcher<Shuffling> {
    let mut searcher = Searcher::new(Params::default(), bytes);
    searcher.set_root((0, 0));
    searcher.run(&Shuffling, threads, Some(playouts), &Patient);
    assert!(draws_at_the_root(&searcher) > 0.001, "the world has path ends");
    searcher
}

#[test]
fn forward_back_and_forward_again_leaves_no_draw_of_the_path() {
    for threads in [1, 2] {
        let mut searcher = searched(MIB, threads, 500);
        let run = |searcher: &mut Searcher<_>| {
            searcher.run(&Shuffling, threads, Some(500), &Patient);
            assert!(draws_at_the_root(searcher) > 0.001);
        };
        for _ in 0..3 {
            // There, the positions at which playouts ended are expanded.
            assert!(searcher.reroot((1, 0), Ancestor::Root, &[1]) > 0);
            assert_no_path_ends(&searcher, 1);
            run(&mut searcher);
            // Here, the expanded ones end playouts.
            assert!(searcher.reroot((0, 0), Ancestor::FormerRoot, &[]) > 0);
            assert_no_path_ends(&searcher, 0);
            run(&mut searcher);
        }
    }
}

#[test]
fn a_root_between_the_former_and_the_present_has_neithers_path_ends() {
    let mut searcher = searched(MIB, 1, 2000);
    assert!(searcher.reroot((2, 0), Ancestor::Root, &[1, 2]) > 0);
    searcher.run(&Shuffling, 1, Some(2000), &Patient);
    // Its sums have never had the ends below the current root, and no longer have those of the former one.
    assert!(searcher.reroot((1, 0), Ancestor::FormerRoot, &[1]) > 0);
    assert_no_path_ends(&searcher, 1);
    searcher.run(&Shuffling, 1, Some(2000), &Patient);
    assert!(searcher.reroot((2, 0), Ancestor::FormerRoot, &[1, 2]) > 0);
    assert_no_path_ends(&searcher, 2);
}

#[test]
fn a_compaction_keeps_the_path_ends_it_drops_out_of_the_sums() {
    for (threads, playouts) in [(1, 20_000), (1, 3000), (3, 20_000)] {
        let mut searcher = searched(0, threads, playouts);
        assert!(searcher.reroot((1, 0), Ancestor::Root, &[1]) > 0);
        assert_no_path_ends(&searcher, 1);
    }
}

#[test]
fn wherever_the_root_goes_its_sums_start_without_path_ends() {
    for seed in 0..40 {
        let mut rng = Rng::lane(seed, 0);
        let bytes = [0, MIB / 4, 2 * MIB][rng.below(3) as usize];
        let mut searcher = searched(bytes, 1, 300);
        let mut game = 0;
        for _ in 0..12 {
            let former = searcher.plies_since_former_root().filter(|_| rng.below(2) == 0);
            let from = former.map_or(Ancestor::Root, |_| Ancestor::FormerRoot);
            let path: Vec<u16> = (0..rng.below(4)).map(|_| rng.below(3) as u16).collect();
            game = game - former.unwrap_or(0) as u32 + path.len() as u32;
            let root = searcher.tree().root;
            searcher.reroot((game, 0), from, &path);
            if searcher.tree().root != root {
                assert_no_path_ends(&searcher, game);
            }
            let threads = 1 + rng.below(3) as usize;
            searcher.run(&Shuffling, threads, Some(u64::from(rng.below(3000))), &Patient);
            assert_eq!(searcher.audit().in_flight, 0);
        }
    }
}

//! Small models of two concurrent workers, each run in every interleaving (`.ci/loom`). Two whole workers have
//! too many interleavings, so the models execute single steps.

use crate::{
    backup::propagate,
    control::Patient,
    job::Job,
    node::{Cell, Fixed, Meta, Node, NodeState, Proof},
    params::{Params, Pipeline, VirtualCounts},
    queue::LeafQueue,
    rng::Rng,
    root::RootPolicy,
    slot::Slot,
    stats::RunStats,
    sync::AtomicU64,
    toy::Broken,
    tree::{ArenaChunk, RankedEdge, Tree},
    value::Wdl,
    worker::Worker,
    world::{Edge, Leaf, World},
};
use crossbeam::utils::CachePadded;
use loom::{sync::Arc, thread};

/// A tree of few cells: every atomic word costs the checker time.
fn small_tree(cells: usize) -> Tree {
    let mut tree = Tree {
        cells: std::iter::repeat_with(Cell::default).take(cells).collect(),
        used: CachePadded::new(AtomicU64::new(0)),
        root: 0,
        marks: Vec::new(),
        ranks: Vec::new(),
    };
    tree.clear();
    tree
}

/// [`small_tree`] with an expanded root of `edges` moves.
fn expanded_tree(cells: usize, edges: u16) -> Tree {
    let tree = small_tree(cells);
    let ranked: Vec<_> =
        (0..edges).map(|action| RankedEdge { action, prior: 0.5, q: 0.25 }).collect();
    let block = tree.alloc_edges(&mut ArenaChunk::default(), &ranked).unwrap();
    tree.root().publish(Meta::fresh(0).with_edges(block).with_state(NodeState::Expanded));
    tree
}

/// Runs two threads on one shared value in every interleaving, then checks both results.
fn in_every_order<S: Send + Sync + 'static, T: Send + 'static>(
    shared: impl Fn() -> S + Send + Sync + 'static,
    work: impl Fn(&S, u16) -> T + Copy + Send + Sync + 'static,
    check: impl Fn(&S, [T; 2]) + Send + Sync + 'static,
) {
    let mut model = loom::model::Builder::new();
    model.max_branches = 10_000;
    model.check(move || {
        let shared = Arc::new(shared());
        let theirs = shared.clone();
        let other = thread::spawn(move || work(&theirs, 1));
        let first = work(&shared, 0);
        check(&shared, [first, other.join().unwrap()]);
    });
}

#[test]
fn loom_one_claim_of_two_wins_and_its_edges_are_published() {
    in_every_order(
        || small_tree(8),
        |tree, _| {
            let root = tree.root();
            let meta = root.meta();
            match meta.state() {
                NodeState::Fresh if root.claim(meta) => {
                    let ranked = [RankedEdge { action: 7u16, prior: 1.0, q: 0.5 }];
                    let block = tree.alloc_edges(&mut ArenaChunk::default(), &ranked).unwrap();
                    root.publish(meta.with_edges(block).with_state(NodeState::Expanded));
                    true
                }
                NodeState::Expanded => {
                    let edges = tree.edges(meta.edges());
                    assert_eq!((edges.len(), edges.get(0).action()), (1, 7));
                    false
                }
                _ => false,
            }
        },
        |tree, won| {
            assert!(won[0] != won[1], "{won:?}");
            assert_eq!(tree.root().meta().state(), NodeState::Expanded);
        },
    );
}

#[test]
fn loom_two_workers_adopt_one_child() {
    in_every_order(
        || expanded_tree(8, 1),
        |tree, _| {
            let edges = tree.edges(tree.root().meta().edges());
            let child = tree.visit(&edges, 0, &mut ArenaChunk::default()).unwrap();
            // The child's words are visible, whichever worker made it.
            assert!((tree.node(child).meta().q() - 0.25).abs() < 1e-4);
            assert_eq!(tree.node(child).meta().state(), NodeState::Fresh);
            child
        },
        |tree, [one, other]| {
            let edges = tree.edges(tree.root().meta().edges());
            assert_eq!((one, Some(one)), (other, edges.get(0).child()));
        },
    );
}

#[test]
fn loom_two_ends_on_one_path_share_the_node_that_replaces_an_expanded_one() {
    for expanded in [false, true] {
        in_every_order(
            move || {
                let tree = expanded_tree(8, 1);
                let edges = tree.edges(tree.root().meta().edges());
                let child = tree.visit(&edges, 0, &mut ArenaChunk::default()).unwrap();
                if expanded {
                    tree.node(child).publish(Meta::fresh(9).with_state(NodeState::Expanded));
                }
                tree
            },
            |tree, _| {
                let edges = tree.edges(tree.root().meta().edges());
                tree.end_on_path(&edges, 0, &mut ArenaChunk::default()).unwrap()
            },
            |tree, [one, other]| {
                let edges = tree.edges(tree.root().meta().edges());
                assert_eq!((one, Some(one)), (other, edges.get(0).child()));
                assert!(tree.node(one).meta().ends_on_path());
            },
        );
    }
}

#[test]
fn loom_two_workers_get_cells_of_their_own() {
    in_every_order(
        || small_tree(4),
        |tree, worker| {
            let ranked =
                [0, 1, 2].map(|at| RankedEdge { action: at + 10 * worker, prior: 0.1, q: 0.1 });
            [(); 2].map(|()| {
                tree.alloc_edges(&mut ArenaChunk::default(), &ranked[..1 + usize::from(worker)])
            })
        },
        |tree, blocks| {
            // Three cells are left for four blocks of one cell each.
            let mut taken: Vec<u32> = blocks.into_iter().flatten().flatten().collect();
            taken.sort_unstable();
            assert_eq!(taken, [1, 2, 3]);
            for block in taken {
                let edges = tree.edges(block);
                let worker = edges.get(0).action() / 10;
                assert_eq!(edges.len(), 1 + usize::from(worker), "one worker's words in one block");
            }
            assert_eq!(tree.used(), 4);
        },
    );
}

#[test]
fn loom_the_sums_of_two_backups_are_exact() {
    let values = [Wdl { win: 0.5, draw: 0.25, loss: 0.25 }, Wdl::WIN];
    in_every_order(
        Cell::default,
        move |cell, worker| {
            let node = Node(cell);
            node.add_virtual(3);
            node.back_up(Fixed::new(values[usize::from(worker)]), 3)
        },
        |cell, mut before| {
            before.sort_unstable();
            assert_eq!(before, [0, 1], "each worker has a visit of its own");
            let stats = Node(cell).stats();
            assert_eq!((stats.visits, stats.in_flight), (2, 0));
            assert_eq!(stats.mean(), Some(Wdl { win: 0.75, draw: 0.125, loss: 0.125 }));
        },
    );
}

#[test]
fn loom_of_two_proofs_the_better_one_stays() {
    in_every_order(
        || {
            let cell = Cell::default();
            Node(&cell).publish(Meta::fresh(0).with_state(NodeState::Expanded));
            cell
        },
        |cell, worker| Node(cell).prove([Proof::Win(5), Proof::Win(3)][usize::from(worker)]),
        |cell, _| assert_eq!(Node(cell).meta().proof(), Some(Proof::Win(3))),
    );
}

#[test]
fn loom_a_parents_proof_is_drawn_from_the_last_child_proven_or_asked_again() {
    in_every_order(
        || {
            let tree = expanded_tree(8, 2);
            let edges = tree.edges(tree.root().meta().edges());
            for at in 0..2 {
                tree.visit(&edges, at, &mut ArenaChunk::default()).unwrap();
            }
            tree
        },
        |tree, worker| {
            let edges = tree.edges(tree.root().meta().edges());
            let child = edges.get(usize::from(worker)).child().unwrap();
            let won = Meta::fresh(0).with_state(NodeState::Terminal);
            tree.node(child).publish(won.with_proof(Some(Proof::Win(1))));
            propagate(tree, &[tree.root, child]);
        },
        |tree, _| {
            // Each may have missed the other's proof; the next visit does not.
            let edges = tree.edges(tree.root().meta().edges());
            propagate(tree, &[tree.root, edges.get(0).child().unwrap()]);
            assert_eq!(tree.root().meta().proof(), Some(Proof::Loss(2)));
        },
    );
}

#[test]
fn loom_of_the_queued_leaves_none_is_lost_and_none_is_evaluated_twice() {
    const MOST: usize = 2;
    in_every_order(
        || LeafQueue::<u16>::new(&Pipeline { lanes: 1, least: 1, most: MOST, ramp: 1 }),
        |queue, worker| {
            let mut evaluated = Vec::new();
            let room = queue.reserve(1, MOST);
            assert_eq!(room, 1, "there is room for both");
            let counts = VirtualCounts { min: 1, max: 1 };
            assert!(queue.push(Slot { path: vec![0], state: worker, counts }).is_none());
            let mut batch = Vec::new();
            if queue.take_batch(MOST, true, &mut batch) {
                evaluated.extend(batch.iter().map(|slot| slot.state));
                queue.end_batch(&mut batch);
            }
            evaluated
        },
        |queue, evaluated| {
            let mut all: Vec<u16> = evaluated.into_iter().flatten().collect();
            let waiting: Vec<u16> = queue.drain().map(|slot| slot.state).collect();
            assert!(waiting.len() < 2, "the lane was free for one of them");
            all.extend(waiting);
            all.sort_unstable();
            assert_eq!(all, [0, 1]);
            assert_eq!(queue.reserve(9, MOST), MOST, "nothing is in flight");
        },
    );
}

/// One move, and the game is over with a value that proves nothing.
struct OneMove;

/// Value for the side to move there.
const END: Wdl = Wdl { win: 0.75, draw: 0.125, loss: 0.125 };

impl World for OneMove {
    /// Plies.
    type State = u8;
    type Action = u16;
    type Error = Broken;

    fn step(&self, plies: &mut u8, _: u16) -> Option<Wdl> {
        *plies += 1;
        None
    }

    fn evaluate(&self, leaves: &[&u8]) -> Result<Vec<Leaf<u16>>, Broken> {
        let edges = || vec![Edge { action: 0, policy: 1.0, q: 0.5 }];
        let leaf = |&&plies: &&u8| match plies {
            0 => Leaf::Open { value: END.flip(), edges: edges() },
            _ => Leaf::Over(END),
        };
        Ok(leaves.iter().map(leaf).collect())
    }
}

/// A search of two playouts: the root's, and one that ends at its only child.
struct Search {
    tree: Tree,
    stats: RunStats,
}

impl Search {
    fn minibatch(&self) {
        let (params, mut rng) = (Params::default(), Rng::lane(0, 0));
        let job = Job {
            world: &OneMove,
            tree: &self.tree,
            params: &params,
            state: &0,
            root_policy: &RootPolicy::default(),
            stats: &self.stats,
            control: &Patient,
            threads: 2,
            max_playouts: Some(2),
            queue: None,
        };
        assert!(Worker::new(&job, &mut rng).step(false).is_ok());
    }
}

#[test]
fn loom_a_terminal_node_is_seen_with_its_first_visit() {
    in_every_order(
        || {
            let search = Search { tree: small_tree(16), stats: RunStats::new(0, Some(2)) };
            search.minibatch();
            search
        },
        |search, worker| {
            if worker == 0 {
                search.minibatch();
            }
            // A descent that meets the child.
            let tree = &search.tree;
            let child = tree.edges(tree.root().meta().edges()).get(0).child();
            let child = child.map(|child| tree.node(child));
            if child.is_some_and(|child| child.meta().state() == NodeState::Terminal) {
                assert_eq!(child.and_then(|child| child.stats().mean()), Some(END));
            } else {
                assert_eq!(worker, 1, "the minibatch is done");
            }
        },
        |search, _| {
            let root = search.tree.root().stats();
            assert_eq!((root.visits, root.in_flight), (2, 0));
            assert_eq!(root.mean(), Some(END.flip()));
        },
    );
}

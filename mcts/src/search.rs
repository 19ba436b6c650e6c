//! The facade of the search. Owns tree, root state and parameters, and runs the workers; no formulas, no
//! atomics.

use crate::{
    audit::Audit,
    backup::{self, PathCounts},
    control::{Control, Snapshot, View},
    job::Job,
    node::NodeState,
    params::{MAX_THREADS, Params},
    pool,
    queue::LeafQueue,
    rng::Rng,
    root::RootPolicy,
    stats::{RunStats, StopReason},
    tree::Tree,
    worker::{Ended, Worker},
    world::World,
};
use crossbeam::utils::CachePadded;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How a run ended.
#[derive(Debug)]
pub struct Outcome<A, E> {
    /// With every root line.
    pub snapshot: Snapshot<A>,
    /// The move by the final-move rule; None if the root has no edges.
    pub best: Option<A>,
    /// Expected reply, for `ponder`.
    pub ponder: Option<A>,
    /// The world's error, if it ended the search early.
    pub error: Option<E>,
}

/// Where a path to a new root begins: see [`Searcher::reroot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancestor {
    /// At the current root.
    Root,
    /// At the previous root: the current root was a ponder guess, or its move was taken back.
    FormerRoot,
}

/// The previous root.
#[derive(Clone, Copy, Debug)]
struct FormerRoot {
    node: u32,
    /// Plies from there down to the current root.
    plies: usize,
}

/// A tree inside a fixed memory budget, reused from move to move.
///
/// # Examples
/// ```
/// use mcts::{Ancestor, Params, Patient, Searcher, World, toy::Nim};
///
/// let mut heaps = [3, 4, 5];
/// let mut searcher = Searcher::new(Params::default(), 1 << 20);
/// searcher.set_root(heaps);
/// let outcome = searcher.run(&Nim, 1, Some(200), &Patient);
///
/// // The next search keeps the subtree of the move played.
/// let best = outcome.best.expect("stones are left");
/// Nim.step(&mut heaps, best);
/// let kept = searcher.reroot(heaps, Ancestor::Root, &[best]);
/// assert_eq!(kept, outcome.snapshot.lines[0].visits);
/// ```
pub struct Searcher<W: World> {
    params: Params,
    tree: Tree,
    state: Option<W::State>,
    /// No longer searched; all its nodes stay in place until the next compaction.
    former: Option<FormerRoot>,
    /// `searchmoves`; empty = all.
    restriction: Vec<u16>,
}

impl<W: World> Searcher<W> {
    /// Reserves at most `bytes` for the tree (at least 64 KiB), once; a run never allocates tree memory beyond
    /// it. When the memory is full, the search compacts the tree and continues. If the system refuses the
    /// memory, a smaller reservation is used: see [`Searcher::bytes`].
    pub fn new(params: Params, bytes: usize) -> Self {
        Searcher {
            params: params.sane(),
            tree: Tree::new(bytes),
            state: None,
            former: None,
            restriction: Vec::new(),
        }
    }

    /// Takes effect with the next run; priors already in the tree are unchanged.
    pub fn set_params(&mut self, params: Params) {
        self.params = params.sane();
    }

    /// The current parameters, clamped.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Drops the tree and reserves memory again; keeps the root's state.
    pub fn resize(&mut self, bytes: usize) {
        self.former = None;
        // Free the old reservation first: both might not fit.
        self.tree = Tree::new(0);
        self.tree = Tree::new(bytes);
    }

    /// Bytes reserved for the tree, side arrays included.
    pub fn bytes(&self) -> usize {
        self.tree.bytes()
    }

    /// Drops the tree; keeps the root's state and the memory.
    pub fn clear(&mut self) {
        self.former = None;
        self.tree.clear();
    }

    /// Drops the tree and makes `state` the root. Lifts any restriction.
    pub fn set_root(&mut self, state: W::State) {
        self.restriction.clear();
        self.state = Some(state);
        self.clear();
    }

    /// Makes `state` the root and keeps its subtree. `path` is the actions that lead to it from the node
    /// `from`. Lifts any restriction. Returns the visits kept: 0 where the search has not been, and then the
    /// tree is dropped as by [`Searcher::set_root`].
    pub fn reroot(&mut self, state: W::State, from: Ancestor, path: &[W::Action]) -> u64 {
        let Some((nodes, root)) = self.find(from, path) else {
            self.set_root(state);
            return 0;
        };
        self.restriction.clear();
        self.state = Some(state);
        if root != self.tree.root {
            if from == Ancestor::FormerRoot {
                self.tree.forget_path_ends(&[self.tree.root]);
            }
            self.tree.forget_path_ends(&nodes);
            let former = FormerRoot { node: nodes[0], plies: path.len() };
            self.former = (!path.is_empty()).then_some(former);
        }
        // The rest of the tree is garbage until a compaction.
        self.tree.root = root;
        self.tree.root().stats().visits
    }

    /// Plies from the previous root down to the current one, if the tree still has it.
    pub fn plies_since_former_root(&self) -> Option<usize> {
        self.former.map(|former| former.plies)
    }

    /// The nodes along `path` and the last of them, if it is expanded.
    fn find(&self, from: Ancestor, path: &[W::Action]) -> Option<(Vec<u32>, u32)> {
        let from = match from {
            Ancestor::Root => self.state.as_ref().map(|_| self.tree.root)?,
            Ancestor::FormerRoot => self.former?.node,
        };
        let nodes = self.tree.path(from, path.iter().map(|&action| action.into()))?;
        let root = *nodes.last()?;
        // Any other state is evaluated again: a proven node may have lost its edges, a refused one is a real
        // position after all, and path-dependent ends are no statistics of its own.
        let state = self.tree.node(root).meta().state();
        (state == NodeState::Expanded).then_some((nodes, root))
    }

    /// Restricts the root to these actions (`searchmoves`); all, if empty or none of them is legal.
    pub fn restrict_root(&mut self, actions: &[W::Action]) {
        self.restriction = actions.iter().map(|&action| action.into()).collect();
    }

    /// Searches until `control` stops it or `max_playouts` playouts of this run are done (exact). The calling
    /// thread is worker 0; `threads - 1` more are spawned. Blocks. With one thread and a deterministic world
    /// the result is bit-identical.
    ///
    /// Ends early when the root has no move to search: the game is over there, or all moves are refused.
    /// Without a root (no [`Searcher::set_root`] yet) the outcome is empty.
    ///
    /// # Panics
    /// Only where `world` or `control` panics. The panic propagates when all workers have ended; then the tree
    /// is empty, the root and its restriction are kept, and the searcher can run again.
    pub fn run(
        &mut self,
        world: &W,
        threads: usize,
        max_playouts: Option<u64>,
        control: &dyn Control<W>,
    ) -> Outcome<W::Action, W::Error> {
        let run = || self.run_unguarded(world, threads, max_playouts, control);
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            // The tree still has claims and virtual counts of the dead worker.
            self.clear();
            resume_unwind(panic)
        })
    }

    fn run_unguarded(
        &mut self,
        world: &W,
        threads: usize,
        max_playouts: Option<u64>,
        control: &dyn Control<W>,
    ) -> Outcome<W::Action, W::Error> {
        let threads = threads.clamp(1, MAX_THREADS);
        let stats = RunStats::new(self.tree.root().stats().visits, max_playouts);
        // Padded to a cache line each, against false sharing.
        let pipeline = self.params.pipeline;
        let queue = pipeline.as_ref().map(LeafQueue::new);
        // A worker that carries a batch waits for the device; as many more select.
        let workers = pipeline.map_or(threads, |it| (threads + it.lanes).min(MAX_THREADS));
        let mut rngs: Vec<CachePadded<Rng>> = (0..workers as u64)
            .map(|lane| CachePadded::new(Rng::lane(self.params.seed, lane)))
            .collect();
        let Some(state) = &self.state else {
            return self.outcome(&stats, &RootPolicy::default(), None);
        };
        let unrestricted = RootPolicy::default();
        let mut error = None;
        let mut root_policy = None;
        loop {
            let root = self.tree.root().meta().state();
            let expanded = root == NodeState::Expanded;
            if expanded && root_policy.is_none() {
                root_policy = Some(RootPolicy::new(&self.tree, &self.restriction, &self.params));
            }
            let job = Job {
                world,
                tree: &self.tree,
                params: &self.params,
                state,
                root_policy: root_policy.as_ref().unwrap_or(&unrestricted),
                stats: &stats,
                control,
                threads,
                max_playouts,
                queue: queue.as_ref().filter(|_| expanded),
            };
            let ended = match root {
                // The root is evaluated first and alone, even by a search that is already stopped.
                NodeState::Fresh => {
                    let mut worker = Worker::new(&job, &mut rngs[0]);
                    let error = worker.step(false).err();
                    vec![worker.end(error)]
                }
                NodeState::Expanded if control.tick(&job.view()).is_break() => break,
                NodeState::Expanded => pool::run_workers(&job, &mut rngs),
                // No room for the root's own edges.
                NodeState::OutOfMemory => {
                    stats.stop(StopReason::MemoryFull);
                    Vec::new()
                }
                NodeState::Claimed | NodeState::Terminal | NodeState::Refused => break,
            };
            for Ended { error: failed, abandoned } in ended {
                error = error.or(failed);
                abandoned.into_iter().for_each(|at| self.tree.release(at));
            }
            for slot in queue.iter().flat_map(LeafQueue::drain) {
                backup::undo(&self.tree, &slot.path, PathCounts::InFlight(slot.counts));
                self.tree.release(slot.end());
                stats.return_playouts(1);
            }
            match stats.take_stop_reason() {
                _ if error.is_some() => break,
                Some(StopReason::SearchOver) => break,
                // A finished search needs no room, and a compaction takes time.
                Some(StopReason::MemoryFull) if expanded && !stats.any_playouts_left() => break,
                Some(StopReason::MemoryFull) => {
                    let stopped = || expanded && control.stopped();
                    if !self.tree.compact(threads, &stopped) {
                        break;
                    }
                    self.former = None;
                }
                None if expanded || !stats.any_playouts_left() => break,
                None => {}
            }
        }
        self.outcome(&stats, &root_policy.unwrap_or_default(), error)
    }

    /// Walks the whole tree and checks its invariants between runs. For tests and measurements.
    pub fn audit(&self) -> Audit {
        Audit::of(&self.tree)
    }

    #[cfg(test)]
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    #[cfg(test)]
    pub(crate) fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    #[cfg(test)]
    pub(crate) fn root_state(&self) -> &W::State {
        self.state.as_ref().expect("a root was set")
    }

    fn outcome(
        &self,
        stats: &RunStats,
        root_policy: &RootPolicy,
        error: Option<W::Error>,
    ) -> Outcome<W::Action, W::Error> {
        let view: View<'_, W> = View::new(&self.tree, root_policy, &self.params, stats);
        let snapshot = view.snapshot(usize::MAX);
        let line = snapshot.lines.first();
        let best = line.and_then(|line| line.moves.first().copied());
        let ponder = line.and_then(|line| line.moves.get(1).copied());
        Outcome { snapshot, best, ponder, error }
    }
}

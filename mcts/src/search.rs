//! The facade: what the engine sees of the search. Owns tree, root state and parameters, and runs the
//! phases of the pool; no formula and no atomic lives here.

use crate::{
    audit::Audit,
    batch::{Ended, Worker},
    node::{Proof, State},
    params::Params,
    pool::{self, Halt, Job, Tally},
    rng::Rng,
    root::{self, Guide, Line, Race},
    tree::Tree,
    world::World,
};
use crossbeam::utils::CachePadded;
use std::{marker::PhantomData, ops::ControlFlow, time::Duration};

/// Where a search stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<A> {
    /// Playouts of this run plus visits kept from earlier runs.
    pub nodes: u64,
    /// Playouts of this run alone.
    pub playouts: u64,
    /// Mean depth of this run's playouts, and the deepest.
    pub depth: u32,
    pub seldepth: u32,
    /// Permille of the tree's memory in use.
    pub hashfull: u32,
    /// Best first, by the final-move rule.
    pub lines: Vec<Line<A>>,
    /// States answered `Refused`.
    pub refused: u64,
    pub collisions: u64,
}

/// What a running search shows its controller. Cheap except `snapshot`.
pub struct View<'a, W: World> {
    tree: &'a Tree,
    guide: &'a Guide,
    params: &'a Params,
    tally: &'a Tally,
    world: PhantomData<fn() -> W>,
}

impl<W: World> View<'_, W> {
    /// Playouts of this run.
    pub fn playouts(&self) -> u64 {
        self.tally.playouts()
    }

    /// Time since `run` was called.
    pub fn elapsed(&self) -> Duration {
        self.tally.started.elapsed()
    }

    /// How the visits are spread over the root's moves.
    pub fn root_race(&self) -> Race {
        root::race(self.tree, self.guide)
    }

    /// Mate distance of the best line, as [`Line::mate_plies`].
    pub fn mate_plies(&self) -> Option<i32> {
        root::candidates(self.tree, self.tree.root(), self.guide, self.params.final_move)
            .first()
            .and_then(root::Candidate::mate_plies)
    }

    /// True when the root's result is proven, draws included: more search finds nothing but
    /// shorter mates.
    pub fn proven(&self) -> bool {
        let best =
            root::candidates(self.tree, self.tree.root(), self.guide, self.params.final_move);
        match best.first().and_then(|best| best.proof) {
            Some(Proof::Win(_)) => true,
            Some(_) => best.iter().all(|c| c.proof.is_some()),
            None => false,
        }
    }

    /// The best `multipv` lines and the counters.
    pub fn snapshot(&self, multipv: usize) -> Snapshot<W::Action> {
        let (depth, seldepth) = self.tally.depths();
        Snapshot {
            nodes: self.tally.kept + self.tally.playouts(),
            playouts: self.tally.playouts(),
            depth,
            seldepth,
            hashfull: self.tree.hashfull(),
            lines: root::lines(self.tree, self.guide, self.params.final_move, multipv),
            refused: self.tally.refused(),
            collisions: self.tally.collisions(),
        }
    }
}

/// The engine's hand on a running search.
pub trait Control<W: World>: Sync {
    /// Asked by the calling thread (worker 0) after each of its minibatches, and at once after the
    /// root's evaluation. May print. Must be quick.
    fn tick(&self, view: &View<'_, W>) -> ControlFlow<()>;
    /// Polled by every worker between minibatches and between descents; true ends the search at once.
    /// Only the root's own evaluation is not given up, so that there is a move.
    fn stopped(&self) -> bool;
}

/// A control that lets the search run to its playout limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patient;

impl<W: World> Control<W> for Patient {
    fn tick(&self, _: &View<'_, W>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn stopped(&self) -> bool {
        false
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome<A, E> {
    /// With every root line.
    pub snapshot: Snapshot<A>,
    /// The move by the final-move rule; None if the root has no edges.
    pub best: Option<A>,
    /// Expected reply, for `ponder`.
    pub ponder: Option<A>,
    pub error: Option<E>,
}

/// Where a path to a new root begins: see [`Searcher::reroot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancestor {
    /// At the present root.
    Root,
    /// At the root before the present one. For a turn the game was not expected to take: the present
    /// root was a guess, or its move was taken back.
    FormerRoot,
}

/// The root before the present one.
#[derive(Clone, Copy, Debug)]
struct FormerRoot {
    node: u32,
    /// From there down to the present root.
    plies: usize,
}

/// A tree inside a fixed memory budget, reused from move to move.
pub struct Searcher<W: World> {
    params: Params,
    tree: Tree,
    state: Option<W::State>,
    /// Nobody searches there, but until the next compaction its nodes are all in place.
    former: Option<FormerRoot>,
    /// `searchmoves`; empty = all.
    restriction: Vec<u16>,
}

impl<W: World> Searcher<W> {
    /// Reserves at most `bytes` for the tree (at least 64 KiB), once; a run never allocates tree memory
    /// beyond it. When the memory is full the search goes on (it frees the least useful part), it
    /// never dies. If the system refuses the memory, takes what it gives: see [`Searcher::bytes`].
    pub fn new(params: Params, bytes: usize) -> Self {
        Searcher {
            params: params.sane(),
            tree: Tree::new(bytes),
            state: None,
            former: None,
            restriction: Vec::new(),
        }
    }

    /// Takes effect with the next run; priors already in the tree stay as they are.
    pub fn set_params(&mut self, params: Params) {
        self.params = params.sane();
    }

    /// The parameters in force, every one inside its range.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Drops the tree and reserves anew.
    pub fn resize(&mut self, bytes: usize) {
        // The old reservation goes first: both at once might not fit.
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

    /// Makes `state` the root and keeps what the tree knows about it. `path` is the actions that lead
    /// to it from the node `from`. Lifts any restriction. Returns the visits kept: 0 where the search
    /// has not been, and then the tree is dropped as by [`Searcher::set_root`].
    pub fn reroot(&mut self, state: W::State, from: Ancestor, path: &[W::Action]) -> u64 {
        let Some((from, root)) = self.find(from, path) else {
            self.set_root(state);
            return 0;
        };
        self.restriction.clear();
        self.state = Some(state);
        self.former = match path.len() {
            0 if root == self.tree.root => self.former,
            0 => None,
            plies => Some(FormerRoot { node: from, plies }),
        };
        // The rest of the tree stays as garbage until a compaction.
        self.tree.root = root;
        self.tree.root().stats().visits
    }

    /// Plies from the root before the present one down to the present one, if the tree still has it.
    pub fn plies_since_former_root(&self) -> Option<usize> {
        self.former.map(|former| former.plies)
    }

    /// The nodes at the two ends of `path`, if the search has expanded the last.
    fn find(&self, from: Ancestor, path: &[W::Action]) -> Option<(u32, u32)> {
        let from = match from {
            Ancestor::Root => self.state.as_ref().map(|_| self.tree.root)?,
            Ancestor::FormerRoot => self.former?.node,
        };
        let root = self.tree.descend(from, path.iter().map(|&action| action.into()))?;
        // Anything but Expanded is evaluated anew: a proven node may have lost its edges, a refused
        // one is a real position after all, and path-dependent ends are no statistics of its own.
        (self.tree.node(root).meta().state() == State::Expanded).then_some((from, root))
    }

    /// Restricts the root to these actions (`searchmoves`); empty, or none of them legal = all.
    pub fn restrict_root(&mut self, actions: &[W::Action]) {
        self.restriction = actions.iter().map(|&action| action.into()).collect();
    }

    /// Searches until `control` stops it or `max_playouts` playouts of this run are done (exact).
    /// The calling thread is worker 0; `threads - 1` more are spawned. Blocks. With one thread and a
    /// deterministic world the result repeats bit for bit.
    ///
    /// Ends early when the root has no move to search: the game is over there, or all is refused.
    /// Without a root (no `set_root` yet) the outcome is empty.
    pub fn run(
        &mut self,
        world: &W,
        threads: usize,
        max_playouts: Option<u64>,
        control: &dyn Control<W>,
    ) -> Outcome<W::Action, W::Error> {
        // 256: the width of a node's count of visits in flight (see `node`).
        let threads = threads.clamp(1, 256);
        let tally = Tally::new(self.tree.root().stats().visits, max_playouts);
        // Apart, for their owners write them all the time.
        let mut rngs: Vec<CachePadded<Rng>> = (0..threads as u64)
            .map(|lane| CachePadded::new(Rng::lane(self.params.seed, lane)))
            .collect();
        let Some(state) = self.state.take() else {
            return self.outcome(&tally, &Guide::default(), None);
        };
        let mut error = None;
        let mut guide = None;
        loop {
            let root = self.tree.root().meta().state();
            if root == State::Expanded && guide.is_none() {
                guide = Some(Guide::new(&self.tree, &self.restriction, &self.params));
            }
            let none = Guide::default();
            let guide = guide.as_ref().unwrap_or(&none);
            let (tree, params, tally) = (&self.tree, &self.params, &tally);
            let job = Job {
                world,
                tree,
                params,
                state: &state,
                guide,
                tally,
                control,
                threads,
                max_playouts,
            };
            let view = View { tree, guide, params, tally, world: PhantomData };
            let ended = match root {
                // The root is evaluated alone and before all else, even by a search already stopped.
                State::Fresh => {
                    let mut worker = Worker::new(&job, &mut rngs[0]);
                    let error = worker.step(false).err();
                    vec![worker.end(error)]
                }
                State::Expanded if control.tick(&view).is_break() => break,
                State::Expanded => pool::phase(&job, &view, &mut rngs),
                // No room for the root's own edges.
                State::Shed => {
                    tally.halt(Halt::Full);
                    Vec::new()
                }
                State::Claimed | State::Terminal | State::Refused => break,
            };
            for Ended { error: failed, abandoned } in ended {
                error = error.or(failed);
                abandoned.into_iter().for_each(|at| self.tree.release(at));
            }
            match tally.take_halt() {
                _ if error.is_some() => break,
                Halt::Stop => break,
                // A search at its end has no use for room, and making it takes time.
                Halt::Full if root == State::Expanded && !tally.tickets_left() => break,
                Halt::Full => {
                    let idle = || root == State::Expanded && control.stopped();
                    if !self.tree.compact(threads, &idle) {
                        break;
                    }
                    self.former = None;
                }
                Halt::None if root == State::Expanded || !tally.tickets_left() => break,
                Halt::None => {}
            }
        }
        self.state = Some(state);
        self.outcome(&tally, &guide.unwrap_or_default(), error)
    }

    /// Walks the whole tree and adds up what must hold between runs. For tests and for measuring.
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
        tally: &Tally,
        guide: &Guide,
        error: Option<W::Error>,
    ) -> Outcome<W::Action, W::Error> {
        let view: View<'_, W> =
            View { tree: &self.tree, guide, params: &self.params, tally, world: PhantomData };
        let snapshot = view.snapshot(usize::MAX);
        let line = snapshot.lines.first();
        let best = line.and_then(|line| line.moves.first().copied());
        let ponder = line.and_then(|line| line.moves.get(1).copied());
        Outcome { snapshot, best, ponder, error }
    }
}

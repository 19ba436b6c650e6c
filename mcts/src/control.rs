//! Interface between a running search and its caller: the caller's [`Control`], the [`View`] that it gets, and
//! the [`Snapshot`] that it may take.

use crate::{
    line::{Line, lines},
    params::Params,
    puct,
    root::{self, Candidate, Race, RootPolicy},
    stats::RunStats,
    tree::Tree,
    world::World,
};
use std::{marker::PhantomData, ops::ControlFlow, time::Duration};

/// The caller's control over a running search.
pub trait Control<W: World>: Sync {
    /// Called by the calling thread (worker 0) after each of its minibatches, and immediately after the root's
    /// evaluation. `Break` ends the search. May print. Must be quick.
    fn tick(&self, view: &View<'_, W>) -> ControlFlow<()>;
    /// Polled by every worker between minibatches and between descents; true ends the search. Only the root's
    /// own evaluation is never aborted, so that there is a move.
    fn stopped(&self) -> bool;
    /// Leaves that may be in flight to a device now (`Params::pipeline`): fewer where little time is left, for the search
    /// ends with its last batch. Polled for every few leaves.
    fn most_in_flight(&self) -> usize {
        usize::MAX
    }
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

/// Progress of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<A> {
    /// Playouts of this run plus visits kept from earlier runs.
    pub nodes: u64,
    /// Playouts of this run only.
    pub playouts: u64,
    /// Mean depth of this run's playouts, in plies.
    pub depth: u32,
    /// Depth of this run's deepest playout, in plies.
    pub seldepth: u32,
    /// Permille of the tree's memory in use.
    pub hashfull: u32,
    /// Best first, by the final-move rule.
    pub lines: Vec<Line<A>>,
    /// States evaluated as [`crate::Leaf::Refused`].
    pub refused: u64,
    /// States evaluated as [`crate::Leaf::Known`].
    pub known: u64,
    /// Descents that met a leaf in flight.
    pub collisions: u64,
    /// Exploration term, the factor of each root move's `prior / (1 + visits)`: `c_puct * sqrt(N)`.
    pub exploration: f32,
}

/// An empty search.
impl<A> Default for Snapshot<A> {
    fn default() -> Self {
        Snapshot {
            nodes: 0,
            playouts: 0,
            depth: 1,
            seldepth: 1,
            hashfull: 0,
            lines: Vec::new(),
            refused: 0,
            known: 0,
            collisions: 0,
            exploration: 0.0,
        }
    }
}

/// State of a running search for its [`Control`]. Cheap except [`View::snapshot`].
pub struct View<'a, W: World> {
    tree: &'a Tree,
    root_policy: &'a RootPolicy,
    params: &'a Params,
    stats: &'a RunStats,
    world: PhantomData<fn() -> W>,
}

impl<'a, W: World> View<'a, W> {
    pub(crate) fn new(
        tree: &'a Tree,
        root_policy: &'a RootPolicy,
        params: &'a Params,
        stats: &'a RunStats,
    ) -> Self {
        View { tree, root_policy, params, stats, world: PhantomData }
    }

    /// Playouts of this run.
    pub fn playouts(&self) -> u64 {
        self.stats.playouts()
    }

    /// Time since the run began.
    pub fn elapsed(&self) -> Duration {
        self.stats.started.elapsed()
    }

    /// Distribution of the visits over the root's moves.
    pub fn root_race(&self) -> Race {
        root::race(self.tree, self.root_policy, self.params)
    }

    /// Mate distance of the best line, as [`Line::mate_plies`].
    pub fn mate_plies(&self) -> Option<i32> {
        self.candidates().first().and_then(Candidate::mate_plies)
    }

    /// True when the root's result is proven, draws included: more search finds only shorter mates.
    pub fn proven(&self) -> bool {
        root::proven(self.tree, self.root_policy)
    }

    /// The best `multipv` lines and the counters.
    pub fn snapshot(&self, multipv: usize) -> Snapshot<W::Action> {
        let depth = self.stats.depth();
        Snapshot {
            nodes: self.stats.kept + self.stats.playouts(),
            playouts: self.stats.playouts(),
            depth: depth.mean,
            seldepth: depth.max,
            hashfull: self.tree.hashfull(),
            lines: lines(self.tree, self.root_policy, self.params, multipv),
            refused: self.stats.refused(),
            known: self.stats.known(),
            collisions: self.stats.collisions(),
            exploration: puct::exploration(self.tree.root().stats().visits, self.params),
        }
    }

    fn candidates(&self) -> Vec<Candidate> {
        root::candidates(self.tree, self.root_policy, self.params)
    }
}

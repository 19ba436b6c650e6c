//! The facade: what the engine sees of the search.
// CONTRACT (signatures the engine codes against; the mcts owner fills them in and may split files).

use crate::{value::Wdl, world::World};
use std::marker::PhantomData;
use std::time::Duration;

/// Every search constant, each with source and range.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Leaves a worker gathers before it evaluates (paper 000 App. A: b = 16). 1..=1024.
    pub batch: usize,
    pub c_puct: f32,
    /// Eq. 1: temperature over action values, k best moves, share spread evenly.
    pub tau: f32,
    pub top_k: usize,
    pub epsilon: f32,
    /// Weight of the model's policy head in the prior against Eq. 1's action-value prior, 0..=1.
    pub policy_share: f32,
    /// Dynamic virtual counts (n_min, n_max); None = static count of `static_virtual`.
    pub dynamic_virtual: Option<(u32, u32)>,
    pub static_virtual: u32,
    /// Final move: most visits (robust child) or best mean value (max child).
    pub final_move: FinalMove,
    /// 0 = off. Root noise for self-play.
    pub noise_epsilon: f32,
    pub noise_alpha: f32,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalMove {
    Robust,
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Stop,
}

/// One principal variation, best first.
#[derive(Clone, Debug)]
pub struct Line<A> {
    pub moves: Vec<A>,
    pub visits: u64,
    /// For the side to move at the root.
    pub value: Wdl,
    /// Proven mate: plies to mate, positive = the root's mover mates, negative = is mated.
    pub mate_plies: Option<i32>,
    /// Prior of the first move after Eq. 1.
    pub prior: f32,
}

#[derive(Clone, Debug)]
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
    pub lines: Vec<Line<A>>,
    /// States answered `Refused`.
    pub refused: u64,
    pub collisions: u64,
}

/// What a running search shows its controller. Cheap except `snapshot`.
pub struct View<'a, W: World> {
    _search: PhantomData<&'a W>,
}

impl<W: World> View<'_, W> {
    pub fn playouts(&self) -> u64 {
        unimplemented!()
    }
    pub fn elapsed(&self) -> Duration {
        unimplemented!()
    }
    /// (visits of the most visited root child, of the second, number of root edges)
    pub fn root_race(&self) -> (u64, u64, usize) {
        unimplemented!()
    }
    pub fn snapshot(&self, _multipv: usize) -> Snapshot<W::Action> {
        unimplemented!()
    }
}

/// The engine's hand on a running search.
pub trait Control<W: World>: Sync {
    /// Asked by the calling thread (worker 0) after each of its minibatches, and at once after the
    /// root's evaluation. May print. Must be quick.
    fn tick(&self, view: &View<'_, W>) -> Flow;
    /// Polled by every worker between minibatches; true ends the search at once.
    fn stopped(&self) -> bool;
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome<A, E> {
    pub snapshot: Snapshot<A>,
    /// The move by the final-move rule; None if the root has no edges.
    pub best: Option<A>,
    /// Expected reply, for `ponder`.
    pub ponder: Option<A>,
    pub error: Option<E>,
}

/// A tree inside a fixed memory budget, reused from move to move.
pub struct Searcher<W: World> {
    _world: PhantomData<W>,
}

impl<W: World> Searcher<W> {
    /// Reserves at most `bytes` for the tree, once; a run never allocates tree memory beyond it. When the memory
    /// is full the search goes on (it frees the least useful part), it never dies.
    pub fn new(_params: Params, _bytes: usize) -> Self {
        unimplemented!()
    }
    pub fn set_params(&mut self, _params: Params) {
        unimplemented!()
    }
    /// Drops the tree and reserves anew.
    pub fn resize(&mut self, _bytes: usize) {
        unimplemented!()
    }
    pub fn clear(&mut self) {
        unimplemented!()
    }
    /// Makes `state` the root. `path` = actions from the former root to `state`, or None if unrelated
    /// (then the tree is dropped). Returns visits kept.
    pub fn set_root(&mut self, _state: W::State, _path: Option<&[W::Action]>) -> u64 {
        unimplemented!()
    }
    /// Restricts the root to these actions (`searchmoves`); empty = all.
    pub fn restrict_root(&mut self, _actions: &[W::Action]) {
        unimplemented!()
    }
    /// Searches until `control` stops it or `max_playouts` playouts of this run are done (exact).
    /// The calling thread is worker 0; `threads - 1` more are spawned. Blocks. With one thread and a
    /// deterministic world the result repeats bit for bit.
    pub fn run(
        &mut self,
        _world: &W,
        _threads: usize,
        _max_playouts: Option<u64>,
        _control: &dyn Control<W>,
    ) -> Outcome<W::Action, W::Error> {
        unimplemented!()
    }
}

impl<W: World> Default for View<'_, W> {
    fn default() -> Self {
        View { _search: PhantomData }
    }
}

pub(crate) fn _wdl(_: Wdl) {}

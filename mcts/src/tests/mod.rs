//! The search as a whole. `games` tests correctness, `books` and `path_ends` the invariants of the tree,
//! `noise` exploration, `device` the queue to a device, `stops` and `trouble` termination and robustness.

mod books;
mod device;
mod games;
mod noise;
mod path_ends;
mod stops;
mod trouble;

use crate::toy::{Broken, Wide};
use crate::{Ancestor, Control, Leaf, Outcome, Params, Patient, Searcher, View, Wdl, World};
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

const MIB: usize = 1 << 20;

/// Searches `state` in a fresh tree of 16 MiB.
fn search<W: World>(
    world: &W,
    state: W::State,
    params: Params,
    threads: usize,
    playouts: u64,
) -> (Searcher<W>, Outcome<W::Action, W::Error>) {
    let mut searcher = Searcher::new(params, 16 * MIB);
    searcher.set_root(state);
    let outcome = searcher.run(world, threads, Some(playouts), &Patient);
    (searcher, outcome)
}

/// Stops the search at the first poll after `polls`.
struct StopAfter(AtomicU64);

impl StopAfter {
    fn new(polls: u64) -> Self {
        StopAfter(AtomicU64::new(polls))
    }
}

impl<W: World> Control<W> for StopAfter {
    fn tick(&self, _: &View<'_, W>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn stopped(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

/// [`Wide::CHESSLIKE`] with something done before each minibatch is evaluated.
trait BeforeEvaluation: Send + Sync {
    fn before(&self, leaves: &[&u64]);
}

impl<H: BeforeEvaluation> World for H {
    type State = u64;
    type Action = u16;
    type Error = Broken;

    fn step(&self, key: &mut u64, action: u16) -> Option<Wdl> {
        Wide::CHESSLIKE.step(key, action)
    }

    fn evaluate(&self, leaves: &[&u64]) -> Result<Vec<Leaf<u16>>, Broken> {
        self.before(leaves);
        Wide::CHESSLIKE.evaluate(leaves)
    }
}

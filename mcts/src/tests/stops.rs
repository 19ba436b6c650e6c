//! A stop, and a panic in one worker: the other workers stop within a minibatch. No assertion depends on the clock.

use super::*;
use crate::toy::Wide;
use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

/// Counts its minibatches.
#[derive(Default)]
struct Counting(AtomicU64);

impl Counting {
    fn minibatches(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl BeforeEvaluation for Counting {
    fn before(&self, _: &[&u64]) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Stops the search once the world has evaluated that number of minibatches.
struct StopAt<'a>(&'a Counting, u64);

impl Control<Counting> for StopAt<'_> {
    fn tick(&self, _: &View<'_, Counting>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn stopped(&self) -> bool {
        self.0.minibatches() >= self.1
    }
}

#[test]
fn a_stopped_search_evaluates_no_further_minibatch() {
    for threads in [1, 4] {
        for at in [1, 2, 10, 60] {
            let (world, params) = (Counting::default(), Params { ramp: 1, ..Params::default() });
            let mut searcher = Searcher::new(params, MIB);
            searcher.set_root(0);
            let control = StopAt(&world, at);
            // The limit is for a search that ignores the stop: it fails, but it ends.
            let outcome = searcher.run(&world, threads, Some(20_000), &control);
            assert!(outcome.best.is_some());
            // Each of the other workers may have started one already.
            let most = at + threads as u64 - 1;
            assert!((at..=most).contains(&world.minibatches()), "{}", world.minibatches());
        }
    }
}

#[test]
fn a_stop_between_two_descents_gives_the_minibatch_up() {
    let world = Counting::default();
    let mut searcher = Searcher::new(Params { ramp: 1, ..Params::default() }, MIB);
    searcher.set_root(0);
    searcher.run(&world, 1, Some(1000), &Patient);
    let (before, visits) = (world.minibatches(), searcher.tree().root().stats().visits);
    // The tree is large enough for minibatches of 16 leaves; the fifth descent is not started.
    let outcome = searcher.run(&world, 1, Some(20_000), &StopAfter::new(4));
    assert_eq!(outcome.snapshot.playouts, 0);
    assert_eq!((world.minibatches(), searcher.tree().root().stats().visits), (before, visits));
    assert_eq!((searcher.audit().in_flight, searcher.audit().claimed), (0, 0));
}

/// Asserts that only the calling thread ticks.
struct TicksHere(std::thread::ThreadId);

impl Control<Wide> for TicksHere {
    fn tick(&self, _: &View<'_, Wide>) -> ControlFlow<()> {
        assert_eq!(std::thread::current().id(), self.0);
        ControlFlow::Continue(())
    }

    fn stopped(&self) -> bool {
        false
    }
}

#[test]
fn the_calling_thread_alone_ticks() {
    let mut searcher = Searcher::new(Params::default(), MIB);
    searcher.set_root(0);
    let control = TicksHere(std::thread::current().id());
    searcher.run(&Wide::CHESSLIKE, 3, Some(3000), &control);
}

/// Set when its thread ends, after everything on its stack has been dropped.
struct SetAtThreadsEnd(Arc<AtomicBool>);

impl Drop for SetAtThreadsEnd {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

thread_local! {
    static AT_END: Cell<Option<SetAtThreadsEnd>> = const { Cell::new(None) };
}

/// A spawned worker panics at its first evaluation. The calling thread's first one after the root's blocks
/// until that worker's thread has ended.
#[derive(Default)]
struct SpawnedPanics {
    ended: Arc<AtomicBool>,
    /// Minibatches of the calling thread.
    minibatches: AtomicU64,
}

impl BeforeEvaluation for SpawnedPanics {
    fn before(&self, _: &[&u64]) {
        if std::thread::current().name() == Some("mcts") {
            AT_END.set(Some(SetAtThreadsEnd(self.ended.clone())));
            panic!("boom");
        }
        if self.minibatches.fetch_add(1, Relaxed) == 1 {
            // The bound is for a system that refuses a second thread.
            for _ in 0..10_000 {
                if self.ended.load(Relaxed) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

#[test]
fn a_panic_in_one_worker_stops_the_others_and_passes_through() {
    let world = SpawnedPanics::default();
    // The limit is for workers that ignore the panic.
    let run = || search(&world, 0, Params::default(), 2, 2000);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    // The root's, and the one in progress when the other worker ended.
    assert!(world.minibatches.load(Relaxed) <= 2, "{:?}", world.minibatches);
}

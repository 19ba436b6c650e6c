//! Leaves of all workers on their way to a device: none is lost, none is evaluated twice, each is backed up as its answer
//! comes.

use super::*;
use crate::Pipeline;
use crate::toy::{Fault, Faulty, Wide};
use std::{
    collections::HashSet,
    sync::{Condvar, Mutex},
    thread,
};

const PIPELINE: Pipeline = Pipeline { lanes: 2, least: 8, most: 64, ramp: 2 };

fn params(pipeline: Pipeline) -> Params {
    Params { pipeline: Some(pipeline), ..Params::default() }
}

/// A device that notes what it evaluates.
#[derive(Default)]
struct Device {
    seen: Mutex<HashSet<u64>>,
    sizes: Mutex<Vec<usize>>,
    /// Evaluations under way, and most of them at once.
    under_way: Mutex<(usize, usize)>,
}

impl BeforeEvaluation for Device {
    fn before(&self, leaves: &[&u64]) {
        {
            let mut now = self.under_way.lock().unwrap();
            *now = (now.0 + 1, now.1.max(now.0 + 1));
        }
        self.sizes.lock().unwrap().push(leaves.len());
        let mut seen = self.seen.lock().unwrap();
        assert!(leaves.iter().all(|leaf| seen.insert(**leaf)), "evaluated twice");
        drop(seen);
        thread::yield_now();
        self.under_way.lock().unwrap().0 -= 1;
    }
}

#[test]
fn every_leaf_is_evaluated_once_and_backed_up() {
    for (threads, lanes) in [(1, 1), (1, 3), (3, 2), (8, 4)] {
        let device = Device::default();
        let pipeline = Pipeline { lanes, ..PIPELINE };
        let (searcher, outcome) = search(&device, 0, params(pipeline), threads, 5000);
        assert_eq!((outcome.snapshot.playouts, outcome.snapshot.nodes), (5000, 5000));
        assert_eq!(device.seen.lock().unwrap().len(), 5000);
        let audit = searcher.audit();
        assert_eq!((audit.in_flight, audit.claimed, audit.expanded), (0, 0, 5000));
        assert_eq!((audit.below_law, audit.above_law), (0, 0));
        let sizes = device.sizes.lock().unwrap();
        assert!(sizes.iter().all(|&size| size <= 64), "{sizes:?}");
        assert!(sizes.contains(&64), "the leaves of all workers fill a batch");
        assert!(device.under_way.lock().unwrap().1 <= lanes);
    }
}

#[test]
fn a_small_tree_has_few_leaves_in_flight() {
    let pipeline = Pipeline { least: 1, ramp: 1000, ..PIPELINE };
    let device = Device::default();
    let (_, outcome) = search(&device, 0, params(pipeline), 2, 900);
    assert_eq!(outcome.snapshot.playouts, 900);
    assert!(device.sizes.lock().unwrap().iter().all(|&size| size == 1));
    assert_eq!(device.under_way.lock().unwrap().1, 1);
}

/// Bounds the leaves in flight.
struct AtMost(usize);

impl<W: World> Control<W> for AtMost {
    fn tick(&self, _: &View<'_, W>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn stopped(&self) -> bool {
        false
    }

    fn most_in_flight(&self) -> usize {
        self.0
    }
}

#[test]
fn the_control_bounds_the_leaves_in_flight() {
    for most in [0, 1, 5] {
        let device = Device::default();
        let mut searcher = Searcher::new(params(PIPELINE), MIB);
        searcher.set_root(0);
        let outcome = searcher.run(&device, 3, Some(500), &AtMost(most));
        assert_eq!(outcome.snapshot.playouts, 500);
        let bound = most.max(1);
        assert!(device.sizes.lock().unwrap().iter().all(|&size| size <= bound));
    }
}

/// Answers its first batch, the root's, and holds the next until another thread lets it go.
#[derive(Default)]
struct Stalled {
    batches: AtomicU64,
    free: Mutex<bool>,
    changed: Condvar,
}

impl BeforeEvaluation for Stalled {
    fn before(&self, _: &[&u64]) {
        if self.batches.fetch_add(1, Relaxed) == 1 {
            let free = self.free.lock().unwrap();
            drop(self.changed.wait_while(free, |free| !*free).unwrap());
        }
    }
}

/// Ticks until the other leaves have been selected that may be in flight; then stops, and lets the device go.
struct StopsWhileStalled<'a>(&'a Stalled);

impl Control<Stalled> for StopsWhileStalled<'_> {
    fn tick(&self, view: &View<'_, Stalled>) -> ControlFlow<()> {
        // Without another lane nothing is backed up while the device stalls, and the worker that ticks does not wait.
        if self.0.batches.load(Relaxed) < 2 {
            return ControlFlow::Continue(());
        }
        assert_eq!(view.playouts(), 1);
        *self.0.free.lock().unwrap() = true;
        self.0.changed.notify_all();
        ControlFlow::Break(())
    }

    fn stopped(&self) -> bool {
        *self.0.free.lock().unwrap()
    }
}

#[test]
fn a_stalled_device_does_not_keep_the_search_from_its_clock() {
    for threads in [1, 3] {
        let device = Stalled::default();
        let mut searcher = Searcher::new(params(Pipeline { lanes: 1, ..PIPELINE }), MIB);
        searcher.set_root(0);
        let outcome = searcher.run(&device, threads, Some(50_000), &StopsWhileStalled(&device));
        assert_eq!(device.batches.load(Relaxed), 2, "no batch begins after the stop");
        assert!((1..=9).contains(&outcome.snapshot.playouts), "{}", outcome.snapshot.playouts);
        let audit = searcher.audit();
        assert_eq!((audit.in_flight, audit.claimed, audit.below_law), (0, 0, 0));
        let more = searcher.run(&device, threads, Some(500), &Patient);
        assert_eq!(more.snapshot.playouts, 500, "leaves given up can be searched again");
    }
}

#[test]
fn stops_errors_panics_and_full_memory_leave_nothing_in_flight() {
    for (polls, threads) in [(0, 1), (1, 2), (50, 1), (999, 4)] {
        let mut searcher = Searcher::new(params(PIPELINE), MIB);
        searcher.set_root(0);
        let outcome = searcher.run(&Wide::CHESSLIKE, threads, Some(50_000), &StopAfter::new(polls));
        assert!(outcome.best.is_some() && outcome.snapshot.playouts <= polls + 1);
        let audit = searcher.audit();
        assert_eq!((audit.in_flight, audit.claimed, audit.below_law), (0, 0, 0));
    }
    for after in [1, 2, 30] {
        let world = Faulty::new(Wide::CHESSLIKE, Fault::Error, after);
        let (mut searcher, outcome) = search(&world, 0, params(PIPELINE), 2, 100_000);
        assert!(outcome.error.is_some() && outcome.best.is_some());
        assert_eq!((searcher.audit().in_flight, searcher.audit().claimed), (0, 0));
        let sound = Faulty::new(Wide::CHESSLIKE, Fault::Error, u64::MAX);
        assert_eq!(searcher.run(&sound, 2, Some(50), &Patient).snapshot.playouts, 50);
    }
    for fault in [Fault::Short, Fault::Refuse, Fault::NanQ] {
        let world = Faulty::new(Wide::CHESSLIKE, fault, 3);
        let (searcher, outcome) = search(&world, 0, params(PIPELINE), 2, 300);
        assert!(outcome.error.is_none() && outcome.snapshot.refused > 0, "{fault:?}");
        assert_eq!((searcher.audit().in_flight, searcher.audit().claimed), (0, 0));
    }
    for (bytes, threads, playouts) in [(0, 1, 20_000), (MIB / 4, 2, 50_000), (MIB, 8, 100_000)] {
        let mut searcher = Searcher::new(params(PIPELINE), bytes);
        searcher.set_root(0);
        let outcome = searcher.run(&Wide::CHESSLIKE, threads, Some(playouts), &Patient);
        assert_eq!(outcome.snapshot.playouts, playouts);
        let audit = searcher.audit();
        assert_eq!((audit.in_flight, audit.claimed, audit.below_law), (0, 0, 0));
    }
}

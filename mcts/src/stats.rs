//! Counters of one run, and the stop reason of its workers. Every worker counts in its own [`BatchStats`] and
//! adds it to the shared [`RunStats`] once per minibatch.
//!
//! All atomics here are Relaxed: they are totals and signals and publish no other data. The end of the
//! workers' scope orders everything before it.

use crate::sync::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use crossbeam::utils::CachePadded;
use std::{
    sync::{Condvar, Mutex},
    time::{Duration, Instant},
};

/// Why the workers stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopReason {
    /// The arena is full: compact, then continue.
    MemoryFull = 1,
    /// The search is over.
    SearchOver = 2,
}

/// `RunStats::stop` while no worker has asked to stop.
const NO_REASON: u8 = 0;

/// Longest sleep of an idle worker.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// Counters of one worker's minibatch.
#[derive(Debug, Default)]
pub struct BatchStats {
    playouts: u64,
    plies: u64,
    deepest: u64,
    /// Leaves evaluated as [`crate::world::Leaf::Refused`].
    pub refused: u64,
    /// Leaves evaluated as [`crate::world::Leaf::Known`].
    pub known: u64,
    /// Descents that met a leaf in flight.
    pub collisions: u64,
}

impl BatchStats {
    /// Counts one playout with a leaf `depth` plies below the root.
    pub fn count_playout(&mut self, depth: usize) {
        self.playouts += 1;
        self.plies += depth as u64;
        self.deepest = self.deepest.max(depth as u64);
    }
}

/// Depth of the playouts of one run, in plies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Mean depth, rounded.
    pub mean: u32,
    /// Depth of the deepest playout.
    pub max: u32,
}

/// The counters of one run, shared by its workers.
#[derive(Debug)]
pub struct RunStats {
    /// When the run began.
    pub started: Instant,
    /// Visits of the root before this run.
    pub kept: u64,
    /// Playouts that no worker has reserved yet. This and `stop` have their own cache lines: all workers write
    /// the one for every minibatch and read the other at every descent.
    playouts_left: CachePadded<AtomicU64>,
    stop: CachePadded<AtomicU8>,
    /// Workers that sleep until another has backed up a minibatch.
    sleepers: CachePadded<AtomicUsize>,
    sleep_lock: Mutex<()>,
    wake: Condvar,
    playouts: AtomicU64,
    plies: AtomicU64,
    deepest: AtomicU64,
    refused: AtomicU64,
    known: AtomicU64,
    collisions: AtomicU64,
}

impl RunStats {
    /// A run that starts now, of at most `max_playouts`.
    pub fn new(kept: u64, max_playouts: Option<u64>) -> RunStats {
        let zero = || AtomicU64::new(0);
        RunStats {
            started: Instant::now(),
            kept,
            playouts_left: CachePadded::new(AtomicU64::new(max_playouts.unwrap_or(u64::MAX))),
            stop: CachePadded::new(AtomicU8::new(NO_REASON)),
            sleepers: CachePadded::new(AtomicUsize::new(0)),
            sleep_lock: Mutex::new(()),
            wake: Condvar::new(),
            playouts: zero(),
            plies: zero(),
            deepest: zero(),
            refused: zero(),
            known: zero(),
            collisions: zero(),
        }
    }

    /// Reserves up to `wish` playouts. A worker returns those it does not use, so the total is exact.
    pub fn reserve_playouts(&self, wish: u64) -> u64 {
        let take = |left: u64| (left > 0).then(|| left - left.min(wish));
        self.playouts_left.fetch_update(Relaxed, Relaxed, take).map_or(0, |left| left.min(wish))
    }

    /// Returns reserved playouts.
    pub fn return_playouts(&self, playouts: u64) {
        if playouts > 0 {
            self.playouts_left.fetch_add(playouts, Relaxed);
        }
    }

    /// Whether any playout is left to reserve.
    pub fn any_playouts_left(&self) -> bool {
        self.playouts_left.load(Relaxed) > 0
    }

    /// Adds the counters of a worker's minibatch.
    pub fn add(&self, batch: &BatchStats) {
        self.playouts.fetch_add(batch.playouts, Relaxed);
        self.plies.fetch_add(batch.plies, Relaxed);
        self.deepest.fetch_max(batch.deepest, Relaxed);
        self.refused.fetch_add(batch.refused, Relaxed);
        self.known.fetch_add(batch.known, Relaxed);
        self.collisions.fetch_add(batch.collisions, Relaxed);
    }

    /// Playouts done.
    pub fn playouts(&self) -> u64 {
        self.playouts.load(Relaxed)
    }

    /// Leaves refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Leaves whose result was known.
    pub fn known(&self) -> u64 {
        self.known.load(Relaxed)
    }

    /// Descents that met a leaf in flight.
    pub fn collisions(&self) -> u64 {
        self.collisions.load(Relaxed)
    }

    /// Depth of the playouts.
    pub fn depth(&self) -> Depth {
        let playouts = self.playouts().max(1);
        let mean = (self.plies.load(Relaxed) + playouts / 2) / playouts;
        Depth { mean: mean as u32, max: self.deepest.load(Relaxed) as u32 }
    }

    /// Sleeps until another worker has backed something up. A concurrent wake-up may be missed, hence the time
    /// limit.
    pub fn sleep(&self) {
        self.sleepers.fetch_add(1, Relaxed);
        if let Ok(guard) = self.sleep_lock.lock() {
            drop(self.wake.wait_timeout(guard, LONGEST_SLEEP));
        }
        self.sleepers.fetch_sub(1, Relaxed);
    }

    /// Wakes the sleepers. Costs one load if there are none.
    pub fn wake_sleepers(&self) {
        if self.sleepers.load(Relaxed) > 0 {
            self.wake.notify_all();
        }
    }

    /// Asks all workers to stop; the end of the search outranks a full arena.
    pub fn stop(&self, reason: StopReason) {
        self.stop.fetch_max(reason as u8, Relaxed);
    }

    /// Whether a worker has asked to stop.
    pub fn stopping(&self) -> bool {
        self.stop.load(Relaxed) != NO_REASON
    }

    /// Takes the stop reason. None when no worker asked: the playouts are used up.
    pub fn take_stop_reason(&self) -> Option<StopReason> {
        match self.stop.swap(NO_REASON, Relaxed) {
            NO_REASON => None,
            word if word == StopReason::MemoryFull as u8 => Some(StopReason::MemoryFull),
            _ => Some(StopReason::SearchOver),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_search_outranks_a_full_memory_in_either_order() {
        for order in [
            [StopReason::MemoryFull, StopReason::SearchOver],
            [StopReason::SearchOver, StopReason::MemoryFull],
        ] {
            let stats = RunStats::new(0, None);
            order.into_iter().for_each(|reason| stats.stop(reason));
            assert_eq!(stats.take_stop_reason(), Some(StopReason::SearchOver));
            assert_eq!((stats.take_stop_reason(), stats.stopping()), (None, false));
        }
    }
}

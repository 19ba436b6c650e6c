//! The workers: what they share, and the phases they run in. A phase is one `thread::scope`; it ends
//! when the search does or when the arena is full. Between phases one thread has the tree for itself
//! and makes room, so no worker ever waits for another.

use crate::{
    batch::{Ended, Worker},
    params::Params,
    rng::Rng,
    root::Guide,
    search::{Control, View},
    tree::Tree,
    world::World,
};
use crossbeam::utils::CachePadded;
use std::{
    sync::{
        Condvar, Mutex,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::*},
    },
    thread,
    time::{Duration, Instant},
};

/// What all workers of one phase share, read-only but for atomics.
pub struct Job<'a, W: World> {
    pub world: &'a W,
    pub tree: &'a Tree,
    pub params: &'a Params,
    pub state: &'a W::State,
    pub guide: &'a Guide,
    pub tally: &'a Tally,
    pub control: &'a dyn Control<W>,
    pub threads: usize,
    pub max_playouts: Option<u64>,
}

/// Why a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// No playouts left, or not halted.
    None = 0,
    /// The arena is full: make room, then go on.
    Full = 1,
    /// The search is over.
    Stop = 2,
}

/// Longest time a worker with nothing to do looks away.
const LONGEST_REST: Duration = Duration::from_millis(1);

/// What one worker has done in one minibatch; its own, so that no playout writes where others do.
#[derive(Debug, Default)]
pub struct Score {
    playouts: u64,
    plies: u64,
    deepest: u64,
    pub refused: u64,
    pub collisions: u64,
}

impl Score {
    pub fn playout(&mut self, depth: usize) {
        self.playouts += 1;
        self.plies += depth as u64;
        self.deepest = self.deepest.max(depth as u64);
    }
}

/// Counters of one run. All Relaxed: they are totals and signals, and publish no other data; the end
/// of a scope orders everything before it.
#[derive(Debug)]
pub struct Tally {
    pub started: Instant,
    /// Visits the root had before this run.
    pub kept: u64,
    /// Each on a cache line of its own: all write the one for every minibatch and read the other at
    /// every descent.
    tickets: CachePadded<AtomicU64>,
    halt: CachePadded<AtomicU8>,
    /// Workers that rest until the bell rings: until another has backed up a minibatch.
    resting: CachePadded<AtomicUsize>,
    quiet: Mutex<()>,
    bell: Condvar,
    playouts: AtomicU64,
    plies: AtomicU64,
    deepest: AtomicU64,
    refused: AtomicU64,
    collisions: AtomicU64,
}

impl Tally {
    pub fn new(kept: u64, max_playouts: Option<u64>) -> Tally {
        let zero = || AtomicU64::new(0);
        Tally {
            started: Instant::now(),
            kept,
            tickets: CachePadded::new(AtomicU64::new(max_playouts.unwrap_or(u64::MAX))),
            halt: CachePadded::new(AtomicU8::new(Halt::None as u8)),
            resting: CachePadded::new(AtomicUsize::new(0)),
            quiet: Mutex::new(()),
            bell: Condvar::new(),
            playouts: zero(),
            plies: zero(),
            deepest: zero(),
            refused: zero(),
            collisions: zero(),
        }
    }

    /// The right to `wish` playouts, or to what is left of them. A worker gives back what it does not
    /// use and asks again, so the total is exact.
    pub fn take_tickets(&self, wish: u64) -> u64 {
        let take = |left: u64| (left > 0).then(|| left - left.min(wish));
        self.tickets.fetch_update(Relaxed, Relaxed, take).map_or(0, |left| left.min(wish))
    }

    pub fn tickets_left(&self) -> bool {
        self.tickets.load(Relaxed) > 0
    }

    pub fn return_tickets(&self, tickets: u64) {
        if tickets > 0 {
            self.tickets.fetch_add(tickets, Relaxed);
        }
    }

    /// Adds what a worker has done since it last told.
    pub fn add(&self, score: Score) {
        self.playouts.fetch_add(score.playouts, Relaxed);
        self.plies.fetch_add(score.plies, Relaxed);
        self.deepest.fetch_max(score.deepest, Relaxed);
        self.refused.fetch_add(score.refused, Relaxed);
        self.collisions.fetch_add(score.collisions, Relaxed);
    }

    pub fn playouts(&self) -> u64 {
        self.playouts.load(Relaxed)
    }

    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    pub fn collisions(&self) -> u64 {
        self.collisions.load(Relaxed)
    }

    /// Mean depth of the playouts, rounded, and the greatest.
    pub fn depths(&self) -> (u32, u32) {
        let playouts = self.playouts().max(1);
        let mean = (self.plies.load(Relaxed) + playouts / 2) / playouts;
        (mean as u32, self.deepest.load(Relaxed) as u32)
    }

    /// Gives the core away until another worker has news. One that rings at this very moment may not be
    /// heard, hence the time limit; nothing else waits for anybody.
    pub fn rest(&self) {
        self.resting.fetch_add(1, Relaxed);
        if let Ok(guard) = self.quiet.lock() {
            drop(self.bell.wait_timeout(guard, LONGEST_REST));
        }
        self.resting.fetch_sub(1, Relaxed);
    }

    /// Wakes whoever rests; costs a look where nobody does.
    pub fn ring(&self) {
        if self.resting.load(Relaxed) > 0 {
            self.bell.notify_all();
        }
    }

    /// Asks all workers to leave; a stop outranks a full arena.
    pub fn halt(&self, why: Halt) {
        self.halt.fetch_max(why as u8, Relaxed);
    }

    pub fn halted(&self) -> bool {
        self.halt.load(Relaxed) != Halt::None as u8
    }

    /// Reads the reason and clears it.
    pub fn take_halt(&self) -> Halt {
        match self.halt.swap(Halt::None as u8, Relaxed) {
            0 => Halt::None,
            1 => Halt::Full,
            _ => Halt::Stop,
        }
    }
}

/// Lets the others leave when a worker dies of a panic in its world, so that the scope can end and
/// pass the panic on.
struct Alarm<'a>(&'a Tally);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.halt(Halt::Stop);
        }
    }
}

/// Runs one phase. The calling thread is worker 0. `rngs` has one generator per worker.
pub fn phase<W: World>(
    job: &Job<'_, W>,
    view: &View<'_, W>,
    rngs: &mut [CachePadded<Rng>],
) -> Vec<Ended<W::Error>> {
    let Some((first, others)) = rngs.split_first_mut() else {
        return Vec::new();
    };
    thread::scope(|scope| {
        let spawned: Vec<_> = others
            .iter_mut()
            .filter_map(|rng| {
                let thread = thread::Builder::new().name("mcts".into());
                thread
                    .spawn_scoped(scope, || work(job, rng, None))
                    .inspect_err(|error| log::warn!("one search thread fewer: {error}"))
                    .ok()
            })
            .collect();
        let mut ended = vec![work(job, first, Some(view))];
        for worker in spawned {
            match worker.join() {
                Ok(end) => ended.push(end),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        ended
    })
}

fn work<W: World>(job: &Job<'_, W>, rng: &mut Rng, view: Option<&View<'_, W>>) -> Ended<W::Error> {
    let _alarm = Alarm(job.tally);
    let mut worker = Worker::new(job, rng);
    let error = loop {
        match worker.step(true) {
            Err(error) => break Some(error),
            Ok(busy) => {
                if let Some(view) = view
                    && job.control.tick(view).is_break()
                {
                    job.tally.halt(Halt::Stop);
                }
                if job.tally.halted() || (!busy && !job.tally.tickets_left()) {
                    break None;
                }
                if busy {
                    job.tally.ring();
                } else {
                    // Every leaf within reach is in flight elsewhere.
                    job.tally.rest();
                }
            }
        }
    };
    worker.end(error)
}

//! The threads of a search: one [`Worker`] each, in one `thread::scope` that ends when the search does
//! or when the arena is full. Between two scopes one thread has the tree for itself and makes room, so
//! no worker ever waits for another.

use crate::{
    job::Job,
    rng::Rng,
    scout,
    stats::{RunStats, StopReason},
    worker::{Ended, Worker},
    world::{Opinion, Scouted, World},
};
use crossbeam::utils::CachePadded;
use std::thread;
use std::time::{Duration, Instant};

/// Lets the others leave when a worker dies of a panic in its world, so that the scope can end and
/// pass the panic on.
struct StopOnPanic<'a>(&'a RunStats);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(StopReason::SearchOver);
        }
    }
}

/// Runs one worker per generator of `rngs` until one of them asks to stop. The calling thread is
/// worker 0. Passes a worker's panic on.
pub fn run_workers<W: World>(
    job: &Job<'_, W>,
    rngs: &mut [CachePadded<Rng>],
) -> Vec<Ended<W::Error>> {
    let Some((first, others)) = rngs.split_first_mut() else {
        return Vec::new();
    };
    thread::scope(|scope| {
        let spawned: Vec<_> = others
            .iter_mut()
            .zip(1..)
            .filter_map(|(rng, lane)| {
                let thread = thread::Builder::new().name("mcts".into());
                thread
                    .spawn_scoped(scope, move || work(job, rng, lane))
                    .inspect_err(|error| log::warn!("one search thread fewer: {error}"))
                    .ok()
            })
            .collect();
        let mut ended = vec![work(job, first, 0)];
        for worker in spawned {
            match worker.join() {
                Ok(end) => ended.push(end),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        ended
    })
}

/// One worker's loop, with a scout beside it. Worker 0 alone ticks the control.
fn work<W: World>(job: &Job<'_, W>, rng: &mut Rng, lane: usize) -> Ended<W::Error> {
    let _guard = StopOnPanic(job.stats);
    let (worker, since) = (Worker::new(job, rng), Instant::now());
    let ticks = lane == 0;
    let mut turns = Turns { worker, job, ticks, end: None, credit: 0, since, ticked: since };
    if job.params.scout_nodes > 0 {
        job.world.scout(job.state, lane, &mut turns);
        job.stats.add_scouting(turns.since.elapsed());
    }
    while turns.end.is_none() {
        turns.take();
    }
    turns.worker.end(turns.end.flatten())
}

/// A worker that does one minibatch at a time.
struct Turns<'a, W: World> {
    worker: Worker<'a, W>,
    job: &'a Job<'a, W>,
    ticks: bool,
    /// What ended it.
    end: Option<Option<W::Error>>,
    /// Playouts that are due for the scout's positions, times `scout_nodes`; below 0 after a minibatch of many.
    credit: i64,
    /// When the scout went on.
    since: Instant,
    /// When the control last had its tick.
    ticked: Instant,
}

/// Between two ticks while the scout searches. Guess: as long as a few playouts.
const TICK: Duration = Duration::from_millis(1);

impl<W: World> Turns<'_, W> {
    fn tick(&mut self) {
        if self.ticks {
            self.ticked = Instant::now();
            if self.job.control.tick(&self.job.view()).is_break() {
                self.job.stats.stop(StopReason::SearchOver);
            }
        }
    }

    /// One minibatch.
    fn take(&mut self) {
        let job = self.job;
        match self.worker.step(true) {
            Err(error) => self.end = Some(Some(error)),
            Ok(busy) => {
                self.tick();
                if job.stats.stopping() || (!busy && !job.stats.any_playouts_left()) {
                    self.end = Some(None);
                } else if busy {
                    job.stats.wake_sleepers();
                } else {
                    // Every leaf within reach is in flight elsewhere.
                    job.stats.sleep();
                }
            }
        }
    }
}

impl<W: World> Scouted<W::Action> for Turns<'_, W> {
    fn goes_on(&mut self, positions: u64) -> bool {
        self.job.stats.add_scouting(self.since.elapsed());
        self.job.stats.add_scouted(positions);
        let price = i64::try_from(self.job.params.scout_nodes).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_add_unsigned(positions);
        while self.end.is_none() && self.credit >= price {
            self.take();
            let playouts = i64::try_from(self.worker.last_playouts()).unwrap_or(i64::MAX);
            self.credit = self.credit.saturating_sub(price.saturating_mul(playouts));
        }
        self.since = Instant::now();
        if self.since - self.ticked >= TICK {
            self.tick();
        }
        if self.end.is_none() && (self.job.stats.stopping() || self.job.control.stopped()) {
            self.take();
        }
        self.end.is_none()
    }

    fn favourite(&self) -> Option<W::Action> {
        self.ticks.then(|| scout::favourite(self.job)).flatten()
    }

    fn allowed(&self) -> Vec<W::Action> {
        scout::allowed(self.job)
    }

    fn lines(&self) -> usize {
        self.job.params.scout_lines
    }

    fn hear(&mut self, opinion: Opinion<W::Action>) {
        scout::hear(self.job, opinion);
    }
}

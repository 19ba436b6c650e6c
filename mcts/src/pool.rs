//! The threads of a search: one [`Worker`] each, in one `thread::scope` that ends with the search or when the
//! arena is full. Between two scopes one thread has exclusive access and compacts, so no worker ever waits for
//! another.

use crate::{
    job::Job,
    rng::Rng,
    stats::{RunStats, StopReason},
    worker::{Ended, Worker},
    world::World,
};
use crossbeam::utils::CachePadded;
use std::thread;

/// Stops the other workers when a worker's world panics, so that the scope can end and propagate the panic.
struct StopOnPanic<'a>(&'a RunStats);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(StopReason::SearchOver);
        }
    }
}

/// Runs one worker per generator of `rngs` until one of them asks to stop. The calling thread is worker 0.
/// Propagates a worker's panic.
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
                    .spawn_scoped(scope, move || work(job, rng, lane, true))
                    .inspect_err(|error| log::warn!("one search thread fewer: {error}"))
                    .ok()
            })
            .collect();
        // The first worker ticks the control, so it waits for a device only where it is alone.
        let carries = spawned.is_empty();
        let mut ended = vec![work(job, first, 0, carries)];
        for worker in spawned {
            match worker.join() {
                Ok(end) => ended.push(end),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        ended
    })
}

/// One worker's loop. Only worker 0 ticks the control. `carries`: takes batches to the device, if there is one.
fn work<W: World>(job: &Job<'_, W>, rng: &mut Rng, lane: usize, carries: bool) -> Ended<W::Error> {
    let _guard = StopOnPanic(job.stats);
    let mut worker = Worker::new(job, rng);
    let mut batch = Vec::new();
    loop {
        let step = match job.queue.zip(job.params.pipeline.as_ref()) {
            Some(way) => worker.feed(way, carries, &mut batch),
            None => worker.step(true),
        };
        let busy = match step {
            Ok(busy) => busy,
            Err(error) => return worker.end(Some(error)),
        };
        if lane == 0 && job.control.tick(&job.view()).is_break() {
            job.stats.stop(StopReason::SearchOver);
        }
        let waits = job.queue.is_some_and(|queue| !queue.is_empty());
        if job.stats.stopping() || (!busy && !waits && !job.stats.any_playouts_left()) {
            return worker.end(None);
        }
        if busy {
            job.stats.wake_sleepers();
        } else {
            // Every reachable leaf is in flight elsewhere.
            job.stats.sleep();
        }
    }
}

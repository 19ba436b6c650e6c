//! The algorithm: one [`Worker`] per thread does one minibatch after another, each in four stages: **select**
//! leaves, **evaluate** them, **expand** them, **back up** their values (`finish`). Everything shared with other workers
//! is in the [`Job`].
//!
//! On a CPU a worker evaluates what it selected. On the way to a device (`queue`) all workers put their leaves into one
//! queue; the one that finds a lane free takes what waits as its batch, while the others select on.

use crate::{
    backup::{self, BackupBuffer, PathCounts, Playout},
    finish::Finisher,
    job::Job,
    params::{Pipeline, VirtualCounts},
    puct,
    queue::LeafQueue,
    rng::Rng,
    select::{Descent, Selector},
    slot::Slot,
    stats::{BatchStats, StopReason},
    tree::ArenaChunk,
    world::{Leaf, World},
};

/// Result of a worker.
pub struct Ended<E> {
    /// The world's error, if it ended the worker.
    pub error: Option<E>,
    /// Leaves that it claimed without evaluating them.
    pub abandoned: Vec<u32>,
}

/// One thread's search state.
pub struct Worker<'a, W: World> {
    job: &'a Job<'a, W>,
    rng: &'a mut Rng,
    chunk: ArenaChunk,
    /// The first `pending` hold the leaves of the minibatch; the next is for the current descent.
    slots: Vec<Slot<W::State>>,
    pending: usize,
    finisher: Finisher<W::Action>,
    /// For descents that end without an evaluation.
    buffer: BackupBuffer,
    /// Paths that met a leaf in flight, the first `collided` of them. Their virtual counts stay until the end
    /// of the minibatch, so that the next descent goes elsewhere (as in lc0).
    collisions: Vec<Vec<u32>>,
    collided: usize,
    /// Virtual counts of this minibatch.
    counts: VirtualCounts,
    /// Playouts reserved and not yet done.
    reserved: u64,
    /// Counters of this minibatch.
    stats: BatchStats,
    abandoned: Vec<u32>,
}

/// Most descents per leaf of a minibatch that end without a new leaf: ends and proven nodes need no evaluation,
/// and a solved tree has nothing else. Guess.
const ENDS_PER_LEAF: usize = 4;

/// Leaves that a worker adds to the queue before it looks for a free lane.
const QUEUED_AT_ONCE: usize = 32;

/// Free cells of the arena per leaf in flight below which the workers stop for a compaction, so that
/// evaluations are seldom lost.
const CELLS_PER_LEAF: usize = 12;

impl<'a, W: World> Worker<'a, W> {
    /// A new worker.
    pub fn new(job: &'a Job<'a, W>, rng: &'a mut Rng) -> Self {
        Worker {
            job,
            rng,
            chunk: ArenaChunk::default(),
            slots: Vec::new(),
            pending: 0,
            finisher: Finisher::default(),
            buffer: BackupBuffer::default(),
            collisions: Vec::new(),
            collided: 0,
            counts: VirtualCounts { min: 1, max: 1 },
            reserved: 0,
            stats: BatchStats::default(),
            abandoned: Vec::new(),
        }
    }

    /// Runs one minibatch. True if anything was done. `heed_stop` is false for the root, because a move depends
    /// on its evaluation.
    ///
    /// # Errors
    /// The world's, after the minibatch has been undone.
    pub fn step(&mut self, heed_stop: bool) -> Result<bool, W::Error> {
        let limit = self.batch_limit();
        let ended = self.select(limit, heed_stop);
        let busy = ended + self.pending > 0;
        let slots = std::mem::take(&mut self.slots);
        let pending = std::mem::take(&mut self.pending);
        let result = self.complete(&slots[..pending]).map(|()| busy);
        self.slots = slots;
        self.count_step();
        result
    }

    /// Adds leaves to `queue`; then, if it `carries` and a lane is free, evaluates what waits there. True if anything was
    /// done.
    ///
    /// # Errors
    /// The world's, after the batch has been undone.
    pub fn feed(
        &mut self,
        (queue, pipeline): (&LeafQueue<W::State>, &Pipeline),
        carries: bool,
        batch: &mut Vec<Slot<W::State>>,
    ) -> Result<bool, W::Error> {
        self.undo_collisions();
        if self.job.control.stopped() {
            self.job.stats.stop(StopReason::SearchOver);
            return Ok(false);
        }
        let visits = self.job.tree.root().stats().visits;
        let most = pipeline.in_flight_at(visits).min(self.job.control.most_in_flight()).max(1);
        let room = queue.reserve(QUEUED_AT_ONCE, most);
        let ended = if room > 0 { self.select(room, true) } else { 0 };
        let pending = std::mem::take(&mut self.pending);
        queue.release(room - pending);
        for slot in self.slots.drain(..pending) {
            if let Some(slot) = queue.push(slot) {
                // Cannot happen: the queue has room for what it let reserve.
                log::error!("a leaf found no room in the queue");
                backup::undo(self.job.tree, &slot.path, PathCounts::InFlight(slot.counts));
                self.abandoned.push(slot.end());
                queue.release(1);
            }
        }
        let is_last = pending < QUEUED_AT_ONCE;
        let mut result = Ok(ended + pending > 0);
        let carries = carries && !self.job.stats.stopping();
        if carries && queue.take_batch(pipeline.most.min(most), is_last, batch) {
            result = self.complete(batch).map(|()| true);
            queue.end_batch(batch);
        }
        self.count_step();
        result
    }

    /// Ends the worker.
    pub fn end(mut self, error: Option<W::Error>) -> Ended<W::Error> {
        self.undo_collisions();
        Ended { error, abandoned: self.abandoned }
    }

    /// Stage 1: descends until the minibatch is full or no more leaves are available. Returns the playouts that
    /// ended without an evaluation.
    fn select(&mut self, limit: usize, heed_stop: bool) -> usize {
        let job = self.job;
        let simulations = job.max_playouts.unwrap_or_else(|| job.tree.root().stats().visits);
        self.counts = puct::virtual_counts(simulations, job.params);
        // A tiny tree reserves an eighth.
        let leaves = job.params.pipeline.map_or(job.threads * limit, |it| it.in_flight());
        let room = (leaves * CELLS_PER_LEAF).min(job.tree.capacity() / 8);
        if job.tree.free() < room {
            job.stats.stop(StopReason::MemoryFull);
        }
        // A small tree has few leaves, and the best of them may be in flight: then take the next best.
        let collisions = if job.threads > 1 { limit.max(job.threads) } else { limit };
        let root = job.tree.root();
        let mut root_count = 0;
        let mut ended = 0;
        while self.pending < limit && self.collided < collisions && ended < ENDS_PER_LEAF * limit {
            if heed_stop && job.control.stopped() {
                job.stats.stop(StopReason::SearchOver);
                self.give_up();
                break;
            }
            if job.stats.stopping() || !self.take_playout(limit) {
                break;
            }
            if self.slots.len() == self.pending {
                let spare = job.queue.and_then(LeafQueue::spare);
                let fresh =
                    || Slot { path: Vec::new(), state: job.state.clone(), counts: self.counts };
                self.slots.push(spare.unwrap_or_else(fresh));
            }
            let slot = &mut self.slots[self.pending];
            let count = self.counts.min;
            if root_count == 0 {
                // For the whole minibatch: the root's contended cache line is fetched once, not for each
                // descent.
                root_count = count * (limit - self.pending) as u32;
                root.add_virtual(root_count);
            }
            let descent =
                Selector { job, rng: self.rng, chunk: &mut self.chunk, count, root_count }
                    .descend(slot);
            root_count -= if slot.path.len() > 1 { count } else { 0 };
            let descended = PathCounts::Descended(count);
            match descent {
                Descent::Leaf => {
                    slot.counts = self.counts;
                    backup::put_in_flight(job.tree, &slot.path, self.counts);
                    self.pending += 1;
                    continue;
                }
                Descent::End(value) => {
                    Playout { path: &slot.path, value, counts: descended }
                        .back_up(job.tree, &mut self.buffer);
                    self.buffer.flush(job.tree);
                    backup::propagate(job.tree, &slot.path);
                    self.stats.count_playout(slot.path.len() - 1);
                    ended += 1;
                    continue;
                }
                Descent::Collision => {
                    backup::put_in_flight(job.tree, &slot.path, self.counts);
                    if self.collisions.len() == self.collided {
                        self.collisions.push(Vec::new());
                    }
                    std::mem::swap(&mut self.collisions[self.collided], &mut slot.path);
                    self.collided += 1;
                    self.stats.collisions += 1;
                }
                Descent::OutOfMemory => {
                    backup::undo(job.tree, &slot.path, descended);
                    job.stats.stop(StopReason::MemoryFull);
                }
                Descent::NoMove => job.stats.stop(StopReason::SearchOver),
            }
            // The descent was no playout.
            self.reserved += 1;
        }
        root.remove_virtual(root_count);
        ended
    }

    /// Leaves that this worker may have in flight: one while the tree is small, `Params::batch` later.
    fn batch_limit(&self) -> usize {
        let visits = self.job.tree.root().stats().visits;
        let per_leaf = u64::from(self.job.params.ramp) * self.job.threads as u64;
        (1 + visits / per_leaf).min(self.job.params.batch as u64) as usize
    }

    /// Takes one playout; they are reserved for a minibatch at a time.
    fn take_playout(&mut self, limit: usize) -> bool {
        if self.reserved == 0 {
            self.reserved = self.job.stats.reserve_playouts(limit as u64);
        }
        let any = self.reserved > 0;
        self.reserved -= u64::from(any);
        any
    }

    /// Evaluates the leaves of `slots` (blocks), expands them and backs them up. Ends the minibatch.
    fn complete(&mut self, slots: &[Slot<W::State>]) -> Result<(), W::Error> {
        let job = self.job;
        let evaluated = match slots {
            [] => Ok(Vec::new()),
            slots => self.evaluate(slots),
        };
        let result = evaluated.map(|answers| {
            let (chunk, stats) = (&mut self.chunk, &mut self.stats);
            self.finisher.finish(job, slots, answers, chunk, stats);
        });
        if result.is_err() {
            self.abandon(slots);
            job.stats.stop(StopReason::SearchOver);
        }
        self.undo_collisions();
        result
    }

    fn evaluate(&self, slots: &[Slot<W::State>]) -> Result<Vec<Leaf<W::Action>>, W::Error> {
        let leaves: Vec<&W::State> = slots.iter().map(|slot| &slot.state).collect();
        self.job.world.evaluate(&leaves)
    }

    /// Undoes the minibatch.
    fn give_up(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        let pending = std::mem::take(&mut self.pending);
        self.abandon(&slots[..pending]);
        self.slots = slots;
        self.undo_collisions();
    }

    /// Undoes leaves. Their claims are released after all workers have ended.
    fn abandon(&mut self, slots: &[Slot<W::State>]) {
        for slot in slots {
            backup::undo(self.job.tree, &slot.path, PathCounts::InFlight(slot.counts));
            self.reserved += 1;
            self.abandoned.push(slot.end());
        }
    }

    fn undo_collisions(&mut self) {
        for path in &self.collisions[..std::mem::take(&mut self.collided)] {
            backup::undo(self.job.tree, path, PathCounts::InFlight(self.counts));
        }
    }

    /// Adds a step's counters to the run's.
    fn count_step(&mut self) {
        self.job.stats.return_playouts(std::mem::take(&mut self.reserved));
        self.job.stats.add(&std::mem::take(&mut self.stats));
    }
}

#[cfg(test)]
mod tests;

//! The algorithm: one [`Worker`] per thread does one minibatch after another, each in four stages: **select**
//! leaves, **evaluate** them, **expand** them, **back up** their values. Everything shared with other workers
//! is in the [`Job`].
//!
//! The minibatch is self-contained: `evaluate` needs no other state. A device with a queue could therefore take
//! the pending leaves asynchronously, while the worker selects on and expands when the answer comes.

use crate::{
    backup::{self, BackupBuffer, PathCounts, Playout},
    job::Job,
    node::{NodeState, Proof},
    params::{Params, VirtualCounts},
    puct::{self, Ranker},
    rng::Rng,
    select::{Descent, Selector, Slot},
    stats::{BatchStats, StopReason},
    tree::{ArenaChunk, RankedEdge},
    value::Wdl,
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
    ranker: Ranker<W::Action>,
    /// The first `pending` hold the leaves of the minibatch; the next is for the current descent.
    slots: Vec<Slot<W::State>>,
    pending: usize,
    /// Result of each leaf of the minibatch.
    evaluated: Vec<Evaluated>,
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

/// Result of one leaf, for the side to move there.
#[derive(Clone, Copy)]
enum Evaluated {
    Open(Wdl),
    /// With a proof, if the value is a win, draw or loss.
    Terminal(Wdl, Option<Proof>),
    Refused,
}

/// Most descents per leaf of a minibatch that end without a new leaf: ends and proven nodes need no evaluation,
/// and a solved tree has nothing else. Guess.
const ENDS_PER_LEAF: usize = 4;

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
            ranker: Ranker::default(),
            slots: Vec::new(),
            pending: 0,
            evaluated: Vec::new(),
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
        let ended = self.select(heed_stop);
        let busy = ended + self.pending > 0;
        let result = match self.evaluate() {
            Ok(answers) => {
                self.expand(answers);
                self.back_up();
                Ok(busy)
            }
            Err(error) => {
                self.abandon();
                self.job.stats.stop(StopReason::SearchOver);
                Err(error)
            }
        };
        self.job.stats.return_playouts(std::mem::take(&mut self.reserved));
        self.job.stats.add(&std::mem::take(&mut self.stats));
        result
    }

    /// Ends the worker.
    pub fn end(self, error: Option<W::Error>) -> Ended<W::Error> {
        Ended { error, abandoned: self.abandoned }
    }

    /// Stage 1: descends until the minibatch is full or no more leaves are available. Returns the playouts that
    /// ended without an evaluation.
    fn select(&mut self, heed_stop: bool) -> usize {
        let job = self.job;
        let limit = self.batch_limit();
        let simulations = job.max_playouts.unwrap_or_else(|| job.tree.root().stats().visits);
        self.counts = puct::virtual_counts(simulations, job.params);
        // A tiny tree reserves an eighth.
        let room = (job.threads * limit * CELLS_PER_LEAF).min(job.tree.capacity() / 8);
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
                self.abandon();
                break;
            }
            if job.stats.stopping() || !self.take_playout(limit) {
                break;
            }
            if self.slots.len() == self.pending {
                self.slots.push(Slot { path: Vec::new(), state: job.state.clone() });
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

    /// Stage 2: evaluates all leaves of the minibatch. Blocks.
    fn evaluate(&self) -> Result<Vec<Leaf<W::Action>>, W::Error> {
        if self.pending == 0 {
            return Ok(Vec::new());
        }
        let leaves: Vec<&W::State> =
            self.slots[..self.pending].iter().map(|slot| &slot.state).collect();
        self.job.world.evaluate(&leaves)
    }

    /// Stage 3: gives the leaves their edges, in order.
    fn expand(&mut self, answers: Vec<Leaf<W::Action>>) {
        // Missing leaves of a world's answer count as refused.
        let answers = answers.into_iter().chain(std::iter::repeat_with(|| Leaf::Refused));
        for (slot, leaf) in self.slots[..self.pending].iter().zip(answers) {
            let node = self.job.tree.node(slot.end());
            let claimed = node.meta();
            let evaluated = match CheckedLeaf::new(&leaf, self.job.params, &mut self.ranker) {
                CheckedLeaf::Open(value, edges) => {
                    let block = self.job.tree.alloc_edges(&mut self.chunk, edges);
                    node.publish(match block {
                        Some(block) => claimed.with_edges(block).with_state(NodeState::Expanded),
                        None => {
                            self.job.stats.stop(StopReason::MemoryFull);
                            claimed.with_state(NodeState::OutOfMemory)
                        }
                    });
                    Evaluated::Open(value)
                }
                CheckedLeaf::Over(value) => Evaluated::Terminal(value, Proof::of_end(value)),
                CheckedLeaf::Known(value) => {
                    self.stats.known += 1;
                    Evaluated::Terminal(value, Proof::of_known(value))
                }
                CheckedLeaf::Refused => {
                    node.publish(claimed.with_state(NodeState::Refused));
                    Evaluated::Refused
                }
            };
            self.evaluated.push(evaluated);
        }
    }

    /// Stage 4: adds the leaves' values to their paths and removes all virtual counts of the minibatch.
    fn back_up(&mut self) {
        let (tree, counts) = (self.job.tree, self.in_flight());
        for (slot, evaluated) in self.slots.iter().zip(self.evaluated.drain(..)) {
            let path = &slot.path[..];
            match evaluated {
                Evaluated::Open(value) => {
                    Playout { path, value, counts }.back_up(tree, &mut self.buffer);
                }
                Evaluated::Terminal(value, proof) => {
                    // Sums first: a worker that sees Terminal reads its value from them.
                    Playout { path, value, counts }.back_up(tree, &mut self.buffer);
                    let node = tree.node(slot.end());
                    node.publish(node.meta().with_state(NodeState::Terminal).with_proof(proof));
                    backup::propagate(tree, path);
                }
                // Value minus infinity: no visit, and selection excludes it from now on.
                Evaluated::Refused => {
                    backup::undo(tree, path, counts);
                    self.stats.refused += 1;
                }
            }
            self.stats.count_playout(path.len() - 1);
        }
        self.pending = 0;
        self.buffer.flush(tree);
        self.undo_collisions();
    }

    /// Virtual counts of leaves and collisions in flight.
    fn in_flight(&self) -> PathCounts {
        PathCounts::InFlight(self.counts)
    }

    /// Undoes the minibatch. Its claims are released after all workers have ended.
    fn abandon(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        for slot in &self.slots[..pending] {
            backup::undo(self.job.tree, &slot.path, self.in_flight());
            self.reserved += 1;
            self.abandoned.push(slot.end());
        }
        self.undo_collisions();
    }

    fn undo_collisions(&mut self) {
        for path in &self.collisions[..std::mem::take(&mut self.collided)] {
            backup::undo(self.job.tree, path, self.in_flight());
        }
    }
}

/// A validated leaf: finite, and with edges if open.
enum CheckedLeaf<'a, A> {
    Open(Wdl, &'a [RankedEdge<A>]),
    Over(Wdl),
    Known(Wdl),
    Refused,
}

impl<'a, A: Copy> CheckedLeaf<'a, A> {
    fn new(leaf: &Leaf<A>, params: &Params, ranker: &'a mut Ranker<A>) -> Self {
        let finite = |wdl: &Wdl| [wdl.win, wdl.draw, wdl.loss].iter().all(|x| x.is_finite());
        match leaf {
            Leaf::Open { value, edges } if finite(value) && !edges.is_empty() => ranker
                .rank(edges, params)
                .map_or(CheckedLeaf::Refused, |edges| CheckedLeaf::Open(*value, edges)),
            Leaf::Over(value) if finite(value) => CheckedLeaf::Over(*value),
            Leaf::Known(value) if finite(value) => CheckedLeaf::Known(*value),
            _ => CheckedLeaf::Refused,
        }
    }
}

#[cfg(test)]
mod tests;

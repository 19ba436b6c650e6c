//! A worker and its minibatch: gather leaves, evaluate them, back them up. One [`Worker`] belongs to
//! one thread; all it shares is in the [`Job`].
//!
//! The minibatch ([`Pending`]) owns what it needs and `evaluate` lies between `gather` and `settle`
//! with no other state in hand. That is the door for a device with a queue: send the pending leaves
//! to its thread, gather on, settle when the answer comes.

use crate::{
    backup::{self, Arrivals, Counts},
    node::{Proof, State},
    params::{Params, VirtualCounts},
    pool::{Halt, Job, Score},
    puct::{self, Ranked, Ranker},
    rng::Rng,
    select::{Descent, Slot, descend},
    tree::Lot,
    value::Wdl,
    world::{Leaf, World},
};

/// What is left when a worker ends: the error that ended it, and leaves it had claimed in vain.
pub struct Ended<E> {
    pub error: Option<E>,
    pub abandoned: Vec<u32>,
}

/// See the file's head.
pub struct Worker<'a, W: World> {
    job: &'a Job<'a, W>,
    rng: &'a mut Rng,
    lot: Lot,
    ranker: Ranker<W::Action>,
    /// The first `pending` hold claimed leaves on their way to the model; the next is for the descent
    /// under way.
    slots: Vec<Slot<W::State>>,
    pending: usize,
    /// Answers on their way up: slot and value.
    values: Vec<(usize, Wdl)>,
    arrivals: Arrivals,
    /// Paths that met a leaf in flight, the first `collided` of them; their virtual counts stay until
    /// the flush, so that the next descent looks elsewhere (as in lc0).
    collisions: Vec<Vec<u32>>,
    collided: usize,
    /// Virtual counts of this minibatch.
    counts: VirtualCounts,
    /// Playouts this worker may still do.
    tickets: u64,
    /// What it has done and not told the others yet.
    score: Score,
    abandoned: Vec<u32>,
}

/// Descents without a new leaf before a worker looks up, per leaf of its minibatch: ends and proven
/// nodes cost no evaluation, and a solved tree has nothing else. Guess.
const ENDS_PER_LEAF: usize = 4;

impl<'a, W: World> Worker<'a, W> {
    pub fn new(job: &'a Job<'a, W>, rng: &'a mut Rng) -> Self {
        Worker {
            job,
            rng,
            lot: Lot::default(),
            ranker: Ranker::default(),
            slots: Vec::new(),
            pending: 0,
            values: Vec::new(),
            arrivals: Arrivals::default(),
            collisions: Vec::new(),
            collided: 0,
            counts: VirtualCounts { min: 1, max: 1 },
            tickets: 0,
            score: Score::default(),
            abandoned: Vec::new(),
        }
    }

    /// One minibatch. True if anything was done. `heed_stop` is off for the root, whose evaluation a
    /// move depends on.
    ///
    /// # Errors
    /// The world's, after the minibatch has been undone.
    pub fn step(&mut self, heed_stop: bool) -> Result<bool, W::Error> {
        let ended = self.gather(heed_stop);
        let leaves = self.pending;
        let answer = if leaves == 0 {
            Ok(Vec::new())
        } else {
            let states: Vec<&W::State> = self.slots[..leaves].iter().map(|s| &s.state).collect();
            self.job.world.evaluate(&states)
        };
        let done = match answer {
            Ok(answer) => {
                self.settle(answer);
                Ok(leaves + ended > 0)
            }
            Err(error) => {
                self.abandon();
                self.job.tally.halt(Halt::Stop);
                Err(error)
            }
        };
        self.job.tally.return_tickets(std::mem::take(&mut self.tickets));
        self.job.tally.add(std::mem::take(&mut self.score));
        done
    }

    pub fn end(self, error: Option<W::Error>) -> Ended<W::Error> {
        Ended { error, abandoned: self.abandoned }
    }

    /// Leaves this worker may have in flight: one while the tree is small, `Params::batch` later.
    fn limit(&self) -> usize {
        let visits = self.job.tree.root().stats().visits;
        let per_leaf = u64::from(self.job.params.ramp) * self.job.threads as u64;
        (1 + visits / per_leaf).min(self.job.params.batch as u64) as usize
    }

    /// Descends until the minibatch is full or nothing more can be had now. Returns the playouts that
    /// ended without an evaluation.
    fn gather(&mut self, heed_stop: bool) -> usize {
        let job = self.job;
        let limit = self.limit();
        let simulations = job.max_playouts.unwrap_or_else(|| job.tree.root().stats().visits);
        self.counts = puct::virtual_counts(simulations, job.params);
        let mut ended = 0;
        // Room for all leaves in flight, so that evaluations are seldom shed; a tiny tree sets aside
        // an eighth.
        if job.tree.free() < (job.threads * limit * 12).min(job.tree.capacity() / 8) {
            job.tally.halt(Halt::Full);
        }
        // A small tree has few leaves, and the others may hold the best of them: then the next best.
        let collisions = if job.threads > 1 { limit.max(job.threads) } else { limit };
        let root = job.tree.root();
        let mut ahead = 0;
        while self.pending < limit && self.collided < collisions && ended < ENDS_PER_LEAF * limit {
            if heed_stop && job.control.stopped() {
                job.tally.halt(Halt::Stop);
                self.abandon();
                break;
            }
            if job.tally.halted() || !self.take_ticket(limit) {
                break;
            }
            if self.slots.len() == self.pending {
                self.slots.push(Slot { path: Vec::new(), state: job.state.clone() });
            }
            let slot = &mut self.slots[self.pending];
            let n_min = self.counts.min;
            let passed = Counts::Passed(n_min);
            if ahead == 0 {
                // For the whole minibatch at once: the root's cache line comes over from the other
                // threads once, not for each descent.
                ahead = n_min * (limit - self.pending) as u32;
                root.launch(ahead);
            }
            let descent = descend(job, self.rng, &mut self.lot, slot, (n_min, ahead));
            ahead -= if slot.path.len() > 1 { n_min } else { 0 };
            match descent {
                Descent::Leaf => {
                    backup::launch(job.tree, &slot.path, self.counts);
                    self.pending += 1;
                    continue;
                }
                Descent::End(value) => {
                    backup::land(job.tree, &slot.path, value, passed, &mut self.arrivals);
                    self.arrivals.land(job.tree);
                    backup::propagate(job.tree, &slot.path);
                    self.score.playout(slot.path.len() - 1);
                    ended += 1;
                    continue;
                }
                Descent::Collision => {
                    backup::launch(job.tree, &slot.path, self.counts);
                    if self.collisions.len() == self.collided {
                        self.collisions.push(Vec::new());
                    }
                    std::mem::swap(&mut self.collisions[self.collided], &mut slot.path);
                    self.collided += 1;
                    self.score.collisions += 1;
                }
                Descent::Full => {
                    backup::undo(job.tree, &slot.path, passed);
                    job.tally.halt(Halt::Full);
                }
                Descent::Exhausted => job.tally.halt(Halt::Stop),
            }
            self.tickets += 1;
        }
        root.undo(ahead);
        ended
    }

    /// The counts of leaves and collisions in flight.
    fn flying(&self) -> Counts {
        Counts::Flying(self.counts)
    }

    /// The right to one playout, fetched for a minibatch at a time.
    fn take_ticket(&mut self, limit: usize) -> bool {
        if self.tickets == 0 {
            self.tickets = self.job.tally.take_tickets(limit as u64);
        }
        let any = self.tickets > 0;
        self.tickets -= u64::from(any);
        any
    }

    /// Backs up the answers, in order, and takes the collisions' virtual counts off.
    fn settle(&mut self, answer: Vec<Leaf<W::Action>>) {
        let (job, counts) = (self.job, self.flying());
        // A world that answers too few leaves has refused the rest.
        let answer = answer.into_iter().chain(std::iter::repeat_with(|| Leaf::Refused));
        let pending = std::mem::take(&mut self.pending);
        for (at, leaf) in (0..pending).zip(answer) {
            let path = &self.slots[at].path;
            let Some(&end) = path.last() else { continue };
            let node = job.tree.node(end);
            let claimed = node.meta();
            match Sound::of(&leaf, job.params, &mut self.ranker) {
                Sound::Open(value, ranked) => {
                    let meta = match job.tree.alloc_edges(&mut self.lot, ranked) {
                        Some(block) => claimed.with_edges(block).with_state(State::Expanded),
                        None => {
                            job.tally.halt(Halt::Full);
                            claimed.with_state(State::Shed)
                        }
                    };
                    node.publish(meta);
                    self.values.push((at, value));
                }
                Sound::Over(value) => {
                    // Sums first: whoever sees Terminal reads its value off them.
                    backup::land(job.tree, path, value, counts, &mut self.arrivals);
                    let proof = Proof::of_end(value);
                    node.publish(claimed.with_state(State::Terminal).with_proof(proof));
                    backup::propagate(job.tree, path);
                }
                // Value minus infinity: no visit, and selection passes it by from now on.
                Sound::Refused => {
                    node.publish(claimed.with_state(State::Refused));
                    backup::undo(job.tree, path, counts);
                    self.score.refused += 1;
                }
            }
            self.score.playout(path.len() - 1);
        }
        for (at, value) in self.values.drain(..) {
            backup::land(job.tree, &self.slots[at].path, value, counts, &mut self.arrivals);
        }
        self.arrivals.land(job.tree);
        self.clear_collisions();
    }

    /// Undoes the minibatch. Its claims are released after all workers have ended.
    fn abandon(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        for Slot { path, .. } in &self.slots[..pending] {
            backup::undo(self.job.tree, path, self.flying());
            self.tickets += 1;
            self.abandoned.extend(path.last());
        }
        self.clear_collisions();
    }

    fn clear_collisions(&mut self) {
        for path in &self.collisions[..std::mem::take(&mut self.collided)] {
            backup::undo(self.job.tree, path, self.flying());
        }
    }
}

/// An answer that has been looked at: finite, and with edges if open.
enum Sound<'a, A> {
    Open(Wdl, &'a [Ranked<A>]),
    Over(Wdl),
    Refused,
}

impl<'a, A: Copy> Sound<'a, A> {
    fn of(leaf: &Leaf<A>, params: &Params, ranker: &'a mut Ranker<A>) -> Sound<'a, A> {
        let finite = |wdl: &Wdl| [wdl.win, wdl.draw, wdl.loss].iter().all(|x| x.is_finite());
        match leaf {
            Leaf::Open { value, edges } if finite(value) && !edges.is_empty() => ranker
                .rank(edges, params)
                .map_or(Sound::Refused, |ranked| Sound::Open(*value, ranked)),
            Leaf::Over(value) if finite(value) => Sound::Over(*value),
            _ => Sound::Refused,
        }
    }
}

//! A worker and its minibatch: gather leaves, evaluate them, back them up. One [`Worker`] belongs to
//! one thread; all it shares is in the [`Job`].
//!
//! The minibatch ([`Pending`]) owns what it needs and `evaluate` lies between `gather` and `settle`
//! with no other state in hand. That is the door for a device with a queue: send the pending leaves
//! to its thread, gather on, settle when the answer comes.

use crate::{
    backup,
    node::{Proof, State},
    params::Params,
    pool::{Halt, Job},
    puct::{self, Ranked},
    rng::Rng,
    select::{Descent, descend},
    value::Wdl,
    world::{Leaf, World},
};

/// A claimed leaf on its way to the model.
struct Pending<S> {
    path: Vec<u32>,
    counts: (u32, u32),
    state: S,
}

/// What is left when a worker ends: the error that ended it, and leaves it had claimed in vain.
pub struct Ended<E> {
    pub error: Option<E>,
    pub abandoned: Vec<u32>,
}

/// See the file's head.
pub struct Worker<'a, W: World> {
    job: &'a Job<'a, W>,
    rng: &'a mut Rng,
    spare: Option<u32>,
    path: Vec<u32>,
    pending: Vec<Pending<W::State>>,
    /// Paths that met a leaf in flight; their virtual counts stay until the flush, so that the next
    /// descent looks elsewhere (as in lc0).
    collisions: Vec<(Vec<u32>, (u32, u32))>,
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
            spare: None,
            path: Vec::new(),
            pending: Vec::new(),
            collisions: Vec::new(),
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
        let leaves = self.pending.len();
        let answer = if leaves == 0 {
            Ok(Vec::new())
        } else {
            let states: Vec<&W::State> = self.pending.iter().map(|p| &p.state).collect();
            self.job.world.evaluate(&states)
        };
        match answer {
            Ok(answer) => self.settle(answer),
            Err(error) => {
                self.abandon();
                self.job.tally.halt(Halt::Stop);
                return Err(error);
            }
        }
        Ok(leaves + ended > 0)
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
        let counts = puct::virtual_counts(simulations, job.params);
        let mut ended = 0;
        // Room for all leaves in flight, so that evaluations are seldom shed; a tiny tree sets aside
        // an eighth.
        if job.tree.free() < (job.threads * limit * 12).min(job.tree.capacity() / 8) {
            job.tally.halt(Halt::Full);
        }
        while self.pending.len() < limit
            && self.collisions.len() < limit
            && ended < ENDS_PER_LEAF * limit
        {
            if heed_stop && job.control.stopped() {
                job.tally.halt(Halt::Stop);
                self.abandon();
                break;
            }
            if job.tally.halted() || !job.tally.take_ticket() {
                break;
            }
            match descend(job, self.rng, &mut self.spare, &mut self.path) {
                Descent::Leaf(state) => {
                    backup::launch(job.tree, &self.path, counts);
                    self.pending.push(Pending { path: self.path.clone(), counts, state });
                    continue;
                }
                Descent::End(value) => {
                    backup::land(job.tree, &self.path, value, None);
                    backup::propagate(job.tree, &self.path);
                    job.tally.playout(self.path.len() - 1);
                    ended += 1;
                    continue;
                }
                Descent::Collision => {
                    backup::launch(job.tree, &self.path, counts);
                    self.collisions.push((self.path.clone(), counts));
                    job.tally.collide();
                }
                Descent::Full => job.tally.halt(Halt::Full),
                Descent::Exhausted => job.tally.halt(Halt::Stop),
            }
            job.tally.return_ticket();
        }
        ended
    }

    /// Backs up the answers, in order, and takes the collisions' virtual counts off.
    fn settle(&mut self, mut answer: Vec<Leaf<W::Action>>) {
        let job = self.job;
        if answer.len() != self.pending.len() {
            log::warn!("{} answers to {} leaves: all refused", answer.len(), self.pending.len());
            answer = self.pending.iter().map(|_| Leaf::Refused).collect();
        }
        for (Pending { path, counts, .. }, leaf) in self.pending.drain(..).zip(answer) {
            let Some(&end) = path.last() else { continue };
            let node = job.tree.node(end);
            let claimed = node.meta();
            match Sound::of(leaf, job.params) {
                Sound::Open(value, ranked) => {
                    let meta = match job.tree.alloc_edges(&ranked) {
                        Some(block) => claimed.with_edges(block).with_state(State::Expanded),
                        None => {
                            job.tally.halt(Halt::Full);
                            claimed.with_state(State::Shed)
                        }
                    };
                    node.publish(meta);
                    backup::land(job.tree, &path, value, Some(counts));
                }
                Sound::Over(value) => {
                    // Sums first: whoever sees Terminal reads its value off them.
                    backup::land(job.tree, &path, value, Some(counts));
                    let proof = Proof::of_end(value);
                    node.publish(claimed.with_state(State::Terminal).with_proof(proof));
                    backup::propagate(job.tree, &path);
                }
                // Value minus infinity: no visit, and selection passes it by from now on.
                Sound::Refused => {
                    node.publish(claimed.with_state(State::Refused));
                    backup::undo(job.tree, &path, counts);
                    job.tally.refuse();
                }
            }
            job.tally.playout(path.len() - 1);
        }
        self.clear_collisions();
    }

    /// Undoes the minibatch. Its claims are released after all workers have ended.
    fn abandon(&mut self) {
        for Pending { path, counts, .. } in self.pending.drain(..) {
            backup::undo(self.job.tree, &path, counts);
            self.job.tally.return_ticket();
            self.abandoned.extend(path.last());
        }
        self.clear_collisions();
    }

    fn clear_collisions(&mut self) {
        for (path, counts) in self.collisions.drain(..) {
            backup::undo(self.job.tree, &path, counts);
        }
    }
}

/// An answer that has been looked at: finite, and with edges if open.
enum Sound<A> {
    Open(Wdl, Vec<Ranked<A>>),
    Over(Wdl),
    Refused,
}

impl<A: Copy> Sound<A> {
    fn of(leaf: Leaf<A>, params: &Params) -> Sound<A> {
        let finite = |wdl: &Wdl| [wdl.win, wdl.draw, wdl.loss].iter().all(|x| x.is_finite());
        match leaf {
            Leaf::Open { value, edges } if finite(&value) && !edges.is_empty() => {
                puct::priors(&edges, params)
                    .map_or(Sound::Refused, |ranked| Sound::Open(value, ranked))
            }
            Leaf::Over(value) if finite(&value) => Sound::Over(value),
            _ => Sound::Refused,
        }
    }
}

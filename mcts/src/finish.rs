//! The end of playouts: evaluated leaves get their edges, and their values go up their paths. The worker that had them
//! evaluated does it, for leaves of its own and of others.

use crate::{
    backup::{self, BackupBuffer, PathCounts, Playout},
    job::Job,
    node::{NodeState, Proof},
    params::Params,
    puct::Ranker,
    slot::Slot,
    stats::{BatchStats, StopReason},
    tree::{ArenaChunk, RankedEdge},
    value::Wdl,
    world::{Leaf, World},
};

/// Buffers of one thread, reused to avoid allocation.
pub struct Finisher<A> {
    ranker: Ranker<A>,
    /// Result of each leaf.
    evaluated: Vec<Evaluated>,
    buffer: BackupBuffer,
}

/// Result of one leaf, for the side to move there.
#[derive(Clone, Copy)]
enum Evaluated {
    Open(Wdl),
    /// With a proof, if the value is a win, draw or loss.
    Terminal(Wdl, Option<Proof>),
    Refused,
}

impl<A> Default for Finisher<A> {
    fn default() -> Self {
        Finisher {
            ranker: Ranker::default(),
            evaluated: Vec::new(),
            buffer: BackupBuffer::default(),
        }
    }
}

impl<A: Copy + Into<u16>> Finisher<A> {
    /// Expands the leaves of `slots` by `answers`, in order, and backs them up. Removes their virtual counts.
    pub fn finish<W: World<Action = A>>(
        &mut self,
        job: &Job<'_, W>,
        slots: &[Slot<W::State>],
        answers: Vec<Leaf<A>>,
        chunk: &mut ArenaChunk,
        stats: &mut BatchStats,
    ) {
        self.expand(job, slots, answers, chunk, stats);
        self.back_up(job, slots, stats);
    }

    /// Gives the leaves their edges.
    fn expand<W: World<Action = A>>(
        &mut self,
        job: &Job<'_, W>,
        slots: &[Slot<W::State>],
        answers: Vec<Leaf<A>>,
        chunk: &mut ArenaChunk,
        stats: &mut BatchStats,
    ) {
        // Missing leaves of a world's answer count as refused.
        let answers = answers.into_iter().chain(std::iter::repeat_with(|| Leaf::Refused));
        for (slot, leaf) in slots.iter().zip(answers) {
            let node = job.tree.node(slot.end());
            let claimed = node.meta();
            let evaluated = match CheckedLeaf::new(&leaf, job.params, &mut self.ranker) {
                CheckedLeaf::Open(value, edges) => {
                    let block = job.tree.alloc_edges(chunk, edges);
                    node.publish(match block {
                        Some(block) => claimed.with_edges(block).with_state(NodeState::Expanded),
                        None => {
                            job.stats.stop(StopReason::MemoryFull);
                            claimed.with_state(NodeState::OutOfMemory)
                        }
                    });
                    Evaluated::Open(value)
                }
                CheckedLeaf::Over(value) => Evaluated::Terminal(value, Proof::of_end(value)),
                CheckedLeaf::Known(value) => {
                    stats.known += 1;
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

    /// Adds the leaves' values to their paths.
    fn back_up<W: World<Action = A>>(
        &mut self,
        job: &Job<'_, W>,
        slots: &[Slot<W::State>],
        stats: &mut BatchStats,
    ) {
        let tree = job.tree;
        for (slot, evaluated) in slots.iter().zip(self.evaluated.drain(..)) {
            let (path, counts) = (&slot.path[..], PathCounts::InFlight(slot.counts));
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
                    stats.refused += 1;
                }
            }
            stats.count_playout(path.len() - 1);
        }
        self.buffer.flush(tree);
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

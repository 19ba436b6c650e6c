//! The leaves on their way to a device: all workers put theirs in, and a free lane takes what waits as its batch.
//!
//! Lock-free, without a thread of its own: whichever worker finds a lane free carries the batch (`worker`), the others
//! select on. So batches grow with the time that the device takes, up to the largest, and shrink where few leaves wait.

use crate::{
    params::Pipeline,
    slot::Slot,
    sync::{AtomicUsize, Ordering::*},
};
use crossbeam::{queue::ArrayQueue, utils::CachePadded};

/// Claimed leaves that wait for an evaluation, and the lanes to it.
pub struct LeafQueue<S> {
    waiting: ArrayQueue<Slot<S>>,
    /// Slots of earlier leaves, to be used again.
    spare: ArrayQueue<Slot<S>>,
    /// Leaves selected, waiting or being evaluated.
    in_flight: CachePadded<AtomicUsize>,
    /// Lanes with a batch.
    busy: CachePadded<AtomicUsize>,
    lanes: usize,
}

impl<S> LeafQueue<S> {
    /// Room for all leaves that may be in flight.
    pub fn new(pipeline: &Pipeline) -> LeafQueue<S> {
        let room = pipeline.in_flight();
        LeafQueue {
            waiting: ArrayQueue::new(room),
            spare: ArrayQueue::new(room),
            in_flight: CachePadded::new(AtomicUsize::new(0)),
            busy: CachePadded::new(AtomicUsize::new(0)),
            lanes: pipeline.lanes,
        }
    }

    /// Reserves up to `wish` leaves, as long as no more than `most` are in flight. Relaxed, as all counts here: they
    /// publish nothing, the queue itself hands the leaves over.
    pub fn reserve(&self, wish: usize, most: usize) -> usize {
        let take = |now: usize| {
            let taken = wish.min(most.saturating_sub(now));
            (taken > 0).then_some(now + taken)
        };
        let before = self.in_flight.fetch_update(Relaxed, Relaxed, take);
        before.map_or(0, |now| wish.min(most.saturating_sub(now)))
    }

    /// Returns reserved leaves that were not selected, or that are backed up.
    pub fn release(&self, leaves: usize) {
        self.in_flight.fetch_sub(leaves, Relaxed);
    }

    /// Adds a leaf that was reserved. None, or the leaf where there is no room: never for a reserved one.
    pub fn push(&self, leaf: Slot<S>) -> Option<Slot<S>> {
        self.waiting.push(leaf).err()
    }

    /// Takes a lane and its batch of at most `most`: where `most` wait, or no lane is busy and `is_last`: no more leaves
    /// can be had now. True if there is any leaf in `batch`.
    pub fn take_batch(&self, most: usize, is_last: bool, batch: &mut Vec<Slot<S>>) -> bool {
        let (busy, waiting) = (self.busy.load(Relaxed), self.waiting.len());
        let is_due = waiting >= most || busy == 0 && is_last && waiting > 0;
        if !is_due || busy >= self.lanes {
            return false;
        }
        // Another worker may have taken the lane, or have left one: the next step looks again.
        if self.busy.compare_exchange(busy, busy + 1, Relaxed, Relaxed).is_err() {
            return false;
        }
        batch.extend(std::iter::from_fn(|| self.waiting.pop()).take(most));
        if batch.is_empty() {
            self.free_lane();
        }
        !batch.is_empty()
    }

    /// The batch of a lane is done: its leaves are backed up or undone.
    pub fn end_batch(&self, batch: &mut Vec<Slot<S>>) {
        self.release(batch.len());
        for slot in batch.drain(..) {
            // More than enough spare ones are dropped.
            let _ = self.spare.push(slot);
        }
        self.free_lane();
    }

    /// A slot of an earlier leaf.
    pub fn spare(&self) -> Option<Slot<S>> {
        self.spare.pop()
    }

    /// No leaf waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Removes the leaves that still wait. For the end of a run: no worker runs.
    pub fn drain(&self) -> impl Iterator<Item = Slot<S>> + '_ {
        std::iter::from_fn(|| self.waiting.pop().inspect(|_| self.release(1)))
    }

    fn free_lane(&self) {
        self.busy.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::VirtualCounts;

    fn leaf(state: u32) -> Slot<u32> {
        Slot { path: vec![0], state, counts: VirtualCounts { min: 1, max: 1 } }
    }

    fn queue(lanes: usize) -> LeafQueue<u32> {
        LeafQueue::new(&Pipeline { lanes, least: 1, most: 4, ramp: 1 })
    }

    fn states(batch: &[Slot<u32>]) -> Vec<u32> {
        batch.iter().map(|slot| slot.state).collect()
    }

    #[test]
    fn what_waits_when_a_lane_is_free_is_its_batch() {
        let queue = queue(2);
        assert_eq!((queue.reserve(6, 8), queue.reserve(6, 8), queue.reserve(6, 8)), (6, 2, 0));
        (0..6).for_each(|state| assert!(queue.push(leaf(state)).is_none()));
        let (mut first, mut second, mut third) = (Vec::new(), Vec::new(), Vec::new());
        assert!(queue.take_batch(4, false, &mut first));
        assert_eq!(states(&first), [0, 1, 2, 3]);
        assert!(!queue.take_batch(4, true, &mut second), "two wait, and the device is busy");
        (6..8).for_each(|state| assert!(queue.push(leaf(state)).is_none()));
        assert!(queue.take_batch(4, false, &mut second));
        assert_eq!(states(&second), [4, 5, 6, 7]);
        assert!(!queue.take_batch(1, true, &mut third), "no lane is free");
        queue.end_batch(&mut first);
        assert_eq!(queue.reserve(9, 8), 4, "four are backed up");
        assert!(queue.push(leaf(8)).is_none());
        assert!(!queue.take_batch(4, true, &mut third), "the other lane is still busy");
        queue.end_batch(&mut second);
        assert!(!queue.take_batch(4, false, &mut third), "more may come");
        assert!(queue.take_batch(4, true, &mut third));
        assert_eq!(states(&third), [8]);
        assert_eq!(queue.spare().map(|slot| slot.state), Some(0), "slots are used again");
    }

    #[test]
    fn the_end_of_a_run_finds_the_leaves_that_wait() {
        let queue = queue(1);
        assert_eq!(queue.reserve(3, 4), 3);
        (0..3).for_each(|state| assert!(queue.push(leaf(state)).is_none()));
        assert_eq!(queue.drain().map(|slot| slot.state).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(queue.is_empty());
        assert_eq!(queue.reserve(9, 4), 4);
    }
}

//! One node in 32 bytes, all of it atomic: counts, value sum, draw sum, and one word of metadata with the
//! node's state. Only bits and memory orderings; no tree, no PUCT.
//!
//! Values are fixed-point integers, so that a backup is an atomic add and the order of adds cannot change a
//! sum. Counts and sums are separate words: a reader may see one playout's visit without its value. This skews
//! one mean by one sample for an instant; every sum is exact once the adds are done.

use crate::{
    params::{MAX_BATCH, MAX_THREADS, MAX_VIRTUAL},
    sync::{AtomicU64, Ordering::*},
    value::Wdl,
};

/// 32 bytes of arena: a node, or four words of an edge block. Large reservations are page-aligned, so no cell
/// straddles two cache lines.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Cell(pub [AtomicU64; 4]);

/// `counts`: visits in the upper bits, virtual counts in the lower ones. 38 bits of visits last three days at a
/// million playouts per second.
const VIRTUAL_BITS: u32 = 26;
const VISIT: u64 = 1 << VIRTUAL_BITS;
/// Largest virtual count of all workers on one node: in one minibatch a worker has [`MAX_BATCH`] leaves, as
/// many collisions (or one per thread), and on the root as many descents counted in advance (`Worker::select`).
/// 3 x 2^24, three quarters of 26 bits.
const MOST_IN_FLIGHT: u64 = 3 * (MAX_THREADS * MAX_BATCH) as u64 * MAX_VIRTUAL as u64;
const _: () = assert!(MOST_IN_FLIGHT < VISIT && MAX_THREADS <= MAX_BATCH);
/// Fixed point of the sums: 2^38 visits x 2^24 still fit.
const ONE: u64 = 1 << 24;

/// State of a node. Monotonic while workers run: Fresh, Claimed, then one of the others; Expanded may still
/// become Refused (all its children refused).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Never evaluated.
    Fresh = 0,
    /// In one worker's minibatch.
    Claimed = 1,
    /// Has edges.
    Expanded = 2,
    /// The game is over here, or it is proven and its edges were dropped by a compaction.
    Terminal = 3,
    /// The model's prediction was no state: never chosen again.
    Refused = 4,
    /// Evaluated and backed up, but without room for its edges; a compaction makes it Fresh.
    OutOfMemory = 5,
}

/// A result that no further search can change, for the side to move, with plies to the end of the game. `Win`
/// and `Loss` hold an upper bound for the winner. From [`NO_MATE`] on they are plies to a
/// [`crate::Leaf::Known`]; the distance from there to the end is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    Win(u32),
    Draw,
    Loss(u32),
}

/// More plies than any mate found by search. So mates are the shortest wins and the shortest losses, and a
/// result that rests on both a mate and a known result is no mate.
const NO_MATE: u32 = 1 << 10;

impl Proof {
    #[inline]
    pub fn wdl(self) -> Wdl {
        match self {
            Proof::Win(_) => Wdl::WIN,
            Proof::Draw => Wdl::DRAW,
            Proof::Loss(_) => Wdl::LOSS,
        }
    }

    /// The proof for a terminal value; None for a value other than win, draw, loss.
    pub fn of_end(wdl: Wdl) -> Option<Proof> {
        [Proof::Win(0), Proof::Draw, Proof::Loss(0)].into_iter().find(|p| p.wdl() == wdl)
    }

    /// The proof for a known value; None for a value other than win, draw, loss.
    pub fn of_known(wdl: Wdl) -> Option<Proof> {
        [Proof::Win(NO_MATE), Proof::Draw, Proof::Loss(NO_MATE)]
            .into_iter()
            .find(|p| p.wdl() == wdl)
    }

    /// Plies to mate, if any: positive when the side to move mates.
    pub fn mate_plies(self) -> Option<i32> {
        match self {
            Proof::Win(plies) if plies < NO_MATE => Some(plies as i32),
            Proof::Loss(plies) if plies < NO_MATE => Some(-(plies as i32)),
            _ => None,
        }
    }
}

/// The fourth word: edge block 0..32, first-play q 32..48, state 48..51, proof 51..53, its plies 53..64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta(pub u64);

const MAX_PLIES: u32 = (1 << 11) - 1;
/// Stored in place of a fresh node's edges: content of its sums. Never visited.
const UNVISITED: u32 = 0;
/// Only playouts that ended here because of their path.
const ENDS_ON_PATH: u32 = 1;
/// Evaluations; its edges were dropped by a compaction.
const EVALUATED: u32 = 2;

impl Meta {
    #[inline]
    pub fn fresh(q: u16) -> Meta {
        Meta(u64::from(q) << 32)
    }

    #[inline]
    pub fn state(self) -> NodeState {
        match self.0 >> 48 & 7 {
            0 => NodeState::Fresh,
            1 => NodeState::Claimed,
            2 => NodeState::Expanded,
            3 => NodeState::Terminal,
            4 => NodeState::Refused,
            _ => NodeState::OutOfMemory,
        }
    }

    #[inline]
    pub fn with_state(self, state: NodeState) -> Meta {
        Meta(self.0 & !(7 << 48) | (state as u64) << 48)
    }

    /// Cell index of the edge block; meaningful when Expanded.
    #[inline]
    pub fn edges(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub fn with_edges(self, edges: u32) -> Meta {
        Meta(self.0 & !0xFFFF_FFFF | u64::from(edges))
    }

    /// A node without edges again, whose sums hold evaluations.
    #[inline]
    pub fn without_edges(self) -> Meta {
        self.with_state(NodeState::Fresh).with_edges(EVALUATED)
    }

    /// Whether the sums hold playouts that ended at this node because of their path. A fresh node has no edges,
    /// so the flag uses their bits.
    #[inline]
    pub fn ends_on_path(self) -> bool {
        self.state() == NodeState::Fresh && self.edges() == ENDS_ON_PATH
    }

    /// The model's action value of the edge that led here, for the side to move at the parent.
    #[inline]
    pub fn q(self) -> f32 {
        from_unit16(self.q_bits())
    }

    /// [`Meta::q`] as stored.
    #[inline]
    pub fn q_bits(self) -> u16 {
        (self.0 >> 32) as u16
    }

    #[inline]
    pub fn proof(self) -> Option<Proof> {
        let plies = (self.0 >> 53) as u32;
        match self.0 >> 51 & 3 {
            1 => Some(Proof::Win(plies)),
            2 => Some(Proof::Draw),
            3 => Some(Proof::Loss(plies)),
            _ => None,
        }
    }

    #[inline]
    pub fn with_proof(self, proof: Option<Proof>) -> Meta {
        let (kind, plies) = match proof {
            None => (0, 0),
            Some(Proof::Win(plies)) => (1, plies),
            Some(Proof::Draw) => (2, 0),
            Some(Proof::Loss(plies)) => (3, plies),
        };
        Meta(self.0 & ((1 << 51) - 1) | kind << 51 | u64::from(plies.min(MAX_PLIES)) << 53)
    }
}

/// A number in [0, 1] as 16-bit fixed point.
#[inline]
pub fn to_unit16(x: f32) -> u16 {
    // The cast truncates, so this rounds.
    (x.clamp(0.0, 1.0) * 65535.0 + 0.5) as u16
}

#[inline]
pub fn from_unit16(x: u16) -> f32 {
    f32::from(x) / 65535.0
}

/// A value in the fixed point of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    score: u64,
    draw: u64,
}

impl Fixed {
    #[inline]
    pub fn new(wdl: Wdl) -> Fixed {
        let unit = |x: f32| (f64::from(x.clamp(0.0, 1.0)) * ONE as f64).round() as u64;
        Fixed { score: unit(wdl.q()), draw: unit(wdl.draw) }
    }

    /// [`Wdl::flip`] on the fixed-point form, exact.
    #[inline]
    pub fn flip(self) -> Fixed {
        Fixed { score: ONE - self.score, ..self }
    }
}

/// Accumulated visits of a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct VisitSum {
    score: u64,
    draw: u64,
    /// Visits minus the virtual counts they replace, packed as in the node's own word.
    counts: u64,
}

impl VisitSum {
    /// Adds a visit of `value` that replaces `count` virtual ones.
    #[inline]
    pub fn add_visit(&mut self, value: Fixed, count: u32) {
        self.score += value.score;
        self.draw += value.draw;
        self.counts += VISIT - u64::from(count);
    }

    /// Number of visits.
    #[inline]
    pub fn visits(&self) -> u64 {
        // Rounded up, because the virtual counts were subtracted.
        self.counts.div_ceil(VISIT)
    }

    /// Adds another sum.
    pub fn add(&mut self, other: &VisitSum) {
        self.score += other.score;
        self.draw += other.draw;
        self.counts += other.counts;
    }

    /// The sum of a child, without virtual counts, from the parent's side.
    #[must_use]
    pub fn flip(&self) -> VisitSum {
        VisitSum { score: self.visits() * ONE - self.score, ..*self }
    }
}

/// Counts and sums of a node, read once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStats {
    pub visits: u64,
    pub in_flight: u64,
    score: u64,
    draw: u64,
}

impl NodeStats {
    /// Without the reader's own virtual counts.
    #[inline]
    pub fn without(self, count: u32) -> NodeStats {
        NodeStats { in_flight: self.in_flight.saturating_sub(u64::from(count)), ..self }
    }

    /// Sum of [`Wdl::utility`] for the side to move at the *parent*, to whom a draw costs `draw_cost`: this
    /// node's own values, flipped.
    #[inline]
    pub fn parents_utility(&self, draw_cost: f32) -> f64 {
        // Signed: the CPU converts signed integers in one instruction, and the values are far from the sign
        // bit.
        let (score, draw) = (self.score as i64 as f64, self.draw as i64 as f64);
        self.visits as i64 as f64 - (score + f64::from(draw_cost) * draw) / ONE as f64
    }

    /// Mean of [`NodeStats::parents_utility`]; NaN before the first visit.
    #[inline]
    pub fn parents_mean(&self, draw_cost: f32) -> f64 {
        self.parents_utility(draw_cost) / self.visits as i64 as f64
    }

    /// Mean value for the node's own side to move; None before the first visit.
    #[inline]
    pub fn mean(&self) -> Option<Wdl> {
        let part = |sum: u64| (sum as f64 / ONE as f64 / self.visits as f64) as f32;
        (self.visits > 0).then(|| Wdl::from_score_and_draw(part(self.score), part(self.draw)))
    }
}

/// A cell read as a node.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a>(pub &'a Cell);

impl Node<'_> {
    /// Makes the cell a fresh node. Relaxed: no other worker knows the index until an edge publishes it.
    #[inline]
    pub fn init(self, q: u16) {
        let [counts, score, draw, meta] = &self.0.0;
        counts.store(0, Relaxed);
        score.store(0, Relaxed);
        draw.store(0, Relaxed);
        meta.store(Meta::fresh(q).0, Relaxed);
    }

    /// Relaxed: statistics steer, they publish nothing.
    #[inline]
    pub fn stats(self) -> NodeStats {
        self.with_counts(self.0.0[0].load(Relaxed))
    }

    #[inline]
    fn with_counts(self, counts: u64) -> NodeStats {
        let [_, score, draw, _] = &self.0.0;
        NodeStats {
            visits: counts >> VIRTUAL_BITS,
            in_flight: counts & (VISIT - 1),
            score: score.load(Relaxed),
            draw: draw.load(Relaxed),
        }
    }

    /// Adds virtual counts; returns the statistics without them. One combined access fetches a contended cache
    /// line once, not twice. Relaxed: see [`Node::stats`].
    #[inline]
    pub fn add_virtual(self, count: u32) -> NodeStats {
        self.with_counts(self.0.0[0].fetch_add(u64::from(count), Relaxed))
    }

    /// Removes virtual counts without a visit. Relaxed: see [`Node::stats`].
    #[inline]
    pub fn remove_virtual(self, count: u32) {
        self.0.0[0].fetch_sub(u64::from(count), Relaxed);
    }

    /// Adds one visit of `value` that replaces `count` virtual ones. Returns the visits before it. Relaxed: see
    /// [`Node::stats`].
    #[inline]
    pub fn back_up(self, value: Fixed, count: u32) -> u64 {
        let mut sum = VisitSum::default();
        sum.add_visit(value, count);
        self.add_visits(&sum)
    }

    /// Adds several visits. Returns the visits before them. Relaxed: see [`Node::stats`].
    #[inline]
    pub fn add_visits(self, sum: &VisitSum) -> u64 {
        let [counts, score, draw, _] = &self.0.0;
        score.fetch_add(sum.score, Relaxed);
        draw.fetch_add(sum.draw, Relaxed);
        counts.fetch_add(sum.counts, Relaxed) >> VIRTUAL_BITS
    }

    /// Subtracts such visits. Exclusive access only: no worker runs.
    pub fn remove_visits(self, sum: &VisitSum) {
        let [counts, score, draw, _] = &self.0.0;
        score.fetch_sub(sum.score, Relaxed);
        draw.fetch_sub(sum.draw, Relaxed);
        counts.fetch_sub(sum.counts, Relaxed);
    }

    /// Resets a node whose playouts ended on their path, and returns their visits. Exclusive access only: no
    /// worker runs, and nothing is in flight.
    pub fn forget_path_ends(self) -> VisitSum {
        let [counts, score, draw, meta] = &self.0.0;
        meta.store(self.meta().with_edges(UNVISITED).0, Relaxed);
        VisitSum {
            score: score.swap(0, Relaxed),
            draw: draw.swap(0, Relaxed),
            counts: counts.swap(0, Relaxed),
        }
    }

    /// Marks that a playout ends at this node because of its path. False if the node's sums hold evaluations,
    /// or are about to. Relaxed: the flag publishes nothing; only exclusive access interprets the sums by it.
    #[inline]
    pub fn end_on_path(self) -> bool {
        let meta = self.meta();
        if meta.state() == NodeState::Fresh && meta.edges() == UNVISITED {
            let ended = meta.with_edges(ENDS_ON_PATH);
            // On failure another worker came here by the same path and did the same.
            let swapped = self.0.0[3].compare_exchange(meta.0, ended.0, Relaxed, Relaxed);
            return swapped.map_or_else(|now| Meta(now).ends_on_path(), |_| true);
        }
        meta.ends_on_path()
    }

    /// Acquire: pairs with the Release of [`Node::publish`], so that a reader who sees Expanded also
    /// sees the edges, and one who sees Terminal sees its first visit.
    #[inline]
    pub fn meta(self) -> Meta {
        Meta(self.0.0[3].load(Acquire))
    }

    /// The one compare-exchange that makes a worker the owner of a fresh node's expansion.
    /// Relaxed: the claim publishes no data; its owner's writes are published later.
    #[inline]
    pub fn claim(self, fresh: Meta) -> bool {
        let claimed = fresh.with_state(NodeState::Claimed);
        self.0.0[3].compare_exchange(fresh.0, claimed.0, Relaxed, Relaxed).is_ok()
    }

    /// Ends the claim; only its owner may call. A plain store suffices: no other worker changes the meta word
    /// of a claimed node. Release: publishes the edge block, or a terminal's first visit.
    #[inline]
    pub fn publish(self, meta: Meta) {
        self.0.0[3].store(meta.0, Release);
    }

    /// Sets or improves the proof of an expanded node: a shorter win, any result over none. True if it changed.
    /// AcqRel: passes on the children's proofs that imply this one.
    pub fn prove(self, proof: Proof) -> bool {
        self.update(|meta| {
            let better = match (meta.proof(), proof) {
                (None, _) => true,
                (Some(Proof::Win(old)), Proof::Win(new)) => new < old,
                (Some(Proof::Loss(old)), Proof::Loss(new)) => new != old,
                _ => false,
            };
            (meta.state() == NodeState::Expanded && better).then(|| meta.with_proof(Some(proof)))
        })
    }

    /// Refuses an expanded node whose children were all refused.
    pub fn refuse(self) -> bool {
        self.update(|meta| {
            (meta.state() == NodeState::Expanded).then(|| meta.with_state(NodeState::Refused))
        })
    }

    fn update(self, change: impl Fn(Meta) -> Option<Meta>) -> bool {
        self.0.0[3]
            .fetch_update(AcqRel, Acquire, |word| change(Meta(word)).map(|meta| meta.0))
            .is_ok()
    }
}

#[cfg(test)]
mod tests;

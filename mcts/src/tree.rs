//! The arena: granules of 32 bytes in one reservation that never grows beyond its budget. A node is
//! one granule; the edges of an expanded node are one block of them, sorted by prior, highest first.
//! Workers only ever append (one atomic add) and publish; freeing is [`crate::compact`]'s, with
//! exclusive access.
//!
//! Bytes per expanded position: 32 for its node + 8 for the block's header + 8 per edge, rounded up
//! to granules: 320 with 35 edges. The side arrays of compaction (12 bytes per 64 granules, 0.6 %)
//! are inside the budget too.

use crate::{
    node::{Granule, Node, from_unit16, to_unit16},
    puct::Ranked,
};
use std::sync::atomic::{AtomicU64, Ordering::*};

/// Smallest tree; a smaller budget is rounded up to it. Room for a root with the most legal moves of
/// chess (218) and for its children.
pub const MIN_BYTES: usize = 64 << 10;
/// Memory touched at first. The rest is only reserved, and is touched as the tree grows into it.
const FIRST_GRANULES: usize = (64 << 20) / size_of::<Granule>();
/// Most memory touched at a time later on: 256 MiB take some 100 ms of page faults, during which no
/// worker runs.
const MOST_GROWTH: usize = (256 << 20) / size_of::<Granule>();
/// Child indices have 31 bits.
const MAX_GRANULES: usize = 1 << 31;

/// One edge in a word: action 0..16, prior 16..32; then unvisited: q 32..48; or visited (bit 63):
/// the child's granule index 32..63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeWord(pub u64);

const VISITED: u64 = 1 << 63;

impl EdgeWord {
    pub fn new(action: u16, prior: f32, q: f32) -> EdgeWord {
        let (prior, q) = (u64::from(to_unit16(prior)), u64::from(to_unit16(q)));
        EdgeWord(u64::from(action) | prior << 16 | q << 32)
    }

    pub fn action(self) -> u16 {
        self.0 as u16
    }

    pub fn prior(self) -> f32 {
        from_unit16((self.0 >> 16) as u16)
    }

    /// The model's action value in 16 bits; meaningless once visited (the child's meta has it).
    pub fn q_bits(self) -> u16 {
        (self.0 >> 32) as u16
    }

    /// The child's node index, once visited.
    pub fn child(self) -> Option<u32> {
        (self.0 & VISITED != 0).then_some((self.0 >> 32) as u32 & !(1 << 31))
    }

    /// The edge unvisited again, with the action value its child had kept.
    pub fn without_child(self, q: u16) -> EdgeWord {
        EdgeWord(self.0 & 0xFFFF_FFFF | u64::from(q) << 32)
    }

    pub fn with_child(self, child: u32) -> EdgeWord {
        EdgeWord(self.0 & 0xFFFF_FFFF | u64::from(child) << 32 | VISITED)
    }
}

/// The edges of one expanded node.
#[derive(Clone, Copy)]
pub struct Edges<'a> {
    granules: &'a [Granule],
    len: usize,
    /// False when some did not fit: then they prove no loss.
    pub complete: bool,
}

/// Set in a block's header, above its length, when edges were cut off.
const CUT_OFF: u64 = 1 << 32;

impl<'a> Edges<'a> {
    pub fn len(&self) -> usize {
        self.len
    }

    fn word(&self, at: usize) -> &'a AtomicU64 {
        &self.granules[at / 4].0[at % 4]
    }

    /// Acquire: pairs with [`Edges::adopt`], so that a visible child is an initialised node.
    pub fn get(&self, at: usize) -> EdgeWord {
        debug_assert!(at < self.len);
        EdgeWord(self.word(1 + at).load(Acquire))
    }

    pub fn iter(self) -> impl DoubleEndedIterator<Item = EdgeWord> + ExactSizeIterator + 'a {
        (0..self.len).map(move |at| self.get(at))
    }

    /// Overwrites an edge. Compaction only: Relaxed, as the scope of the next workers orders it.
    pub fn rewrite(&self, at: usize, edge: EdgeWord) {
        self.word(1 + at).store(edge.0, Relaxed);
    }

    /// Hangs `child` on the unvisited edge `at`; if another worker was faster, returns its child.
    /// Release: publishes the child's initial words. Acquire on failure: the winner's words.
    fn adopt(&self, at: usize, edge: EdgeWord, child: u32) -> Result<(), EdgeWord> {
        self.word(1 + at)
            .compare_exchange(edge.0, edge.with_child(child).0, Release, Acquire)
            .map(drop)
            .map_err(EdgeWord)
    }
}

/// Granules of a block with `edges` edges and its header.
pub fn block_granules(edges: usize) -> usize {
    (1 + edges).div_ceil(4)
}

/// See the file's head.
pub struct Tree {
    pub(crate) granules: Vec<Granule>,
    /// Granules handed out; overshoots for an instant when an allocation fails.
    pub(crate) used: AtomicU64,
    pub(crate) root: u32,
    /// Granules the budget has room for; `granules` grows up to it.
    capacity: usize,
    /// For compaction: one bit per granule, and the rank of every 64th.
    pub(crate) marks: Vec<u64>,
    pub(crate) ranks: Vec<u32>,
}

impl Tree {
    /// Reserves at most `bytes` (at least [`MIN_BYTES`]); halves its wish while the system refuses.
    pub fn new(bytes: usize) -> Tree {
        // 64 granules, one word of marks, one rank.
        let per_64 = 64 * size_of::<Granule>() + size_of::<u64>() + size_of::<u32>();
        let mut lots = (bytes.max(MIN_BYTES) / per_64).min(MAX_GRANULES / 64);
        let mut tree = Tree {
            granules: Vec::new(),
            used: AtomicU64::new(0),
            root: 0,
            capacity: 0,
            marks: Vec::new(),
            ranks: Vec::new(),
        };
        while tree.granules.try_reserve_exact(lots * 64).is_err()
            || tree.marks.try_reserve_exact(lots).is_err()
            || tree.ranks.try_reserve_exact(lots).is_err()
        {
            log::warn!("no {} bytes for the tree: trying half", lots * per_64);
            lots /= 2;
            tree.granules = Vec::new();
        }
        tree.capacity = lots * 64;
        tree.clear();
        tree
    }

    /// Bytes reserved, side arrays included.
    pub fn bytes(&self) -> usize {
        self.capacity * size_of::<Granule>()
            + self.capacity / 64 * (size_of::<u64>() + size_of::<u32>())
    }

    /// Drops everything but a fresh root. The memory goes back to its first size, so that a search
    /// after `clear` repeats the first search exactly, stops for growth included.
    pub fn clear(&mut self) {
        self.granules.truncate(FIRST_GRANULES);
        self.granules.resize_with(FIRST_GRANULES.min(self.capacity), Granule::default);
        self.used = AtomicU64::new(0);
        self.root = self.alloc_node(0).unwrap_or(0);
    }

    /// Doubles the memory touched, within limits; false when the budget is in use already.
    pub fn grow(&mut self) -> bool {
        let len = self.granules.len();
        let more = (len + len.min(MOST_GROWTH)).min(self.capacity);
        self.granules.resize_with(more, Granule::default);
        self.granules.len() > len
    }

    pub fn used(&self) -> usize {
        (self.used.load(Relaxed) as usize).min(self.granules.len())
    }

    /// Granules left before workers must leave for growth or compaction.
    pub fn free(&self) -> usize {
        self.granules.len() - self.used()
    }

    /// Granules the budget allows.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Granules of the largest edge block: an eighth of the tree, so that a root, all its children and
    /// one more expansion always fit (see [`crate::compact`]).
    pub fn max_block(&self) -> usize {
        (self.capacity.min(FIRST_GRANULES) / 8).min(block_granules(usize::from(u16::MAX)))
    }

    pub fn hashfull(&self) -> u32 {
        (self.used() as u64 * 1000 / self.capacity as u64) as u32
    }

    pub fn root(&self) -> Node<'_> {
        self.node(self.root)
    }

    pub fn node(&self, at: u32) -> Node<'_> {
        Node(&self.granules[at as usize])
    }

    /// The block of an expanded node.
    pub fn edges(&self, block: u32) -> Edges<'_> {
        let granules = &self.granules[block as usize..];
        // Relaxed: written before the block was published, like its edges.
        let header = granules[0].0[0].load(Relaxed);
        let len = header as u32 as usize;
        Edges { granules: &granules[..block_granules(len)], len, complete: header & CUT_OFF == 0 }
    }

    /// Relaxed: the add only hands out room; what is put there is published by an edge or a meta word.
    fn alloc(&self, granules: usize) -> Option<u32> {
        let at = self.used.fetch_add(granules as u64, Relaxed);
        if at + granules as u64 <= self.granules.len() as u64 {
            return Some(at as u32);
        }
        self.used.fetch_sub(granules as u64, Relaxed);
        None
    }

    pub fn alloc_node(&self, q: u16) -> Option<u32> {
        let at = self.alloc(1)?;
        self.node(at).init(q);
        Some(at)
    }

    /// Writes an edge block. Edges beyond [`Tree::max_block`] are cut off, lowest prior first.
    /// Relaxed stores: the caller publishes the block with the node's meta word.
    pub fn alloc_edges<A: Copy + Into<u16>>(&self, ranked: &[Ranked<A>]) -> Option<u32> {
        let all = ranked.len();
        let ranked = &ranked[..all.min(self.max_block() * 4 - 1)];
        let cut_off = if ranked.len() < all { CUT_OFF } else { 0 };
        let block = self.alloc(block_granules(ranked.len()))?;
        let granules = &self.granules[block as usize..];
        granules[0].0[0].store(ranked.len() as u64 | cut_off, Relaxed);
        for (at, edge) in ranked.iter().enumerate() {
            let word = EdgeWord::new(edge.action.into(), edge.prior, edge.q);
            granules[(1 + at) / 4].0[(1 + at) % 4].store(word.0, Relaxed);
        }
        Some(block)
    }

    /// The child behind edge `at`, made on its first visit; None = no room. `spare` keeps a node this
    /// worker made and could not hang because another was faster.
    pub fn visit(&self, edges: &Edges<'_>, at: usize, spare: &mut Option<u32>) -> Option<u32> {
        let edge = edges.get(at);
        if let Some(child) = edge.child() {
            return Some(child);
        }
        let child = match spare.take() {
            Some(child) => {
                self.node(child).init(edge.q_bits());
                child
            }
            None => self.alloc_node(edge.q_bits())?,
        };
        match edges.adopt(at, edge, child) {
            Ok(()) => Some(child),
            Err(other) => {
                *spare = Some(child);
                other.child()
            }
        }
    }

    /// Follows `actions` down from the node `from`; None when the tree does not reach that far.
    pub fn descend(&self, from: u32, actions: impl IntoIterator<Item = u16>) -> Option<u32> {
        actions.into_iter().try_fold(from, |at, action| {
            let meta = self.node(at).meta();
            (meta.state() == crate::node::State::Expanded)
                .then(|| self.edges(meta.edges()).iter().find(|e| e.action() == action)?.child())
                .flatten()
        })
    }

    /// Gives a claim back: for leaves whose evaluation never came. Exclusive access, so the node's
    /// step back is seen by no worker.
    pub fn release(&mut self, at: u32) {
        let meta = self.node(at).meta();
        if meta.state() == crate::node::State::Claimed {
            self.node(at).publish(meta.with_state(crate::node::State::Fresh));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Meta, State};

    fn ranked(n: u16) -> Vec<Ranked<u16>> {
        (0..n).map(|i| Ranked { action: i, prior: 1.0 / f32::from(n), q: 0.5 }).collect()
    }

    #[test]
    fn the_reservation_stays_inside_its_budget() {
        for bytes in [MIN_BYTES, 1 << 20, (1 << 20) + 4321, 3 << 20] {
            let tree = Tree::new(bytes);
            assert!(tree.bytes() <= bytes && tree.bytes() + 2100 > bytes);
            let real = tree.granules.capacity() * 32
                + tree.marks.capacity() * 8
                + tree.ranks.capacity() * 4;
            assert!(real <= bytes, "{real} of {bytes}");
        }
        assert!(Tree::new(0).bytes() <= MIN_BYTES);
    }

    #[test]
    fn thirty_five_edges_and_a_node_take_320_bytes() {
        let tree = Tree::new(MIN_BYTES);
        let before = tree.used();
        tree.alloc_node(0).unwrap();
        tree.alloc_edges(&ranked(35)).unwrap();
        assert_eq!((tree.used() - before) * 32, 320);
    }

    #[test]
    fn edge_words_keep_action_prior_and_child_apart() {
        let edge = EdgeWord::new(0xBEEF, 0.25, 0.75);
        assert_eq!((edge.action(), edge.child(), edge.q_bits()), (0xBEEF, None, to_unit16(0.75)));
        let visited = edge.with_child((1 << 31) - 1);
        assert_eq!((visited.action(), visited.child()), (0xBEEF, Some((1 << 31) - 1)));
        assert_eq!(visited.prior(), edge.prior());
    }

    #[test]
    fn a_child_is_made_once_and_the_loser_keeps_its_spare() {
        let tree = Tree::new(MIN_BYTES);
        let block = tree.alloc_edges(&ranked(3)).unwrap();
        let edges = tree.edges(block);
        let stale = edges.get(1);
        let child = tree.visit(&edges, 1, &mut None).unwrap();
        assert_eq!(tree.visit(&edges, 1, &mut None), Some(child));
        assert_eq!(edges.adopt(1, stale, 77).unwrap_err().child(), Some(child));
    }

    #[test]
    fn a_full_arena_says_so_and_stays_usable() {
        let tree = Tree::new(MIN_BYTES);
        while tree.alloc_edges(&ranked(35)).is_some() {}
        let left = tree.free();
        assert!(left < 9);
        assert!(tree.alloc_edges(&ranked(35)).is_none());
        assert_eq!(tree.free(), left);
    }

    #[test]
    fn descend_follows_actions_and_stops_where_nobody_has_been() {
        let mut tree = Tree::new(MIN_BYTES);
        let block = tree.alloc_edges(&ranked(3)).unwrap();
        tree.root().publish(Meta::fresh(0).with_edges(block).with_state(State::Expanded));
        let child = tree.visit(&tree.edges(block), 2, &mut None).unwrap();
        let descend = |actions: &[u16]| tree.descend(tree.root, actions.iter().copied());
        assert_eq!(descend(&[]), Some(tree.root));
        assert_eq!(descend(&[2]), Some(child));
        assert_eq!((descend(&[1]), descend(&[9]), descend(&[2, 0])), (None, None, None));
        tree.node(child).claim(tree.node(child).meta());
        tree.release(child);
        assert_eq!(tree.node(child).meta().state(), State::Fresh);
    }
}

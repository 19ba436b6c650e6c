//! The arena: 32-byte cells in one reservation that never exceeds its budget. A node is one cell; the edges of
//! an expanded node are one block of cells, sorted by prior, highest first. Workers only append and publish,
//! each in its own [`ArenaChunk`], taken from the reservation by one atomic add. [`crate::compact`] frees
//! memory, with exclusive access.
//!
//! Bytes per expanded position: 32 for its node + 8 for the block's header + 8 per edge, rounded up
//! to cells: 320 with 35 edges. The side arrays of compaction (12 bytes per 64 cells, 0.6 %)
//! are inside the budget too.

use crate::{
    node::{Cell, Node, NodeState, from_unit16, to_unit16},
    sync::{AtomicU64, Ordering::*},
};
use crossbeam::utils::CachePadded;

/// Smallest tree; a smaller budget is rounded up to it. Room for a root with the most legal moves of chess
/// (218) and for its children.
pub const MIN_BYTES: usize = 64 << 10;
/// Child indices have 31 bits.
const MAX_CELLS: usize = 1 << 31;
/// Cells per chunk: 32 KiB, so that workers seldom contend for the arena's counter. A small tree uses smaller
/// chunks, because their unused ends are lost until a compaction.
const CHUNK_CELLS: usize = 1024;

/// One edge in a word: action 0..16, prior 16..32; then unvisited: q 32..48; or visited (bit 63):
/// the child's cell index 32..63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeWord(pub u64);

const VISITED: u64 = 1 << 63;

impl EdgeWord {
    #[inline]
    pub fn new(action: u16, prior: f32, q: f32) -> EdgeWord {
        let (prior, q) = (u64::from(to_unit16(prior)), u64::from(to_unit16(q)));
        EdgeWord(u64::from(action) | prior << 16 | q << 32)
    }

    #[inline]
    pub fn action(self) -> u16 {
        self.0 as u16
    }

    #[inline]
    pub fn prior(self) -> f32 {
        from_unit16((self.0 >> 16) as u16)
    }

    /// The model's action value in 16 bits; undefined once visited (the child's meta word has it).
    #[inline]
    pub fn q_bits(self) -> u16 {
        (self.0 >> 32) as u16
    }

    /// The child's node index, once visited.
    #[inline]
    pub fn child(self) -> Option<u32> {
        (self.0 & VISITED != 0).then_some((self.0 >> 32) as u32 & !(1 << 31))
    }

    /// The edge unvisited again, with the action value stored in its child.
    pub fn without_child(self, q: u16) -> EdgeWord {
        EdgeWord(self.0 & 0xFFFF_FFFF | u64::from(q) << 32)
    }

    #[inline]
    pub fn with_child(self, child: u32) -> EdgeWord {
        EdgeWord(self.0 & 0xFFFF_FFFF | u64::from(child) << 32 | VISITED)
    }
}

/// An edge with its final prior, as the tree keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedEdge<A> {
    /// Its label.
    pub action: A,
    /// After Eq. 1, sums to 1 over the edges.
    pub prior: f32,
    /// The model's action value for the mover, in [0, 1].
    pub q: f32,
}

/// The edges of one expanded node.
#[derive(Clone, Copy)]
pub struct Edges<'a> {
    cells: &'a [Cell],
    len: usize,
    /// False when some did not fit: then the edges prove no loss.
    pub complete: bool,
}

/// Flag in a block's header, above its length: edges were dropped.
const CUT_OFF: u64 = 1 << 32;

impl<'a> Edges<'a> {
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn word(&self, at: usize) -> &'a AtomicU64 {
        &self.cells[at / 4].0[at % 4]
    }

    /// Acquire: pairs with [`Edges::adopt`], so that a visible child is an initialised node.
    #[inline]
    pub fn get(&self, at: usize) -> EdgeWord {
        debug_assert!(at < self.len);
        EdgeWord(self.word(1 + at).load(Acquire))
    }

    #[inline]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = EdgeWord> + ExactSizeIterator + 'a {
        (0..self.len).map(move |at| self.get(at))
    }

    /// Overwrites an edge. Compaction only: Relaxed, because the scope of the next workers orders it.
    pub fn rewrite(&self, at: usize, edge: EdgeWord) {
        self.word(1 + at).store(edge.0, Relaxed);
    }

    /// Attaches `child` to the edge `at`, whose word was `edge`; if another worker was first, returns its word.
    /// Release: publishes the child's initial words. Acquire on failure: the winner's words.
    fn adopt(&self, at: usize, edge: EdgeWord, child: u32) -> Result<(), EdgeWord> {
        self.word(1 + at)
            .compare_exchange(edge.0, edge.with_child(child).0, Release, Acquire)
            .map(drop)
            .map_err(EdgeWord)
    }
}

/// A range of the arena that one worker fills.
#[derive(Debug, Default)]
pub struct ArenaChunk {
    next: u32,
    end: u32,
    /// An allocated but unattached node, left over when another worker was first.
    spare: Option<u32>,
}

/// Cells of a block with `edges` edges and its header.
#[inline]
pub fn block_cells(edges: usize) -> usize {
    (1 + edges).div_ceil(4)
}

/// Zeroed memory for `cells`, if the system grants it. It is only reserved: pages are allocated at first touch,
/// by the worker that uses them.
fn reserve(cells: usize) -> Option<Vec<Cell>> {
    // A refusal must be returned; `vec!` would abort the process.
    Vec::<[u64; 4]>::new().try_reserve_exact(cells).ok()?;
    // Integers, because for them `vec!` uses zeroed allocation; the conversion in place compiles to nothing (a
    // test checks that).
    let zero = vec![[0u64; 4]; cells];
    Some(zero.into_iter().map(|words| Cell(words.map(AtomicU64::new))).collect())
}

/// A search tree in an arena of fixed size.
pub struct Tree {
    pub(crate) cells: Vec<Cell>,
    /// Cells handed out; overshoots briefly when an allocation fails.
    pub(crate) used: CachePadded<AtomicU64>,
    pub(crate) root: u32,
    /// For compaction: one mark bit per cell, and the rank of every 64th cell.
    pub(crate) marks: Vec<AtomicU64>,
    pub(crate) ranks: Vec<u32>,
}

impl Tree {
    /// Reserves at most `bytes` (at least [`MIN_BYTES`]); halves the request while the system refuses.
    pub fn new(bytes: usize) -> Tree {
        Tree::with_memory(bytes, reserve)
    }

    /// As [`Tree::new`], with memory from `reserve`.
    fn with_memory(bytes: usize, reserve: impl Fn(usize) -> Option<Vec<Cell>>) -> Tree {
        // A group: 64 cells, one word of marks, one rank.
        let per_group = 64 * size_of::<Cell>() + size_of::<u64>() + size_of::<u32>();
        let mut groups = (bytes.max(MIN_BYTES) / per_group).min(MAX_CELLS / 64);
        let (mut marks, mut ranks) = (Vec::new(), Vec::new());
        let cells = loop {
            let room =
                marks.try_reserve_exact(groups).and_then(|()| ranks.try_reserve_exact(groups));
            match room.ok().and_then(|()| reserve(groups * 64)) {
                Some(cells) => break cells,
                None => log::warn!("no {} bytes for the tree: trying half", groups * per_group),
            }
            groups /= 2;
            (marks, ranks) = (Vec::new(), Vec::new());
        };
        let used = CachePadded::new(AtomicU64::new(0));
        let mut tree = Tree { cells, used, root: 0, marks, ranks };
        tree.clear();
        tree
    }

    /// Bytes reserved, side arrays included.
    pub fn bytes(&self) -> usize {
        self.capacity() * size_of::<Cell>()
            + self.capacity() / 64 * (size_of::<u64>() + size_of::<u32>())
    }

    /// Drops everything except a fresh root. Memory is not cleared: every cell is written before it is read.
    pub fn clear(&mut self) {
        self.used.store(0, Relaxed);
        self.root = self.take(1).unwrap_or(0);
        self.root().init(0);
    }

    #[inline]
    pub fn used(&self) -> usize {
        (self.used.load(Relaxed) as usize).min(self.cells.len())
    }

    /// Cells that no worker has taken.
    #[inline]
    pub fn free(&self) -> usize {
        self.cells.len() - self.used()
    }

    /// Cells of the whole arena.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.cells.len()
    }

    /// Cells of the largest edge block: an eighth of the tree, so that a root, all its children and one more
    /// expansion always fit (see [`crate::compact`]).
    pub fn max_block(&self) -> usize {
        (self.capacity() / 8).min(block_cells(usize::from(u16::MAX)))
    }

    pub fn hashfull(&self) -> u32 {
        (self.used() as u64 * 1000 / self.capacity() as u64) as u32
    }

    #[inline]
    pub fn root(&self) -> Node<'_> {
        self.node(self.root)
    }

    #[inline]
    pub fn node(&self, at: u32) -> Node<'_> {
        Node(&self.cells[at as usize])
    }

    /// The block of an expanded node.
    #[inline]
    pub fn edges(&self, block: u32) -> Edges<'_> {
        let cells = &self.cells[block as usize..];
        // Relaxed: written before the block was published, like its edges.
        let header = cells[0].0[0].load(Relaxed);
        let len = header as u32 as usize;
        Edges { cells: &cells[..block_cells(len)], len, complete: header & CUT_OFF == 0 }
    }

    /// Relaxed: the add only allocates; the content is published by an edge or a meta word.
    fn take(&self, cells: usize) -> Option<u32> {
        let at = self.used.fetch_add(cells as u64, Relaxed);
        if at + cells as u64 <= self.cells.len() as u64 {
            return Some(at as u32);
        }
        self.used.fetch_sub(cells as u64, Relaxed);
        None
    }

    fn alloc(&self, chunk: &mut ArenaChunk, cells: usize) -> Option<u32> {
        if ((chunk.end - chunk.next) as usize) < cells {
            let size = CHUNK_CELLS.min(self.capacity() / 256);
            // A block as large as a chunk is allocated directly; so is every request once no chunk is left.
            let fresh = (cells < size).then(|| self.take(size)).flatten();
            let Some(fresh) = fresh else { return self.take(cells) };
            (chunk.next, chunk.end) = (fresh, fresh + size as u32);
        }
        let at = chunk.next;
        chunk.next += cells as u32;
        Some(at)
    }

    fn alloc_node(&self, chunk: &mut ArenaChunk, q: u16) -> Option<u32> {
        let at = self.alloc(chunk, 1)?;
        self.node(at).init(q);
        Some(at)
    }

    /// Writes an edge block. Edges beyond [`Tree::max_block`] are dropped, lowest prior first. Relaxed stores:
    /// the caller publishes the block with the node's meta word.
    pub fn alloc_edges<A: Copy + Into<u16>>(
        &self,
        chunk: &mut ArenaChunk,
        ranked: &[RankedEdge<A>],
    ) -> Option<u32> {
        let all = ranked.len();
        let ranked = &ranked[..all.min(self.max_block() * 4 - 1)];
        let cut_off = if ranked.len() < all { CUT_OFF } else { 0 };
        let len = block_cells(ranked.len());
        let block = self.alloc(chunk, len)?;
        let cells = &self.cells[block as usize..][..len];
        let mut words = cells.iter().flat_map(|cell| &cell.0);
        let header = ranked.len() as u64 | cut_off;
        let edges = ranked.iter().map(|e| EdgeWord::new(e.action.into(), e.prior, e.q).0);
        for (word, value) in words.by_ref().zip(std::iter::once(header).chain(edges)) {
            word.store(value, Relaxed);
        }
        Some(block)
    }

    /// The child behind edge `at`, created on its first visit; None = no room.
    #[inline]
    pub fn visit(&self, edges: &Edges<'_>, at: usize, chunk: &mut ArenaChunk) -> Option<u32> {
        let edge = edges.get(at);
        edge.child().or_else(|| self.first_visit(edges, at, edge, chunk))
    }

    fn first_visit(
        &self,
        edges: &Edges<'_>,
        at: usize,
        edge: EdgeWord,
        chunk: &mut ArenaChunk,
    ) -> Option<u32> {
        let child = self.new_child(edge.q_bits(), chunk)?;
        self.hang(edges, at, edge, child, chunk)
    }

    /// A fresh, unattached node.
    pub(crate) fn new_child(&self, q: u16, chunk: &mut ArenaChunk) -> Option<u32> {
        let Some(child) = chunk.spare.take() else { return self.alloc_node(chunk, q) };
        self.node(child).init(q);
        Some(child)
    }

    /// Attaches `child` to the edge `at`, whose word was `edge`. Returns the edge's child: another worker's, if
    /// that one was first.
    pub(crate) fn hang(
        &self,
        edges: &Edges<'_>,
        at: usize,
        edge: EdgeWord,
        child: u32,
        chunk: &mut ArenaChunk,
    ) -> Option<u32> {
        match edges.adopt(at, edge, child) {
            Ok(()) => Some(child),
            Err(other) => {
                chunk.spare = Some(child);
                other.child()
            }
        }
    }

    /// The nodes along `actions`, `from` first; None when the tree does not reach that far.
    pub fn path(&self, from: u32, actions: impl IntoIterator<Item = u16>) -> Option<Vec<u32>> {
        let mut path = vec![from];
        let mut at = from;
        for action in actions {
            let meta = self.node(at).meta();
            if meta.state() != NodeState::Expanded {
                return None;
            }
            at = self.edges(meta.edges()).iter().find(|e| e.action() == action)?.child()?;
            path.push(at);
        }
        Some(path)
    }

    /// Whether the running compaction keeps a cell. Relaxed: see [`crate::compact`].
    pub(crate) fn marked(&self, at: u32) -> bool {
        self.marks[at as usize / 64].load(Relaxed) >> (at % 64) & 1 == 1
    }

    /// Releases a claim without an evaluation. Exclusive access, so no worker sees the state move backwards.
    pub fn release(&mut self, at: u32) {
        let meta = self.node(at).meta();
        if meta.state() == NodeState::Claimed {
            self.node(at).publish(meta.with_state(NodeState::Fresh));
        }
    }
}

#[cfg(test)]
mod tests;

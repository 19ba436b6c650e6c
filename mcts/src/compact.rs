//! Compaction: frees the least useful part of a full tree, in place. Keeps the edges of the most visited nodes,
//! drops the rest, and slides what is left to the front of the arena. Runs with exclusive access, between two
//! runs of the workers, on the same number of threads.
//!
//! A node whose edges are dropped keeps its statistics as long as its parent keeps edges, so that no mean and
//! no count above the cut is lost; at its next visit it is evaluated again. Hence the invariant "visits = 1 +
//! visits of the children" becomes ">=" after a compaction.
//!
//! Sliding follows the Compressor (Kermany and Petrank 2006): one mark bit per cell; the new index of a cell is
//! the number of marks before it. Four passes, cost proportional to the tree. Three of them traverse the tree
//! ([`Tree::walk`]) and are memory-bound, so they use several threads and interleave several nodes; the last,
//! linear in memory, takes a twentieth of the time.

use crate::{
    node::{Meta, NodeState},
    sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    tree::{Tree, block_cells},
};
use std::{collections::BinaryHeap, thread};

/// Histogram bucket: visits up to 64 have one each, then eight per octave.
fn bucket(visits: u64) -> usize {
    if visits < 64 {
        return visits as usize;
    }
    let octave = visits.ilog2() as usize;
    64 + (octave - 6) * 8 + (visits >> (octave - 3) & 7) as usize
}

const BUCKETS: usize = 64 + (64 - 6) * 8;

/// Polled to stop a compaction.
pub type Stopped<'a> = &'a (dyn Fn() -> bool + Sync);

/// Nodes read at once: their cache misses overlap.
const GROUP: usize = 8;
/// Nodes between two polls of `stopped`: about a millisecond.
const POLL_INTERVAL: usize = 4096;
/// Subtrees per thread, for load balance.
const PARTS_PER_THREAD: usize = 32;

impl Tree {
    /// Shrinks the tree to at most half of its memory, or to the root with its children if even that is more.
    /// Then more than a quarter is free: the root's block is at most an eighth, its children at most half.
    ///
    /// The first two passes only read and abort once `stopped` returns true: then the result is false, and the
    /// tree is unchanged. With one thread the result is deterministic; with more, the choice among the least
    /// visited nodes depends on timing.
    pub fn compact(&mut self, threads: usize, stopped: Stopped<'_>) -> bool {
        let before = self.used();
        let Some((cut, spare)) = self.cut(self.capacity() / 2, threads, stopped) else {
            return false;
        };
        if !self.mark(cut, spare, threads, stopped) {
            return false;
        }
        self.forget_dropped_path_ends();
        let kept = self.rank();
        self.relink(threads);
        self.slide();
        self.used.store(kept as u64, Relaxed);
        log::debug!("tree compacted: {before} to {kept} cells, edges kept from bucket {cut} up");
        true
    }

    /// Calls `visit` with the root and with every node that a call has pushed, on several threads, each with
    /// its own state from `start`. Returns the final states; None if stopped.
    fn walk<T: Send>(
        &self,
        threads: usize,
        stopped: Stopped<'_>,
        start: impl Fn() -> T + Sync,
        visit: impl Fn(&mut T, u32, Meta, &mut Vec<u32>) + Sync,
    ) -> Option<Vec<T>> {
        let mut first = start();
        let mut parts = vec![self.root];
        if threads > 1 {
            // Split the largest subtree repeatedly: most of a tree hangs on its best moves.
            let visits = |at: u32| (self.node(at).stats().visits, at);
            let mut heap = BinaryHeap::from([visits(self.root)]);
            let mut children = Vec::new();
            while heap.len() < PARTS_PER_THREAD * threads
                && let Some((_, at)) = heap.pop()
            {
                visit(&mut first, at, self.node(at).meta(), &mut children);
                heap.extend(children.drain(..).map(visits));
            }
            // Largest first, so that the last tasks are small.
            parts = heap.into_sorted_vec().into_iter().rev().map(|(_, at)| at).collect();
        }
        // The engine's `workers::deal` is unavailable to this crate, and a thread has one result for all its
        // parts here.
        // Relaxed, both: the end of the scope orders the threads' writes.
        let (next, halted) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = |mut own: T| {
            let mut stack = Vec::new();
            let mut seen = 0;
            while let Some(&part) = parts.get(next.fetch_add(1, Relaxed)) {
                stack.push(part);
                while !stack.is_empty() {
                    let group = self.prefetch_group(&mut stack);
                    for (at, meta) in group.into_iter().flatten() {
                        visit(&mut own, at, meta, &mut stack);
                    }
                    seen += GROUP;
                    if seen >= POLL_INTERVAL {
                        seen = 0;
                        if halted.load(Relaxed) || stopped() {
                            halted.store(true, Relaxed);
                            return own;
                        }
                    }
                }
            }
            own
        };
        let ends = thread::scope(|scope| {
            let spawned: Vec<_> = (1..threads)
                .filter_map(|_| {
                    let own = start();
                    // If the system refuses a thread, the others take its parts.
                    thread::Builder::new().spawn_scoped(scope, || work(own)).ok()
                })
                .collect();
            let mut ends = vec![work(first)];
            for thread in spawned {
                match thread.join() {
                    Ok(end) => ends.push(end),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            ends
        });
        (!halted.load(Relaxed)).then_some(ends)
    }

    /// Pops a group of nodes. Reads all nodes first, then the first words of all blocks: the cache misses of
    /// each step overlap.
    fn prefetch_group(&self, stack: &mut Vec<u32>) -> [Option<(u32, Meta)>; GROUP] {
        let group = [(); GROUP].map(|()| stack.pop().map(|at| (at, self.node(at).meta())));
        let expanded = |meta: &Meta| meta.state() == NodeState::Expanded;
        let blocks = group.iter().flatten().map(|(_, meta)| meta).filter(|meta| expanded(meta));
        std::hint::black_box(blocks.map(|meta| self.edges(meta.edges()).len()).sum::<usize>());
        group
    }

    /// Cells of this node's edges: their block and one per child.
    fn cost(&self, at: u32, meta: Meta) -> usize {
        block_cells(self.edges(meta.edges()).len()) + self.children(at, meta).count()
    }

    /// The root is in the top bucket: it always keeps its edges.
    fn bucket(&self, at: u32) -> usize {
        if at == self.root { BUCKETS } else { bucket(self.node(at).stats().visits) }
    }

    /// The children to keep: none if the node has only its own visit. Three nodes in four are such leaves, and
    /// skipping their edges halves the time of the first two passes.
    fn children(&self, at: u32, meta: Meta) -> impl DoubleEndedIterator<Item = u32> {
        let edges = self.edges(meta.edges());
        let read = if self.node(at).stats().visits > 1 { edges.len() } else { 0 };
        (0..read).filter_map(move |i| edges.get(i).child())
    }

    /// The lowest bucket whose nodes can all keep their edges within `target` cells, and the cells left over
    /// for nodes of the bucket below; None when stopped.
    fn cut(&self, target: usize, threads: usize, stopped: Stopped<'_>) -> Option<(usize, usize)> {
        let costs = self.walk(
            threads,
            stopped,
            || vec![0; BUCKETS + 1],
            |cost, at, meta, stack| {
                if meta.state() == NodeState::Expanded {
                    cost[self.bucket(at)] += self.cost(at, meta);
                    stack.extend(self.children(at, meta));
                }
            },
        )?;
        let cost = |bucket: usize| costs.iter().map(|cost| cost[bucket]).sum::<usize>();
        let (mut cut, mut spare) = (BUCKETS, target.saturating_sub(1 + cost(BUCKETS)));
        while cut > 0 && cost(cut - 1) <= spare {
            cut -= 1;
            spare -= cost(cut);
        }
        Some((cut, spare))
    }

    /// Marks the cells to keep; false when stopped.
    fn mark(&mut self, cut: usize, spare: usize, threads: usize, stopped: Stopped<'_>) -> bool {
        let words = self.cells.len() / 64;
        self.marks.clear();
        self.marks.resize_with(words, AtomicU64::default);
        // Relaxed: only an allowance.
        let spare = AtomicUsize::new(spare);
        let tree = &*self;
        let visit = |_: &mut (), at: u32, meta: Meta, stack: &mut Vec<u32>| {
            tree.set_marks(at, 1);
            if meta.state() != NodeState::Expanded {
                return;
            }
            let (bucket, cost) = (tree.bucket(at), tree.cost(at, meta));
            let fits_leftover = || {
                bucket + 1 == cut
                    && spare.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(cost)).is_ok()
            };
            if bucket >= cut || fits_leftover() {
                let block = block_cells(tree.edges(meta.edges()).len());
                tree.set_marks(meta.edges(), block);
                // Reversed, so that leftover cells go approximately to the best moves first.
                stack.extend(tree.children(at, meta).rev());
            }
        };
        tree.walk(threads, stopped, || (), visit).is_some()
    }

    /// Relaxed: the end of the walk's scope orders the marks before their readers.
    fn set_marks(&self, at: u32, cells: usize) {
        let (mut at, end) = (at as usize, at as usize + cells);
        while at < end {
            let len = (64 - at % 64).min(end - at);
            self.marks[at / 64].fetch_or((!0 >> (64 - len)) << (at % 64), Relaxed);
            at += len;
        }
    }

    /// Computes the rank of every 64th cell (marks before it); returns the number of all marks.
    fn rank(&mut self) -> usize {
        self.ranks.clear();
        let mut total = 0;
        for word in &self.marks {
            self.ranks.push(total);
            total += word.load(Relaxed).count_ones();
        }
        total as usize
    }

    fn moved(&self, at: u32) -> u32 {
        let (word, bit) = (at as usize / 64, at % 64);
        self.ranks[word] + (self.marks[word].load(Relaxed) & ((1 << bit) - 1)).count_ones()
    }

    /// Rewrites every kept index to its new value while all cells are still at the old ones. Each node belongs
    /// to one thread: no other thread reads what it writes.
    fn relink(&mut self, threads: usize) {
        let visit = |_: &mut (), at: u32, meta: Meta, stack: &mut Vec<u32>| {
            let new = match meta.state() {
                NodeState::Expanded if self.marked(meta.edges()) => {
                    let edges = self.edges(meta.edges());
                    for (i, edge) in edges.iter().enumerate() {
                        let Some(child) = edge.child() else { continue };
                        if self.marked(child) {
                            stack.push(child);
                            edges.rewrite(i, edge.with_child(self.moved(child)));
                        } else {
                            let q = self.node(child).meta().q_bits();
                            edges.rewrite(i, edge.without_child(q));
                        }
                    }
                    meta.with_edges(self.moved(meta.edges()))
                }
                // A proof does not need edges.
                NodeState::Expanded if meta.proof().is_some() => {
                    meta.with_state(NodeState::Terminal)
                }
                NodeState::Expanded | NodeState::OutOfMemory => meta.without_edges(),
                _ => meta,
            };
            self.node(at).publish(new);
        };
        self.walk(threads, &|| false, || (), visit);
        self.root = self.moved(self.root);
    }

    /// Moves the marked cells down, in order: each destination has been read already. Relaxed: see
    /// [`Edges::rewrite`](crate::tree::Edges::rewrite).
    fn slide(&mut self) {
        let mut to = 0;
        for word in 0..self.marks.len() {
            let mut left = self.marks[word].load(Relaxed);
            while left != 0 {
                let from = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                if from != to {
                    for i in 0..4 {
                        let value = self.cells[from].0[i].load(Relaxed);
                        self.cells[to].0[i].store(value, Relaxed);
                    }
                }
                to += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        node::{Fixed, Proof},
        tree::{ArenaChunk, MIN_BYTES, RankedEdge},
        value::Wdl,
    };

    fn ranked(n: u16) -> Vec<RankedEdge<u16>> {
        (0..n).map(|action| RankedEdge { action, prior: 0.1, q: 0.25 }).collect()
    }

    /// Gives the node `n` edges and one visit.
    fn expand(tree: &Tree, at: u32, n: u16, chunk: &mut ArenaChunk) {
        let block = tree.alloc_edges(chunk, &ranked(n)).unwrap();
        let meta = tree.node(at).meta().with_edges(block);
        tree.node(at).publish(meta.with_state(NodeState::Expanded));
        tree.node(at).back_up(Fixed::new(Wdl::DRAW), 0);
    }

    #[test]
    fn a_proven_node_without_its_edges_stays_proven_and_another_is_evaluated_again() {
        let (mut tree, mut chunk) = (Tree::new(MIN_BYTES), ArenaChunk::default());
        expand(&tree, tree.root, 170, &mut chunk);
        let edges = tree.edges(tree.root().meta().edges());
        let children = (0..170).map(|at| tree.visit(&edges, at, &mut chunk).unwrap());
        for (i, child) in children.collect::<Vec<_>>().into_iter().enumerate() {
            expand(&tree, child, 35, &mut chunk);
            tree.root().back_up(Fixed::new(Wdl::DRAW), 0);
            assert!(i % 2 == 0 || tree.node(child).prove(Proof::Loss(3)));
        }
        assert!(tree.compact(1, &|| false));
        let edges = tree.edges(tree.root().meta().edges());
        let metas: Vec<Meta> = edges.iter().map(|e| tree.node(e.child().unwrap()).meta()).collect();
        let count = |state| metas.iter().filter(|meta| meta.state() == state).count();
        assert!(count(NodeState::Expanded) > 20);
        assert!(count(NodeState::Terminal) > 20 && count(NodeState::Fresh) > 20);
        for (i, meta) in metas.iter().enumerate() {
            assert_eq!(meta.proof(), (i % 2 == 1).then_some(Proof::Loss(3)));
            assert!(meta.state() != NodeState::Fresh || i % 2 == 0);
        }
    }

    #[test]
    fn an_edge_whose_child_goes_has_its_value_again() {
        let (mut tree, mut chunk) = (Tree::new(MIN_BYTES), ArenaChunk::default());
        expand(&tree, tree.root, 3, &mut chunk);
        let before = tree.edges(tree.root().meta().edges()).get(1);
        // A child that a descent created, and that no playout has visited.
        tree.visit(&tree.edges(tree.root().meta().edges()), 1, &mut chunk).unwrap();
        assert!(tree.compact(1, &|| false));
        assert_eq!(tree.edges(tree.root().meta().edges()).get(1), before);
    }

    #[test]
    fn buckets_rise_with_visits_and_stay_in_range() {
        let visits = (0..5000).chain((13..63).map(|shift| (1 << shift) - 1)).chain([u64::MAX]);
        let buckets: Vec<usize> = visits.map(bucket).collect();
        assert!(buckets.is_sorted() && buckets.iter().all(|&b| b < BUCKETS));
    }
}

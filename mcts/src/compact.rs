//! Frees the least useful part of a full tree, in place: keeps the edges of the most visited nodes,
//! lets go the rest, and slides what is left to the front of the arena. Runs with exclusive access,
//! between two phases of the workers; nothing here is atomic or lock-free, nor needs to be.
//!
//! A node whose edges go keeps its statistics as long as its parent keeps edges, so that no mean and
//! no count above the cut is lost; when it is visited again it is evaluated again. Hence the law
//! "visits = 1 + visits of the children" turns into ">=" once a tree has been compacted.
//!
//! Sliding follows the Compressor (Kermany and Petrank 2006): one mark bit per granule; the new place
//! of a granule is the number of marks before it. Four passes, cost proportional to the tree.

use crate::{
    node::{Meta, State},
    tree::{Tree, block_granules},
};

/// Visits up to 64 have a bucket each, then eight to the octave.
fn bucket(visits: u64) -> usize {
    if visits < 64 {
        return visits as usize;
    }
    let octave = visits.ilog2() as usize;
    64 + (octave - 6) * 8 + (visits >> (octave - 3) & 7) as usize
}

const BUCKETS: usize = 64 + (64 - 6) * 8;

/// Asks whether to stop once in a while: often enough for a millisecond, seldom enough to be free.
struct Patience<'a> {
    stopped: &'a dyn Fn() -> bool,
    nodes: u32,
}

impl<'a> Patience<'a> {
    fn new(stopped: &'a dyn Fn() -> bool) -> Self {
        Patience { stopped, nodes: 0 }
    }

    fn over(&mut self) -> bool {
        self.nodes = self.nodes.wrapping_add(1);
        self.nodes.is_multiple_of(4096) && (self.stopped)()
    }
}

impl Tree {
    /// Cuts the tree down to at most half of its memory, or to the root with its children where even
    /// that is more. Then more than a quarter is free: the root's block is at most an eighth, its
    /// children at most half.
    ///
    /// The first two passes only read and give up once `stopped` says so: then false, and the tree is
    /// as it was.
    pub fn compact(&mut self, stopped: &dyn Fn() -> bool) -> bool {
        let before = self.used();
        let Some((cut, spare)) = self.cut(self.capacity() / 2, stopped) else {
            return false;
        };
        if !self.mark(cut, spare, stopped) {
            return false;
        }
        let kept = self.rank();
        self.relink();
        self.slide();
        *self.used.get_mut() = kept as u64;
        log::debug!("tree compacted: {before} to {kept} granules, edges kept from bucket {cut} up");
        true
    }

    fn marked(&self, at: u32) -> bool {
        self.marks[at as usize / 64] >> (at % 64) & 1 == 1
    }

    /// What this node's edges cost: their block and a granule for each child.
    fn cost(&self, at: u32, meta: Meta) -> usize {
        block_granules(self.edges(meta.edges()).len()) + self.children(at, meta).count()
    }

    /// The root stands above all others, for it always keeps its edges.
    fn bucket(&self, at: u32) -> usize {
        if at == self.root { BUCKETS } else { bucket(self.node(at).stats().visits) }
    }

    /// The children worth keeping. None of them when the node has no visit but its own: three nodes
    /// in four are such leaves, and not to read their edges halves the time of the first two passes.
    fn children(&self, at: u32, meta: Meta) -> impl DoubleEndedIterator<Item = u32> {
        let edges = self.edges(meta.edges());
        let read = if self.node(at).stats().visits > 1 { edges.len() } else { 0 };
        (0..read).filter_map(move |i| edges.get(i).child())
    }

    /// The lowest bucket all of whose nodes may keep their edges within `target` granules, and the
    /// granules left over for nodes of the bucket below; None when stopped.
    fn cut(&self, target: usize, stopped: &dyn Fn() -> bool) -> Option<(usize, usize)> {
        let mut cost = vec![0; BUCKETS + 1];
        let mut stack = vec![self.root];
        let mut patience = Patience::new(stopped);
        while let Some(at) = stack.pop() {
            if patience.over() {
                return None;
            }
            let meta = self.node(at).meta();
            if meta.state() == State::Expanded {
                cost[self.bucket(at)] += self.cost(at, meta);
                stack.extend(self.children(at, meta));
            }
        }
        let (mut cut, mut spare) = (BUCKETS, target.saturating_sub(1 + cost[BUCKETS]));
        while cut > 0 && cost[cut - 1] <= spare {
            cut -= 1;
            spare -= cost[cut];
        }
        Some((cut, spare))
    }

    /// Marks what stays; false when stopped.
    fn mark(&mut self, cut: usize, mut spare: usize, stopped: &dyn Fn() -> bool) -> bool {
        let words = self.granules.len() / 64;
        self.marks.clear();
        self.marks.resize(words, 0);
        let mut stack = vec![self.root];
        let mut patience = Patience::new(stopped);
        while let Some(at) = stack.pop() {
            if patience.over() {
                return false;
            }
            self.set_marks(at, 1);
            let meta = self.node(at).meta();
            if meta.state() != State::Expanded {
                continue;
            }
            let (bucket, cost) = (self.bucket(at), self.cost(at, meta));
            let lucky = bucket + 1 == cut && cost <= spare;
            if lucky {
                spare -= cost;
            }
            if lucky || bucket >= cut {
                let block = block_granules(self.edges(meta.edges()).len());
                self.set_marks(meta.edges(), block);
                // Reversed, so that what is left over goes to the best moves first.
                stack.extend(self.children(at, meta).rev());
            }
        }
        true
    }

    fn set_marks(&mut self, at: u32, granules: usize) {
        for i in at as usize..at as usize + granules {
            self.marks[i / 64] |= 1 << (i % 64);
        }
    }

    /// Counts the marks before every 64th granule; returns the number of all marks.
    fn rank(&mut self) -> usize {
        self.ranks.clear();
        let mut total = 0;
        for word in &self.marks {
            self.ranks.push(total);
            total += word.count_ones();
        }
        total as usize
    }

    fn moved(&self, at: u32) -> u32 {
        let (word, bit) = (at as usize / 64, at % 64);
        self.ranks[word] + (self.marks[word] & ((1 << bit) - 1)).count_ones()
    }

    /// Rewrites every kept index to its new place while all still lies at the old one.
    fn relink(&mut self) {
        let mut stack = vec![self.root];
        while let Some(at) = stack.pop() {
            let meta = self.node(at).meta();
            let new = match meta.state() {
                State::Expanded if self.marked(meta.edges()) => {
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
                // What is proven needs no edges to stay so.
                State::Expanded if meta.proof().is_some() => meta.with_state(State::Terminal),
                State::Expanded | State::Shed => meta.with_state(State::Fresh).with_edges(0),
                _ => meta,
            };
            self.node(at).publish(new);
        }
        self.root = self.moved(self.root);
    }

    /// Moves the marked granules down, in order: each goes to a place that has been read already.
    fn slide(&mut self) {
        let mut to = 0;
        for word in 0..self.marks.len() {
            let mut left = self.marks[word];
            while left != 0 {
                let from = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                if from != to {
                    for i in 0..4 {
                        let value = *self.granules[from].0[i].get_mut();
                        *self.granules[to].0[i].get_mut() = value;
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

    #[test]
    fn buckets_rise_with_visits_and_stay_in_range() {
        let visits = (0..5000).chain((13..63).map(|shift| (1 << shift) - 1)).chain([u64::MAX]);
        let buckets: Vec<usize> = visits.map(bucket).collect();
        assert!(buckets.is_sorted() && buckets.iter().all(|&b| b < BUCKETS));
    }
}

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
use std::sync::atomic::AtomicU64;

/// Visits up to 64 have a bucket each, then eight to the octave.
fn bucket(visits: u64) -> usize {
    if visits < 64 {
        return visits as usize;
    }
    let octave = visits.ilog2() as usize;
    64 + (octave - 6) * 8 + (visits >> (octave - 3) & 7) as usize
}

const BUCKETS: usize = 64 + (64 - 6) * 8;

impl Tree {
    /// Cuts the tree down to at most half of its memory, or to the root with its children where even
    /// that is more. Then more than a quarter is free: the root's block is at most an eighth, its
    /// children at most half.
    pub fn compact(&mut self) {
        let before = self.used();
        let cut = self.cut(self.capacity() / 2);
        self.mark(cut);
        let kept = self.rank();
        self.relink(cut);
        self.slide();
        self.used = AtomicU64::new(kept as u64);
        log::debug!("tree compacted: {before} to {kept} granules, edges kept from bucket {cut} up");
    }

    /// Does this node keep its edges? The root does; the others if they are above the cut.
    fn keeps(&self, at: u32, meta: Meta, cut: usize) -> bool {
        meta.state() == State::Expanded
            && (at == self.root || bucket(self.node(at).stats().visits) >= cut)
    }

    fn children(&self, meta: Meta) -> impl Iterator<Item = u32> {
        self.edges(meta.edges())
            .iter()
            .filter_map(|edge| edge.child())
    }

    /// The lowest cut whose tree takes no more than `target` granules.
    fn cut(&self, target: usize) -> usize {
        let mut cost = vec![0usize; BUCKETS + 1];
        let mut stack = vec![self.root];
        while let Some(at) = stack.pop() {
            let meta = self.node(at).meta();
            if meta.state() != State::Expanded {
                continue;
            }
            let place = if at == self.root {
                BUCKETS
            } else {
                bucket(self.node(at).stats().visits)
            };
            cost[place] += block_granules(self.edges(meta.edges()).len());
            for child in self.children(meta) {
                cost[place] += 1;
                stack.push(child);
            }
        }
        let mut total = 1;
        (0..=BUCKETS)
            .rev()
            .take_while(|&place| {
                total += cost[place];
                total <= target
            })
            .last()
            .unwrap_or(BUCKETS)
    }

    fn mark(&mut self, cut: usize) {
        let words = self.granules.len() / 64;
        self.marks.clear();
        self.marks.resize(words, 0);
        let mut stack = vec![self.root];
        while let Some(at) = stack.pop() {
            self.set_marks(at, 1);
            let meta = self.node(at).meta();
            if self.keeps(at, meta, cut) {
                self.set_marks(meta.edges(), block_granules(self.edges(meta.edges()).len()));
                stack.extend(self.children(meta));
            }
        }
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
    fn relink(&mut self, cut: usize) {
        let mut stack = vec![self.root];
        while let Some(at) = stack.pop() {
            let meta = self.node(at).meta();
            let new = match meta.state() {
                State::Expanded if self.keeps(at, meta, cut) => {
                    let edges = self.edges(meta.edges());
                    for (i, edge) in edges.iter().enumerate() {
                        if let Some(child) = edge.child() {
                            stack.push(child);
                            edges.rewrite(i, edge.with_child(self.moved(child)));
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
        let visits = (0..5000)
            .chain((12..63).map(|shift| (1 << shift) - 1))
            .chain([u64::MAX]);
        let buckets: Vec<usize> = visits.map(bucket).collect();
        assert!(buckets.is_sorted() && buckets.iter().all(|&b| b < BUCKETS));
    }
}

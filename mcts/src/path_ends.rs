//! Path-dependent ends, such as repetitions, when the root moves.
//!
//! A position that repeats one inside the tree is scored as a draw. Once the first occurrence lies before the
//! root, it belongs to the game, where a draw takes three occurrences. So the draws of the longer path are
//! subtracted from all sums (lc0 reverts its two-fold draws likewise). A position that still is a draw ends the
//! next playout there: the search queries the world at every visit.
//!
//! **Invariant**: after a re-root to another node, no sum at or below the new root contains a playout that
//! ended on its path before. Three rules maintain it, for moves of the root forward, sideways and back:
//!
//! 1. *A node that ends playouts holds nothing else* ([`Tree::end_on_path`]). An unvisited node gets a flag.
//!    Any other node, such as one that an earlier root has expanded, is replaced on its edge by a new flagged
//!    node and becomes garbage. So a path end's visits are the whole sum of a flagged node, and they are in the
//!    sums of all nodes from there up to the root of that search, and in none above.
//! 2. *A re-root subtracts path ends from exactly those sums* ([`Tree::forget_path_ends`]). A root that is left
//!    sideways or back loses those below it. Then the new root loses those below it, and so do the nodes
//!    between the old root (or the former one, where the way to the new root begins) and the new root.
//! 3. *A compaction subtracts the path ends it drops* ([`Tree::forget_dropped_path_ends`]). The others keep
//!    their flagged nodes.
//!
//! The invariant assumes that a world ends the same paths as long as the root stays ([`crate::World::step`]).

use crate::{
    node::{Meta, NodeState, VisitSum},
    tree::{ArenaChunk, Edges, Tree},
};

/// An expanded ancestor of the current node (depth-first stack).
struct Frame<'a> {
    node: u32,
    edges: Edges<'a>,
    /// Next edge to visit.
    next: usize,
    /// Whether path ends among the children are subtracted.
    forgets: bool,
    /// Visits to subtract from the node.
    gone: VisitSum,
}

impl Tree {
    /// The node that counts playouts ending on their path behind the visited edge `at`. None = no room for a
    /// new one. Concurrent workers get the same node.
    pub fn end_on_path(&self, edges: &Edges<'_>, at: usize, chunk: &mut ArenaChunk) -> Option<u32> {
        let edge = edges.get(at);
        let child = edge.child()?;
        if self.node(child).end_on_path() {
            return Some(child);
        }
        let fresh = self.new_child(self.node(child).meta().q_bits(), chunk)?;
        self.node(fresh).end_on_path();
        self.hang(edges, at, edge, fresh, chunk)
    }

    /// Subtracts all playouts that ended on their path below the last node of `path` from it and from the nodes
    /// before it, each the parent of the next. Exclusive access: no worker runs. Reads the expanded nodes with
    /// more than one visit and their children.
    pub fn forget_path_ends(&mut self, path: &[u32]) {
        let Some((&root, above)) = path.split_last() else { return };
        let mut gone = self.forget(root, |_| true);
        for &node in above.iter().rev() {
            gone = gone.flip();
            self.node(node).remove_visits(&gone);
        }
    }

    /// Subtracts the playouts that ended on their path at nodes whose parents lose their edges in the running
    /// compaction (unmarked blocks). Exclusive access.
    pub fn forget_dropped_path_ends(&mut self) {
        self.forget(self.root, |parent| !self.marked(parent.edges()));
    }

    /// Resets the path ends among the children of the nodes at and below `root` whose meta word `forgets`
    /// accepts. Returns the visits subtracted from `root`.
    fn forget(&self, root: u32, forgets: impl Fn(Meta) -> bool) -> VisitSum {
        let enter = |node: u32| {
            let meta = self.node(node).meta();
            (meta.state() == NodeState::Expanded).then(|| Frame {
                node,
                edges: self.edges(meta.edges()),
                next: 0,
                forgets: forgets(meta),
                gone: VisitSum::default(),
            })
        };
        let Some(mut frame) = enter(root) else { return VisitSum::default() };
        let mut above = Vec::new();
        loop {
            if frame.next < frame.edges.len() {
                let edge = frame.edges.get(frame.next);
                frame.next += 1;
                let Some(child) = edge.child() else { continue };
                let node = self.node(child);
                if node.meta().ends_on_path() {
                    if frame.forgets {
                        frame.gone.add(&node.forget_path_ends().flip());
                    }
                // One visit is its own evaluation; a path end below it needs another.
                } else if node.stats().visits > 1
                    && let Some(below) = enter(child)
                {
                    above.push(std::mem::replace(&mut frame, below));
                }
                continue;
            }
            self.node(frame.node).remove_visits(&frame.gone);
            let Some(parent) = above.pop() else { return frame.gone };
            let gone = std::mem::replace(&mut frame, parent).gone;
            frame.gone.add(&gone.flip());
        }
    }
}

//! Ends that hang on the path, such as a repetition, when the root moves.
//!
//! A position that comes a second time inside the tree counts as a draw. Once its first occurrence lies before
//! the root it belongs to the game, where a position must come a third time, and is a draw no more. The draws that
//! playouts have counted there are taken out of all sums (lc0 reverts its two-fold draws likewise). A position that
//! still is a draw ends the next playout that reaches it: the world is asked each time.
//!
//! **The law**: when the root has moved, no sum at or below the new root has a playout that ended on its path
//! before. Three rules keep it, in any order of moves forward, sideways and back:
//!
//! 1. *A node that ends playouts holds nothing else* ([`Tree::end_on_path`]). A node never visited is flagged.
//!    In place of any other, one that an earlier root has expanded, a new flagged node goes on the edge; what hung
//!    there is garbage. So an end's visits can be told from evaluations: they are the whole sum of a flagged node,
//!    and part of the sums between it and the root of its time, but of no sum above that root.
//! 2. *Ends are forgotten before that root changes* ([`Tree::forget_path_ends`]): those below the root that is left,
//!    unless the new one lies below it, and then those below the new one, on the way down to it too. All that is
//!    left in the tree is then in the sums of every node from the former root down.
//! 3. *A compaction forgets the ends it drops* ([`Tree::forget_dropped_path_ends`]).
//!
//! It all rests on one assumption: while the root stays, the world ends the same paths
//! ([`crate::World::step`]).

use crate::{
    node::{Meta, NodeState, VisitSum},
    tree::{ArenaChunk, Edges, Tree},
};

/// An expanded node on the way down to the one being read.
struct Frame<'a> {
    node: u32,
    edges: Edges<'a>,
    /// The next edge to look at.
    next: usize,
    /// Whether the path ends among the children are forgotten.
    forgets: bool,
    /// Visits to take off the node.
    gone: VisitSum,
}

impl Tree {
    /// The node that counts a playout which ended on its path behind the visited edge `at`. None = no room for
    /// a new one. Lock-free: of several workers that come here at once, all get the same node.
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

    /// Forgets all playouts that ended on their path below the last node of `path`, in its sum and in those of
    /// the nodes before it, each of which is the parent of the next. Exclusive access: no worker runs. Its time is
    /// that of reading the expanded nodes with more than one visit and their children.
    pub fn forget_path_ends(&mut self, path: &[u32]) {
        let Some((&root, above)) = path.split_last() else { return };
        let mut gone = self.forget(root, |_| true);
        for &node in above.iter().rev() {
            gone = gone.flip();
            self.node(node).remove_visits(&gone);
        }
    }

    /// Forgets the playouts that ended on their path at nodes whose parents lose their edges in the compaction
    /// under way: unmarked blocks. Exclusive access.
    pub fn forget_dropped_path_ends(&mut self) {
        self.forget(self.root, |parent| !self.marked(parent.edges()));
    }

    /// Forgets the path ends among the children of those nodes below `root` for which `forgets` says so. Returns
    /// the visits that are gone from `root`.
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
                // Its own evaluation is one visit, an end below it another.
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

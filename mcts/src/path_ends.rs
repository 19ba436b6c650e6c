//! Ends that hang on the path, such as a repetition, when the root moves.
//!
//! A position that comes a second time inside the tree counts as a draw. Once its first occurrence lies before
//! the root it belongs to the game, where a position must come a third time, and is a draw no more. The draws that
//! playouts have counted there are taken out of all sums (lc0 reverts its two-fold draws likewise). What still is
//! a draw will say so again on the next visit: the world is asked each time.

use crate::{
    node::{NodeState, VisitSum},
    tree::Tree,
};

/// An expanded node of the tree on the way down.
struct Step {
    node: u32,
    /// Place of its parent among the steps; the root is its own.
    parent: usize,
    /// Visits to be taken off it.
    gone: VisitSum,
}

impl Tree {
    /// Forgets all playouts that ended on their path below the root. Exclusive access: no worker runs. Its time is
    /// that of reading the expanded nodes with more than one visit and their children.
    pub fn forget_path_ends(&mut self) {
        let root = Step { node: self.root, parent: 0, gone: VisitSum::default() };
        let mut steps = vec![root];
        let mut at = 0;
        while let Some(&Step { node, .. }) = steps.get(at) {
            let meta = self.node(node).meta();
            if meta.state() == NodeState::Expanded {
                let mut gone = VisitSum::default();
                for child in self.edges(meta.edges()).iter().filter_map(|edge| edge.child()) {
                    let meta = self.node(child).meta();
                    if meta.ends_on_path() {
                        gone.add_flipped(&self.node(child).forget_path_ends());
                    } else if meta.state() == NodeState::Expanded
                        && self.node(child).stats().visits > 1
                    {
                        let gone = VisitSum::default();
                        steps.push(Step { node: child, parent: at, gone });
                    }
                }
                steps[at].gone = gone;
            }
            at += 1;
        }
        // Children stand behind their parents.
        while let Some(Step { node, parent, gone }) = steps.pop() {
            if gone.visits() > 0 {
                self.node(node).remove_visits(&gone);
                if let Some(parent) = steps.get_mut(parent) {
                    parent.gone.add_flipped(&gone);
                }
            }
        }
    }
}

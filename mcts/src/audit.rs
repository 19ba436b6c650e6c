//! Checks the invariants of a tree at rest. Visits every reachable node, so it is for tests and measurements
//! only.

use crate::{
    node::{Cell, NodeState},
    tree::{Tree, block_cells},
};

/// Statistics of the tree between two runs.
///
/// Invariant of visits: an expanded node has its own evaluation plus its children's visits, `visits = 1 + sum
/// over children`. It has more if it is proven (a proven node ends playouts itself), if a compaction took edges
/// or a block from it, or if a path end replaced a child. It has less only above a root that was left
/// backwards: those visits went no higher than that root.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Audit {
    /// Nodes reachable from the root.
    pub nodes: u64,
    /// Reachable nodes with edges.
    pub expanded: u64,
    /// Nodes whose result is proven.
    pub proven: u64,
    /// Bytes of those nodes and their edges, without garbage.
    pub bytes: u64,
    /// Virtual counts still on nodes: 0 between runs.
    pub in_flight: u64,
    /// Claimed nodes that no worker holds: 0 between runs.
    pub claimed: u64,
    /// Expanded nodes with fewer visits than the invariant: 0 unless the root has moved back.
    pub below_law: u64,
    /// Unproven expanded nodes with more: 0 until a compaction, or until the root has moved back.
    pub above_law: u64,
    /// Largest distance of a node's prior sum from 1 (priors are rounded to 16 bits).
    pub prior_error: f32,
}

impl Audit {
    pub(crate) fn of(tree: &Tree) -> Audit {
        let mut audit = Audit::default();
        let mut cells = 0;
        let mut stack = vec![tree.root];
        while let Some(at) = stack.pop() {
            let (meta, stats) = (tree.node(at).meta(), tree.node(at).stats());
            cells += 1;
            audit.nodes += 1;
            audit.in_flight += stats.in_flight;
            audit.claimed += u64::from(meta.state() == NodeState::Claimed);
            audit.proven += u64::from(meta.proof().is_some());
            if meta.state() != NodeState::Expanded {
                continue;
            }
            let edges = tree.edges(meta.edges());
            cells += block_cells(edges.len());
            audit.expanded += 1;
            let children: Vec<u32> = edges.iter().filter_map(|edge| edge.child()).collect();
            let law =
                1 + children.iter().map(|&child| tree.node(child).stats().visits).sum::<u64>();
            audit.below_law += u64::from(stats.visits < law);
            audit.above_law += u64::from(stats.visits > law && meta.proof().is_none());
            if edges.complete {
                let sum: f32 = edges.iter().map(|edge| edge.prior()).sum();
                audit.prior_error = audit.prior_error.max((sum - 1.0).abs());
            }
            stack.extend(children);
        }
        audit.bytes = cells as u64 * size_of::<Cell>() as u64;
        audit
    }
}

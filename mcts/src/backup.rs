//! Backup: removes virtual counts, adds values to the sums, propagates proofs towards the root. Atomic adds and
//! one compare-exchange loop (a proof), which repeats only when another worker has made progress.

use crate::{
    node::{Fixed, NodeState, Proof, VisitSum},
    params::VirtualCounts,
    puct::virtual_count,
    tree::Tree,
    value::Wdl,
};

/// Virtual counts of a playout on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathCounts {
    /// After the descent: this number on every node except the last, which has none.
    Descended(u32),
    /// A leaf in flight: see [`virtual_count`].
    InFlight(VirtualCounts),
}

impl PathCounts {
    /// The count at `depth` of a path whose leaf is at depth `leaf`.
    fn at(self, depth: usize, leaf: usize) -> u32 {
        match self {
            PathCounts::Descended(count) => u32::from(depth < leaf) * count,
            PathCounts::InFlight(counts) => virtual_count(depth, leaf, counts),
        }
    }
}

/// Raises the counts of a descent to those of a leaf in flight.
pub fn put_in_flight(tree: &Tree, path: &[u32], counts: VirtualCounts) {
    let leaf = path.len() - 1;
    for (depth, &at) in path.iter().enumerate().rev() {
        let more = PathCounts::InFlight(counts).at(depth, leaf)
            - PathCounts::Descended(counts.min).at(depth, leaf);
        // Nodes further up have the minimum count already.
        if more == 0 {
            return;
        }
        tree.node(at).add_virtual(more);
    }
}

/// Removes the counts without a visit.
pub fn undo(tree: &Tree, path: &[u32], counts: PathCounts) {
    for (depth, &at) in path.iter().enumerate() {
        tree.node(at).remove_virtual(counts.at(depth, path.len() - 1));
    }
}

/// Depth below which nodes lie on many paths: the root and its children.
const NEAR: usize = 2;

/// Buffered visits of nodes near the root: a cache line that all workers write is fetched from another core
/// once per minibatch, not once per path.
#[derive(Debug, Default)]
pub struct BackupBuffer {
    sums: Vec<(u32, VisitSum)>,
}

impl BackupBuffer {
    fn add(&mut self, at: u32, value: Fixed, count: u32) {
        let known = self.sums.iter_mut().find(|(node, _)| *node == at);
        if let Some((_, sum)) = known {
            sum.add_visit(value, count);
        } else {
            let mut sum = VisitSum::default();
            sum.add_visit(value, count);
            self.sums.push((at, sum));
        }
    }

    /// Adds the buffered visits to their nodes.
    pub fn flush(&mut self, tree: &Tree) {
        for (at, sum) in self.sums.drain(..) {
            tree.node(at).add_visits(&sum);
        }
    }
}

/// One finished playout.
#[derive(Clone, Copy, Debug)]
pub struct Playout<'a> {
    /// Its nodes, root first.
    pub path: &'a [u32],
    /// Value for the side to move at the path's end.
    pub value: Wdl,
    /// Its virtual counts on the path.
    pub counts: PathCounts,
}

impl Playout<'_> {
    /// Adds the value to every node of the path, flipped at each ply, and removes the virtual counts in the
    /// same add. Visits of nodes near the root go to `buffer`; the path's end gets its visit immediately.
    pub fn back_up(&self, tree: &Tree, buffer: &mut BackupBuffer) {
        let leaf = self.path.len() - 1;
        let mut value = Fixed::new(self.value);
        for (depth, &at) in self.path.iter().enumerate().rev() {
            let count = self.counts.at(depth, leaf);
            if depth < NEAR.min(leaf) {
                buffer.add(at, value, count);
            } else {
                tree.node(at).back_up(value, count);
            }
            value = value.flip();
        }
    }
}

/// Propagates a proof at the end of `path` to the nodes above it, as far as it determines them.
pub fn propagate(tree: &Tree, path: &[u32]) {
    for pair in path.windows(2).rev() {
        let [parent, child] = [pair[0], pair[1]];
        let Some(proof) = tree.node(child).meta().proof() else {
            return;
        };
        let follows = match proof {
            Proof::Loss(plies) => Some(Proof::Win(plies + 1)),
            _ => conclude(tree, parent),
        };
        if !follows.is_some_and(|proof| tree.node(parent).prove(proof)) {
            return;
        }
    }
}

/// The proof implied by all children. Lowest priors first: those are visited last, so the usual result, none,
/// is found immediately. Two workers that prove the last two children at the same instant may each miss the
/// other's; the next visit to either child checks again.
fn conclude(tree: &Tree, at: u32) -> Option<Proof> {
    let meta = tree.node(at).meta();
    if meta.state() != NodeState::Expanded {
        return None;
    }
    let edges = tree.edges(meta.edges());
    let (mut win, mut draw, mut loss) = (None, false, 0);
    for edge in edges.iter().rev() {
        match tree.node(edge.child()?).meta().proof()? {
            Proof::Loss(plies) => win = Some(win.unwrap_or(u32::MAX).min(plies + 1)),
            Proof::Draw => draw = true,
            Proof::Win(plies) => loss = loss.max(plies + 1),
        }
    }
    match win {
        Some(plies) => Some(Proof::Win(plies)),
        None if !edges.complete => None,
        None if draw => Some(Proof::Draw),
        None => Some(Proof::Loss(loss)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        node::Meta,
        tree::{ArenaChunk, MIN_BYTES, RankedEdge, Tree},
    };

    /// A root with `n` visited children.
    fn family(n: u16) -> (Tree, Vec<u32>) {
        let tree = Tree::new(MIN_BYTES);
        let ranked: Vec<_> =
            (0..n).map(|action| RankedEdge { action, prior: 0.1, q: 0.5 }).collect();
        let mut chunk = ArenaChunk::default();
        let block = tree.alloc_edges(&mut chunk, &ranked).unwrap();
        tree.root().publish(Meta::fresh(0).with_edges(block).with_state(NodeState::Expanded));
        let edges = tree.edges(block);
        let children =
            (0..edges.len()).map(|at| tree.visit(&edges, at, &mut chunk).unwrap()).collect();
        (tree, children)
    }

    fn prove(tree: &Tree, child: u32, proof: Proof) {
        tree.node(child)
            .publish(Meta::fresh(0).with_state(NodeState::Terminal).with_proof(Some(proof)));
        propagate(tree, &[tree.root, child]);
    }

    #[test]
    fn one_lost_child_wins_and_a_shorter_one_wins_faster() {
        let (tree, children) = family(3);
        prove(&tree, children[0], Proof::Win(1));
        assert_eq!(tree.root().meta().proof(), None);
        prove(&tree, children[1], Proof::Loss(4));
        assert_eq!(tree.root().meta().proof(), Some(Proof::Win(5)));
        prove(&tree, children[2], Proof::Loss(0));
        assert_eq!(tree.root().meta().proof(), Some(Proof::Win(1)));
    }

    #[test]
    fn all_children_won_is_a_loss_as_late_as_possible() {
        let (tree, children) = family(3);
        for (&child, plies) in children.iter().zip([2, 6, 4]) {
            assert_eq!(tree.root().meta().proof(), None);
            prove(&tree, child, Proof::Win(plies));
        }
        assert_eq!(tree.root().meta().proof(), Some(Proof::Loss(7)));
    }

    #[test]
    fn a_draw_among_losses_is_a_draw() {
        let (tree, children) = family(2);
        prove(&tree, children[0], Proof::Draw);
        prove(&tree, children[1], Proof::Win(0));
        assert_eq!(tree.root().meta().proof(), Some(Proof::Draw));
    }

    #[test]
    fn a_refused_or_unfinished_sibling_proves_nothing() {
        let (tree, children) = family(2);
        tree.node(children[1]).publish(Meta::fresh(0).with_state(NodeState::Refused));
        prove(&tree, children[0], Proof::Win(0));
        assert_eq!(tree.root().meta().proof(), None);
    }

    #[test]
    fn children_without_those_that_were_cut_off_prove_a_win_but_no_loss() {
        let (tree, children) = family(2000);
        assert!(children.len() < 1000, "more than the block of a small tree holds");
        for &child in &children {
            prove(&tree, child, Proof::Win(1));
        }
        assert_eq!(tree.root().meta().proof(), None);
        prove(&tree, children[7], Proof::Loss(2));
        assert_eq!(tree.root().meta().proof(), Some(Proof::Win(3)));
    }

    #[test]
    fn a_proof_goes_up_as_far_as_something_follows() {
        // Four plies of one move each.
        let (tree, mut chunk) = (Tree::new(MIN_BYTES), ArenaChunk::default());
        let mut path = vec![tree.root];
        for _ in 0..4 {
            let at = path[path.len() - 1];
            let ranked = [RankedEdge { action: 0u16, prior: 1.0, q: 0.5 }];
            let block = tree.alloc_edges(&mut chunk, &ranked).unwrap();
            tree.node(at).publish(Meta::fresh(0).with_edges(block).with_state(NodeState::Expanded));
            path.push(tree.visit(&tree.edges(block), 0, &mut chunk).unwrap());
        }
        let mated = Meta::fresh(0).with_state(NodeState::Terminal);
        tree.node(path[4]).publish(mated.with_proof(Some(Proof::Loss(0))));
        propagate(&tree, &path);
        let proofs = path.iter().map(|&at| tree.node(at).meta().proof());
        let up = [Proof::Loss(4), Proof::Win(3), Proof::Loss(2), Proof::Win(1), Proof::Loss(0)];
        assert!(proofs.eq(up.map(Some)));
    }

    #[test]
    fn values_flip_on_the_way_up_and_virtual_counts_come_off() {
        let (tree, children) = family(1);
        let path = [tree.root, children[0]];
        tree.root().add_virtual(2);
        let counts = VirtualCounts { min: 2, max: 8 };
        put_in_flight(&tree, &path, counts);
        assert_eq!(
            (tree.root().stats().in_flight, tree.node(children[0]).stats().in_flight),
            (4, 8)
        );
        let mut buffer = BackupBuffer::default();
        let counts = PathCounts::InFlight(counts);
        Playout { path: &path, value: Wdl::WIN, counts }.back_up(&tree, &mut buffer);
        assert_eq!(tree.node(children[0]).stats().mean(), Some(Wdl::WIN));
        buffer.flush(&tree);
        assert_eq!(tree.root().stats().mean(), Some(Wdl::LOSS));
        assert_eq!(tree.node(children[0]).stats().mean(), Some(Wdl::WIN));
        assert!(path.iter().all(|&at| tree.node(at).stats().in_flight == 0));
        tree.root().add_virtual(2);
        undo(&tree, &path, PathCounts::Descended(2));
        assert!(path.iter().all(|&at| tree.node(at).stats().in_flight == 0));
    }

    #[test]
    fn a_path_in_flight_has_the_counts_of_the_paper_however_deep() {
        let (tree, children) = family(9);
        let counts = VirtualCounts { min: 2, max: 32 };
        for leaf in 1..9 {
            let path = [&[tree.root], &children[..leaf]].concat();
            for &at in &path[..leaf] {
                tree.node(at).add_virtual(2);
            }
            put_in_flight(&tree, &path, counts);
            for (depth, &at) in path.iter().enumerate() {
                let count = u64::from(virtual_count(depth, leaf, counts));
                assert_eq!(tree.node(at).stats().in_flight, count, "{depth} of {leaf}");
            }
            undo(&tree, &path, PathCounts::InFlight(counts));
        }
    }
}

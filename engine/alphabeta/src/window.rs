//! Depth and bounds of a node.

use super::table::TtEntry;

#[derive(Clone, Copy)]
pub(super) struct Window {
    pub depth: i32,
    pub alpha: i32,
    pub beta: i32,
    pub ply: usize,
    /// A beta cutoff is expected.
    pub cut_node: bool,
    /// The window is open: an exact score is needed.
    pub pv: bool,
}

impl Window {
    /// Whether the table's entry cuts this node off.
    pub fn allows_cutoff(&self, entry: &TtEntry) -> bool {
        let Window { depth, alpha, beta, cut_node, pv, .. } = *self;
        let high = entry.score >= beta;
        !pv && entry.decides(alpha, beta)
            && entry.depth > depth - i32::from(entry.score <= beta)
            && (cut_node == high || depth > 4)
    }
}

//! What is asked of a position.

use super::table::Known;

/// How a position is searched.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub depth: i32,
    pub alpha: i32,
    pub beta: i32,
    pub ply: usize,
    /// Beta is likely to be reached.
    pub fails: bool,
    /// More than whether the score reaches beta is asked.
    pub pv: bool,
}

impl Window {
    /// Whether what is known is all that is asked.
    pub fn is_answered_by(&self, known: &Known) -> bool {
        let Window { depth, alpha, beta, fails, pv, .. } = *self;
        let high = known.score >= beta;
        !pv && known.decides(alpha, beta)
            && known.depth > depth - i32::from(known.score <= beta)
            && (fails == high || depth > 4)
    }
}

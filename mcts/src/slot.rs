//! One descent: its path, the state at its end, and the virtual counts of its leaf while that is in flight.

use crate::params::VirtualCounts;

/// A descent and its leaf in flight, reused to avoid allocation.
pub struct Slot<S> {
    /// The nodes passed, root first, the end included.
    pub path: Vec<u32>,
    /// The state at the path's end.
    pub state: S,
    /// The virtual counts of the leaf in flight.
    pub counts: VirtualCounts,
}

impl<S> Slot<S> {
    /// The node at the path's end.
    pub fn end(&self) -> u32 {
        self.path[self.path.len() - 1]
    }
}

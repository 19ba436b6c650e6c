//! Players beside the tree search, and how any of them plays weaker or by lot.

pub(crate) mod classic;
pub mod head_player;
pub mod player;
mod steadiness;
pub(crate) mod strength;
pub(crate) mod temperature;
pub(crate) mod thinker;

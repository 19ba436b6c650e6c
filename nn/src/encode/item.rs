//! What the network is asked: a position and moves of it, both encoded. CPU kernels and burn module read the
//! same.

use super::board::Features;
use super::moves::MoveCode;

/// One position and the moves whose policy and action values are wanted.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    pub features: &'a Features,
    pub moves: &'a [MoveCode],
}

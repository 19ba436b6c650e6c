//! One example's place in a pass: the inputs of every loss, and the gradients it writes.

use crate::data::Example;
use nn::cpu::{Activations, HeadGradients};
use nn::net::Layout;
use std::ops::Range;

/// Position `p` of a pass, whose moves have indices `moves` in it.
pub(super) struct PositionMoves<'a> {
    pub example: &'a Example,
    pub layout: &'a Layout,
    pub p: usize,
    pub moves: Range<usize>,
    pub activations: &'a Activations,
    pub grads: &'a mut HeadGradients,
}

//! The network's input: a position and moves of it, both encoded; shared by the CPU kernels and the burn
//! module.

use super::board::Features;
use super::moves::MoveCode;
use shakmaty::{Chess, Move, Position};

/// One position and the moves whose policy and action values are requested.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    /// The position.
    pub features: &'a Features,
    /// Its moves, in the frame of the position's mover.
    pub moves: &'a [MoveCode],
}

/// An owned [`Item`]: a position encoded once, for lookup, storage or a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The position.
    pub features: Features,
    /// Its moves, in the frame of the position's mover.
    pub moves: Vec<MoveCode>,
}

impl Encoded {
    /// A position and its moves, in the order of `legal`.
    #[must_use]
    pub fn new(position: &Chess, legal: &[Move]) -> Encoded {
        let flip = position.turn().is_black();
        let moves = legal.iter().filter_map(|m| MoveCode::new(*m, flip)).collect();
        Encoded { features: Features::of(position), moves }
    }

    /// The borrowed form.
    #[must_use]
    pub fn item(&self) -> Item<'_> {
        Item { features: &self.features, moves: &self.moves }
    }
}

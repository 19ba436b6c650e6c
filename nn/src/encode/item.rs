//! What the network is asked: a position and moves of it, both encoded. CPU kernels and burn module read the
//! same.

use super::board::Features;
use super::moves::MoveCode;
use shakmaty::{Chess, Move, Position};

/// One position and the moves whose policy and action values are wanted.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    /// The position.
    pub features: &'a Features,
    /// Its moves, in the frame of the position's mover.
    pub moves: &'a [MoveCode],
}

/// An [`Item`] that owns its parts: a position encoded once, to be looked up, kept or sent to a device.
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

    /// The borrowed form that the network reads.
    #[must_use]
    pub fn item(&self) -> Item<'_> {
        Item { features: &self.features, moves: &self.moves }
    }
}

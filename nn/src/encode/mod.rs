//! Positions and moves as the network's input: always from the side to move (ranks are flipped for Black, files
//! never, so that Chess960 castling keeps its files).

pub(crate) mod board;
pub(crate) mod decode;
pub(crate) mod item;
pub mod moves;
pub(crate) mod relations;

pub(crate) use board::Features;
pub use board::NextBoard;
pub(crate) use decode::DecodeError;
pub(crate) use item::{Encoded, Item};
pub use moves::{MoveCode, canonical_moves};

//! Positions and moves as the network's input: always from the side to move (ranks are flipped for Black, files
//! never, so that Chess960 castling keeps its files).

pub mod board;
pub(crate) mod decode;
pub(crate) mod item;
pub mod moves;
pub(crate) mod relations;
mod terminal;

pub use board::{Features, NextBoard};
pub(crate) use decode::DecodeError;
pub use item::{Encoded, Item};
pub use moves::{MoveCode, canonical_moves};
pub use terminal::{Terminal, terminal};

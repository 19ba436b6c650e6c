//! Positions and moves as the network sees them: always from the side to move (ranks are flipped
//! when Black moves, files never are, so that Chess960 castling keeps its files).

pub mod board;
pub mod decode;
pub mod item;
pub mod moves;
pub mod relations;

pub use board::{ACTION_FLAG_BITS, Features, NextBoard};
pub use decode::DecodeError;
pub use item::{Encoded, Item};
pub use moves::{MoveCode, canonical_moves};

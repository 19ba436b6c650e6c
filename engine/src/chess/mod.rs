//! The rules of chess as every other room needs them: moves of two bytes, games with their endings, counts of
//! the move tree.
//! Rules and notation only: no search, no network's opinion, no protocol.

pub mod action;
pub mod ending;
pub mod epd;
pub mod game;
pub mod mate;
pub mod perft;

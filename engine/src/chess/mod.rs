//! Rules and notation of chess: two-byte moves, games with endings, perft, mate search. No search tree, network or
//! protocol.

pub mod action;
pub mod ending;
pub mod epd;
pub mod game;
pub mod mate;
pub mod perft;

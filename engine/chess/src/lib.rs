//! Rules and notation of chess, by the crate `shakmaty`. No search tree, network or protocol; no other crate of ours.
//!
//! | file | about |
//! |---|---|
//! | [`action`] | moves of two bytes |
//! | [`ending`], [`game`] | endings and repetition; games |
//! | [`composed`], [`epd`] | positions that no game reaches; EPD lines |
//! | [`mate`], [`perft`] | the shortest mate; counts of the move tree |
//! | [`syzygy`] | endgame tables |
//! | [`quote`] | given texts in messages |
//!
//! Small functions that searches call at every node are `#[inline]`: they are called from other crates.

#![forbid(unsafe_code)]

pub mod action;
pub mod composed;
pub mod ending;
pub mod epd;
pub mod game;
pub mod mate;
pub mod perft;
pub mod quote;
pub mod syzygy;

//! A game of chess against the engine in a terminal: lines in, lines out, so that it works in a pipe as well. No cursor is
//! moved: a board is 19 columns wide and 9 lines high, and fits a terminal of any size.
//!
//! | file | what is in it |
//! |---|---|
//! | [`picture`] | the board as text |
//! | [`time_control`] | both players' clocks |
//! | [`record`] | the game with its tags, saved and read as PGN |
//! | [`opponent`] | the [`crate::Engine`] of the GUIs, asked for a move |
//! | [`session`] | the commands of a player |

pub mod opponent;
pub mod picture;
pub mod record;
pub mod session;
pub mod time_control;

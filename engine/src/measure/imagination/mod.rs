//! The world as the network imagines it. [`show`] puts a line of moves on the board, the imagined one beside
//! the true one; [`survey`] counts the same over many lines and searches, ply by ply.

mod counts;
mod game_probe;
mod plot;
mod search_probe;
pub mod show;
pub mod survey;

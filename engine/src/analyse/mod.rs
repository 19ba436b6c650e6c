//! `mavka analyse`: searches whole games position by position and writes an annotated PGN and an HTML page.
//!
//! Bottom-up: [`crate::pgn`] reads the games of a [`collection`], batch by batch. [`found`] is the result for one
//! position, [`journal`] stores it; [`judge`] rates a move, [`accuracy`] a side. [`review`] combines them for one game,
//! which [`phases`] divides; [`annotate`] writes PGN, [`html`] a page ([`moments`] selects turning points, which [`cards`] show,
//! [`sees`] has the network's view, [`sides`] compares the players, [`openings`] names the opening, [`replay`] fills the board to
//! click through with the game and its [`lines`], [`move_table`] has all moves, [`curve`], [`clocks`] and [`crate::markup`] draw). [`passes`] searches the positions in parallel at a [`cost`] known before. [`mod@run`]
//! processes one batch after the other; its outputs are [`growing`]. [`player`] sums up one player's games.
//!
//! The search is [`crate::play::analyst`]; UCI is not involved.

pub mod accuracy;
pub mod annotate;
pub mod cards;
pub mod clocks;
pub mod collection;
pub mod cost;
pub mod curve;
pub mod error;
pub mod found;
pub mod growing;
pub mod html;
pub mod journal;
pub mod judge;
pub mod lines;
pub mod moments;
pub mod move_table;
pub mod openings;
pub mod passes;
pub mod phases;
pub mod player;
pub mod replay;
pub mod review;
pub mod run;
pub mod sees;
pub mod sides;
#[cfg(test)]
mod tests;
pub mod words;

pub use collection::Batches;
pub use run::{AnalysisTask, run};

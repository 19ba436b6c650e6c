//! `mavka analyse`: whole games, searched position by position, given back as an annotated PGN and as a page
//! to look at.
//!
//! From the ground up: [`game`] is a game as its file tells it, [`mod@split`] and [`mod@read`] make it from text.
//! [`found`] is what search and network say of one position, [`journal`] keeps it, [`judge`] weighs a move,
//! [`accuracy`] a side. [`review`] is a game with all that; [`annotate`] writes it as PGN, [`html`] as a page
//! ([`moments`] picks the turning points, [`sees`] tells what the network alone sees there, [`curve`] and
//! [`crate::markup`] draw). [`mod@run`] is the way through a
//! collection.
//!
//! The search is [`crate::play::analyst`]'s; the protocol has no part in this.

pub mod accuracy;
pub mod annotate;
pub mod curve;
pub mod found;
pub mod game;
pub mod html;
pub mod journal;
pub mod judge;
pub mod moments;
pub mod read;
pub mod review;
pub mod run;
pub mod sees;
pub mod split;
#[cfg(test)]
mod tests;
pub mod words;

pub use run::{Collection, Task, run};

//! `mavka analyse`: searches whole games position by position and writes an annotated PGN and an HTML page.
//!
//! Bottom-up: [`crate::pgn`] reads games. [`found`] is the result for one
//! position, [`journal`] stores it; [`judge`] rates a move, [`accuracy`] a side. [`review`] combines them for one
//! game; [`annotate`] writes PGN, [`html`] a page ([`moments`] selects turning points, [`sees`] shows the network's
//! view, [`curve`] and [`crate::markup`] draw). [`mod@run`] processes a collection.
//!
//! The search is [`crate::play::analyst`]; UCI is not involved.

pub mod accuracy;
pub mod annotate;
pub mod curve;
pub mod found;
pub mod html;
pub mod journal;
pub mod judge;
pub mod moments;
pub mod review;
pub mod run;
pub mod sees;
#[cfg(test)]
mod tests;
pub mod words;

pub use run::{AnalysisTask, Collection, run};

//! What the network sees in one position: [`look`] asks every head, [`draw`] makes a picture of the answers, [`table`] a
//! table of the moves.

pub mod draw;
pub mod look;
pub mod table;

//! What the network sees in one position: [`look`] asks every head, [`draw`] makes a picture of the answers, [`table`] a
//! table of the moves. [`imagine`] shows the boards that it imagines along a line.

pub mod draw;
pub mod imagine;
pub mod look;
pub mod table;

//! *What the network sees* in one position: [`look`] asks every head, [`draw`] makes a picture of the answers.

pub mod draw;
pub mod look;

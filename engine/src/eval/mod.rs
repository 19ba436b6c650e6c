//! The network's output for one position: [`look`] evaluates every head, [`draw`] draws the result, [`table`] prints
//! the moves. [`imagine`] shows predicted boards along a line, [`team`] what the players of a team find.

pub mod draw;
pub mod imagine;
pub mod look;
pub mod table;
pub mod team;

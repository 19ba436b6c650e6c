//! Tuning of the search by strength per simulation, in minutes instead of days of games: [`trial`] lets settings choose
//! moves of labelled positions ([`crate::labels`]), [`compare`] compares the choices, and [`spsa`] optimises settings;
//! [`tuning`] is a complete run.
//!
//! Positions have no history here and trees are not reused between moves; results are confirmed by games.

pub mod compare;
pub mod spsa;
pub mod trial;
pub mod tuning;

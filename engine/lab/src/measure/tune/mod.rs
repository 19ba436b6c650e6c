//! Tuning of the search by strength per simulation, in minutes instead of days of games. [`label`] evaluates a
//! position's moves with a strong engine, [`labelling`] does so for many held-out positions, [`labels`] is the file
//! format; [`trial`] lets settings choose moves, [`compare`] compares the choices, and [`spsa`] optimises settings;
//! [`tuning`] is a complete run.
//!
//! Positions have no history here and trees are not reused between moves; results are confirmed by games.

pub mod compare;
pub mod label;
pub mod labelling;
pub mod labels;
pub mod spsa;
pub mod trial;
pub mod tuning;

//! Tuning of the search: what a setting is worth in strength per simulation, in minutes instead of days of
//! games. [`label`] has a strong engine value the moves of a position, [`labelling`] of many that are held
//! out, [`labels`] keeps that in a file, [`trial`] lets settings choose moves in them, [`compare`] shows what the choices
//! give away, and [`spsa`] looks for better settings; [`tuning`] is one run of it all.
//!
//! Positions have no past here and trees do not grow from move to move; what wins is confirmed by games.

pub mod compare;
pub mod label;
pub mod labelling;
pub mod labels;
pub mod spsa;
pub mod trial;
pub mod tuning;

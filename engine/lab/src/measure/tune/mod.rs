//! Tuning of the search: what a setting is worth in strength per simulation, in minutes instead of days of
//! games. [`label`] has a strong engine value the moves of a position, [`labelling`] of many that are held
//! out, [`labels`] keeps that in a file, [`forks`] are such positions of another making, [`positions`] reads either, [`trial`] lets settings choose moves in them, [`compare`] tells what the choices are worth, and
//! [`spsa`] looks for better settings; [`tuning`] is one run of it all.
//!
//! Positions have no past here and trees do not grow from move to move; what wins is confirmed by games.

pub mod compare;
pub mod forks;
pub mod label;
pub mod labelling;
pub mod labels;
pub mod positions;
pub mod spsa;
pub mod trial;
pub mod tuning;

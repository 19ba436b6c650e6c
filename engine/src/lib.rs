//! The engine crate.
pub mod command;
pub mod league;
pub mod random;

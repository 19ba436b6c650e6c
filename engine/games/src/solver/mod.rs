//! Solvers: exact results by one alpha-beta search.

pub mod alphabeta;
mod connect4;
pub mod hex;
mod table;

pub use alphabeta::{LimitReached, Solvable, Solver};

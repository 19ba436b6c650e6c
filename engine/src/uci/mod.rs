//! The engine's side of the protocol: the loop that reads lines. The lines themselves are parsed and printed by the crate
//! `uci`.

pub mod run;

//! The engine's side of the protocol: the loop that reads lines, the one writer, and the options table.
//! The lines themselves are parsed and printed by the crate `uci`.

pub mod options;
pub mod output;
pub mod run;

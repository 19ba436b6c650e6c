//! What measures: move counts, speeds, signatures, puzzles, the network's accuracy and imagination, the
//! stream of training data. Each file returns or prints figures; none of them plays for a GUI.

pub mod accuracy;
pub mod bench;
mod chart;
pub mod data;
pub mod eval;
pub mod evalbench;
pub mod imagination;
pub mod loss_curve;
pub mod perft;
pub mod puzzles;
pub mod treebench;

/// Prints a line; a reader that went away is a reason to end, not to panic.
pub(crate) fn say(line: impl std::fmt::Display) -> Result<(), String> {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}").map_err(|why| why.to_string())
}

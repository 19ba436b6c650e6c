//! `mavka options`: the option table for the README, from the table the engine itself reads.

use crate::measure::say;
use crate::uci::options::markdown;

/// Prints the table.
///
/// # Errors
/// Standard output is closed.
pub fn run() -> Result<(), String> {
    say(markdown().trim_end())
}

//! `mavka options`: the option table for the README, from the table the engine itself reads.

use super::{Failure, Sink};
use crate::uci::options::markdown;

/// Prints the table.
///
/// # Errors
/// Standard output is closed.
pub fn run() -> Result<(), Failure> {
    let mut out = Sink::default();
    out.say(markdown().trim_end());
    out.end()
}

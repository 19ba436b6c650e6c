//! `mavka uci`: the engine on standard input and output.

use super::Failure;
use std::io::{BufReader, stdin, stdout};

/// Runs until `quit` or the end of the input.
///
/// # Errors
/// None so far; the signature is that of all subcommands.
pub fn run() -> Result<(), Failure> {
    crate::run(BufReader::new(stdin()), stdout());
    Ok(())
}

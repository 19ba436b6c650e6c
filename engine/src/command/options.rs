//! `mavka options`: the option table for the user's guide, from the table the engine itself reads.

use super::output::{Failure, StdoutSink};
use crate::options::{Shown, markdown};
use clap::Args;

/// Arguments of `mavka options`.
#[derive(Args)]
pub struct Options {
    /// Include hidden options
    #[arg(long, help = "Also the hidden options, which are not announced to GUIs")]
    all: bool,
}

impl Options {
    /// Prints the table.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let shown = if self.all { Shown::All } else { Shown::Everyday };
        let mut out = StdoutSink::default();
        out.say(markdown(shown).trim_end());
        out.end()
    }
}

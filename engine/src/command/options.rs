//! `mavka options`: the option table for the user's guide, from the table the engine itself reads.

use super::output::{Failure, Sink};
use crate::options::{Shown, markdown};
use clap::Args;

/// Arguments of `mavka options`.
#[derive(Args)]
pub struct Options {
    /// Include hidden options
    #[arg(long, help = "The constants of the search as well, which GUIs are not told")]
    all: bool,
}

impl Options {
    /// Prints the table.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let shown = if self.all { Shown::All } else { Shown::Everyday };
        let mut out = Sink::default();
        out.say(markdown(shown).trim_end());
        out.end()
    }
}

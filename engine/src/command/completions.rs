//! `mavka completions`: what a shell needs to complete this command line.

use super::output::{Failure, StdoutSink};
use clap::Args;
use clap_complete::{Shell, generate};

/// Arguments of `mavka completions`.
#[derive(Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the completions of `command`.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn run(self, mut command: clap::Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        generate(self.shell, &mut command, "mavka", &mut script);
        let mut out = StdoutSink::default();
        out.say(String::from_utf8_lossy(&script).trim_end());
        out.end()
    }
}

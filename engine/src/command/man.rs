//! `mavka man`: the manual pages of this command line.

use super::output::{Failure, Sink};
use crate::errors::FileError;
use clap::Args;
use clap_mangen::{Man, generate_to};
use std::fs::create_dir_all;
use std::path::PathBuf;

/// Arguments of `mavka man`.
#[derive(Args)]
pub struct Manual {
    /// Write the pages of all commands into this folder, instead of printing the first
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
}

impl Manual {
    /// Prints the page of `command`, or writes those of its subcommands too.
    ///
    /// # Errors
    /// The folder cannot be written, or standard output is closed.
    pub fn run(self, command: clap::Command) -> Result<(), Failure> {
        let mut out = Sink::default();
        match &self.out {
            Some(folder) => {
                create_dir_all(folder).map_err(FileError::of(folder))?;
                generate_to(command, folder).map_err(FileError::of(folder))?;
                out.say(format_args!("the pages are in {}", folder.display()));
            }
            None => {
                let mut page = Vec::new();
                Man::new(command).render(&mut page)?;
                out.say(String::from_utf8_lossy(&page).trim_end());
            }
        }
        out.end()
    }
}

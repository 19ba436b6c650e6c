//! `mavka man`: the manual pages of this command line.

use super::output::{Failure, StdoutSink};
use crate::process::errors::FileError;
use crate::process::files::{make_folder, write_whole};
use clap::Args;
use clap_mangen::Man;
use nn::files::read_regular;
use std::io;
use std::path::{Path, PathBuf};

/// Marks the pages of this program, since its first version.
const TITLE: &[u8] = b".TH mavka";
/// Maximum size of a page.
const MAX_BYTES: u64 = 1 << 20;

/// Arguments of `mavka man`.
#[derive(Args)]
pub struct Manual {
    /// Write the pages of all commands into this folder, instead of printing the first
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
}

/// A page with its file name.
type ManualPage = (String, Vec<u8>);

impl Manual {
    /// Prints the page of `command`, or writes those of its subcommands too.
    ///
    /// # Errors
    /// The folder cannot be written or holds another file in place of a page, or standard output is closed.
    pub fn run(self, command: clap::Command) -> Result<(), Failure> {
        let mut out = StdoutSink::default();
        match &self.out {
            Some(folder) => {
                let mut all = Vec::new();
                pages(command.disable_help_subcommand(true), &mut all)?;
                make_folder(folder).map_err(FileError::of(folder))?;
                all.iter().try_for_each(|(name, _)| check(&folder.join(name)))?;
                for (name, page) in &all {
                    let path = folder.join(name);
                    write_whole(&path, page).map_err(FileError::of(&path))?;
                }
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

/// Pages of a command and its subcommands.
fn pages(mut command: clap::Command, all: &mut Vec<ManualPage>) -> io::Result<()> {
    // Prefixes the subcommands' names with their command's.
    command.build();
    for subcommand in command.get_subcommands().filter(|found| !found.is_hide_set()) {
        pages(subcommand.clone(), all)?;
    }
    let man = Man::new(command);
    let mut page = Vec::new();
    man.render(&mut page)?;
    all.push((man.get_filename(), page));
    Ok(())
}

/// Refuses to replace a file that is not one of our pages.
fn check(path: &Path) -> Result<(), Failure> {
    match read_regular(path, MAX_BYTES) {
        Ok(page) if page.windows(TITLE.len()).any(|word| word == TITLE) => Ok(()),
        Ok(_) => {
            let path = path.display();
            Err(format!("{path} is no page of this manual; move it away, or choose another --out")
                .into())
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(why) => Err(FileError::of(path)(why).into()),
    }
}

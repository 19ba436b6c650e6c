//! Output of commands: lines to standard output, and one error at the end.

use crate::process::stderr_log::write_stderr;
use crate::process::streams;
use chess::quote::printable;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Error of a command, for the user.
pub type Failure = Box<dyn Error>;

/// Standard output for a measurement that reports line by line: the first write error is stored, and the measurement
/// continues.
pub struct StdoutSink {
    out: Box<dyn Write + Send>,
    failed: Option<io::Error>,
}

impl Default for StdoutSink {
    fn default() -> StdoutSink {
        StdoutSink { out: streams::output(), failed: None }
    }
}

impl StdoutSink {
    /// Writes one line, as [`printable`] text: names in it may be of others.
    pub fn say(&mut self, line: impl Display) {
        if self.failed.is_none() {
            let text = format!("{line}\n");
            self.failed = self.out.write_all(printable(&text).as_bytes()).err();
        }
    }

    /// The first write error. A closed pipe, as by `head`, is not one.
    pub fn end(self) -> Result<(), Failure> {
        written(self.failed.map_or(Ok(()), Err))
    }
}

/// The end of a command that writes. A reader that has closed its end has seen enough.
pub fn written(done: io::Result<()>) -> Result<(), Failure> {
    match done {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(why.into()),
        _ => Ok(()),
    }
}

/// Exit status. Prints a failure to standard error.
pub fn ended(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            write_stderr(format_args!("{}: {why}", program()));
            ExitCode::FAILURE
        }
    }
}

/// File name that this process was started by.
fn program() -> String {
    let path = std::env::args_os().next().map(PathBuf::from);
    let stem = path.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy());
    stem.map_or_else(|| "mavka".to_owned(), |stem| stem.into_owned())
}

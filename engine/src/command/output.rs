//! How a command speaks: lines to standard output, and one error at the end.

use crate::streams;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};

/// Why a command ends without success, for whoever typed it.
pub type Failure = Box<dyn Error>;

/// Standard output for a measurement that reports line by line: the first line that cannot be written is
/// kept, and the measurement goes on.
pub(super) struct Sink {
    out: Box<dyn Write + Send>,
    failed: Option<io::Error>,
}

impl Default for Sink {
    fn default() -> Sink {
        Sink { out: streams::output(), failed: None }
    }
}

impl Sink {
    /// Writes one line.
    pub(super) fn say(&mut self, line: impl Display) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(format!("{line}\n").as_bytes()).err();
        }
    }

    /// The first failure, if there was one. A reader that has seen enough, as `head` has, is none.
    pub(super) fn end(self) -> Result<(), Failure> {
        let failed = self.failed.filter(|why| why.kind() != io::ErrorKind::BrokenPipe);
        failed.map_or(Ok(()), |why| Err(why.into()))
    }
}

//! Where log messages go: to standard error, since standard output belongs to UCI. `MAVKA_LOG` sets the
//! level (off, error, warn, info, debug, trace); warnings and errors are shown without it. Ten lines that a logging
//! crate would not shorten: its own filters and formats would have to be switched off.

use chess::quote::printable;
use log::{LevelFilter, Log, Metadata, Record};
use std::fmt::Display;
use std::io::Write;

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            write_stderr(format_args!("{} {}: {}", record.level(), record.target(), record.args()));
        }
    }

    fn flush(&self) {}
}

/// Writes a line to standard error, as [`printable`] text: names in it may be of others. A closed or full one is ignored, where
/// `eprintln!` would end the process.
pub fn write_stderr(line: impl Display) {
    // One write, so that lines of several threads do not mix.
    let text = format!("{line}\n");
    let _ = std::io::stderr().write_all(printable(&text).as_bytes());
}

/// Starts logging. A second call changes nothing but the level.
pub fn start() {
    let wanted = std::env::var("MAVKA_LOG").ok();
    let level = wanted.and_then(|level| level.parse().ok()).unwrap_or(LevelFilter::Warn);
    // The only failure is a logger that is there already.
    let _ = log::set_logger(&Stderr);
    log::set_max_level(level);
}

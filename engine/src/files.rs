//! Files that a kill must not spoil: texts written whole or not at all, and journals of one JSON value a line.

use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file whole or not at all: a reader sees the old one or the new one.
///
/// # Errors
/// The system's.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    fs::write(&part, text).and_then(|()| fs::rename(&part, path))
}

/// Adds a line to a journal. One call of `write`, so that a kill leaves whole lines but the last.
///
/// # Errors
/// The system's.
pub fn append_line(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    file.write_all(line.as_bytes())
}

/// Whether a text without a whole line can be a journal whose first line, which begins as `beginning`, was cut
/// short. Anything else is somebody's file.
#[must_use]
pub fn is_cut_journal(text: &str, beginning: &str) -> bool {
    beginning.starts_with(text.get(..beginning.len()).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_journal_is_a_cut_one() {
        for text in ["", "{", "{\"j\":", "{\"j\":1,\"na"] {
            assert!(is_cut_journal(text, "{\"j\":"), "{text}");
        }
        for text in ["1. e4", "{}", "{\"k\":1", "{\"é"] {
            assert!(!is_cut_journal(text, "{\"j\":"), "{text}");
        }
    }
}

//! Files that a kill must not spoil: texts written whole or not at all, and journals of one JSON value a line.
//! Fields of CSV files.

pub use nn::files::write_whole;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};

/// Adds a line to a journal. One call of `write`, so that a kill leaves whole lines but the last.
///
/// # Errors
/// The system's.
pub fn append_line(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    file.write_all(line.as_bytes())
}

/// A text as one field of a CSV: in quotes, its own doubled (RFC 4180, section 2).
#[must_use]
pub fn csv_field(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
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

//! Strings from outside as part of a line. A line break inside a string would be read as a new line, so every
//! string printed by this crate goes through here.

use std::fmt::{self, Write as _};

/// Spelling of an empty string where the protocol needs a word.
pub(crate) const EMPTY: &str = "<empty>";

/// A string from outside, sanitised for one line.
pub(crate) struct OneLine<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.trim().chars() {
            let breaks = c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
            f.write_char(if breaks { ' ' } else { c })?;
        }
        Ok(())
    }
}

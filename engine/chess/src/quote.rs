//! Given texts in messages: cut, and without the control characters that a terminal obeys.

use std::borrow::Cow;
use std::path::Path;

/// Longest part of a given text that a message repeats, in characters: any FEN fits.
const QUOTED: usize = 100;
/// The same for paths.
const QUOTED_PATH: usize = 400;

/// A given text for a message, cut to its first characters.
#[must_use]
pub fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// A text for a terminal, which obeys control characters: `\u{1b}` and its like are spelled out, line ends and tabs stay.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(obeyed) {
        return text.into();
    }
    let spelled = |c: char| match obeyed(c) {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(spelled).collect::<String>().into()
}

/// A given text between backquotes, cut to its first characters.
#[must_use]
pub fn quote(text: &str) -> String {
    format!("`{}`", printable(&shorten(text, QUOTED)))
}

/// A path between backquotes, cut to its first characters.
#[must_use]
pub fn quote_path(path: &Path) -> String {
    format!("`{}`", shorten(&path.to_string_lossy(), QUOTED_PATH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        assert_eq!(printable("K\u{f6}nig\t1\n2"), "K\u{f6}nig\t1\n2");
        assert_eq!(printable("\u{1b}]0;x\u{7}\r\u{9b}31m"), "\\u{1b}]0;x\\u{7}\\r\\u{9b}31m");
        assert_eq!(quote("\u{1b}[2J"), "`\\u{1b}[2J`");
    }

    #[test]
    fn long_texts_are_cut_between_letters() {
        assert_eq!(quote("é"), "`é`");
        assert_eq!(quote(&"é".repeat(QUOTED)), format!("`{}`", "é".repeat(QUOTED)));
        let long = "é".repeat(1 << 20);
        assert_eq!(quote(&long), format!("`{}…`", "é".repeat(QUOTED)));
        assert_eq!(quote_path(Path::new(&long)), format!("`{}…`", "é".repeat(QUOTED_PATH)));
    }
}

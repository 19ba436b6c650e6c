//! The common part of errors: those about a file name it, and some only wrap others.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A fault of a file, or an obstacle to it.
#[derive(Debug)]
pub struct FileError<E = io::Error> {
    path: PathBuf,
    why: E,
}

impl<E> FileError<E> {
    /// Names this file in an error.
    pub fn of(path: &Path) -> impl Fn(E) -> FileError<E> + use<E> {
        let path = path.to_owned();
        move |why| FileError { path: path.clone(), why }
    }
}

impl<E: fmt::Display> fmt::Display for FileError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl<E: Error> Error for FileError<E> {}

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

/// `From` for every error that `$error` wraps: `wraps! { MeasureError: Game(GameError), Data(DataError) }`.
#[macro_export]
macro_rules! wraps {
    ($error:ident: $($variant:ident($wrapped:ty)),+ $(,)?) => {$(
        impl From<$wrapped> for $error {
            fn from(why: $wrapped) -> $error {
                $error::$variant(why)
            }
        }
    )+};
}
pub use wraps;

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

//! Tags of a PGN game.

/// A tag pair without line end (PGN standard, section 8.1.1). A value is one line of printing characters, so line ends
/// become blanks; a final backslash is dropped, because some readers treat it as escaping the quote.
#[must_use]
pub fn tag_pair(name: &str, value: &str) -> String {
    let value = value.replace(char::is_control, " ");
    let value = value.trim_end_matches('\\').replace('\\', "\\\\").replace('"', "\\\"");
    format!("[{name} \"{value}\"]")
}

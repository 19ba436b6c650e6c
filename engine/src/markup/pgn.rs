//! Tags of a PGN game.

/// A line of a game's head, without its end (PGN standard, section 8.1.1). A value is one line of printing characters,
/// so line ends in it become blanks; a backslash at its end is left out, for some readers take it and the quote for one.
#[must_use]
pub fn tag_pair(name: &str, value: &str) -> String {
    let value = value.replace(char::is_control, " ");
    let value = value.trim_end_matches('\\').replace('\\', "\\\\").replace('"', "\\\"");
    format!("[{name} \"{value}\"]")
}

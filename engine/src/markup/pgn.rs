//! Tags of a PGN game.

/// A line of a game's head, without its end (PGN standard, section 8.1.1).
#[must_use]
pub fn tag_pair(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("[{name} \"{value}\"]")
}

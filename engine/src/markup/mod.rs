//! Building blocks of pages and pictures: escaping for HTML and SVG, the style sheet, [`board`] diagrams, and a
//! [`viewer`] of games.
//! Independent of search, network and matches.

pub mod board;
pub mod pgn;
pub mod policy;
pub mod viewer;

/// Style sheet of all pages.
pub const PAGE_STYLE: &str = include_str!("page.css");

/// Escapes text for HTML.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            letter => out.push(letter),
        }
    }
    out
}

/// A count with its noun: `1 game`, `2 games`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "game")), ["0 games", "1 game", "2 games"]);
    }

    #[test]
    fn nothing_of_a_file_can_become_markup() {
        assert_eq!(
            escape("<a href=\"x\">O'K & co"),
            "&lt;a href=&quot;x&quot;&gt;O&#39;K &amp; co"
        );
    }
}

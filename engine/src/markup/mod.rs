//! What pages and pictures are written with: text made safe for HTML and SVG, the style sheet of pages, and
//! [`board`] diagrams. Nothing here knows a search, a network or a match.

pub mod board;
pub mod pgn;

/// The style sheet that all pages share.
pub const PAGE_STYLE: &str = include_str!("page.css");

/// Text as HTML shows it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_file_can_become_markup() {
        assert_eq!(
            escape("<a href=\"x\">O'K & co"),
            "&lt;a href=&quot;x&quot;&gt;O&#39;K &amp; co"
        );
    }
}

//! Board to click through games: script, style and elements shared by all pages that have one.
//!
//! A page puts [`STYLE`] into its style sheet, [`ELEMENTS`] into an element of class `viewer` and [`SCRIPT`] before its
//! own script, which calls `Viewer(root, shown)`.

use serde::Serialize;

/// Style sheet.
pub const STYLE: &str = include_str!("viewer.css");
/// Board, buttons and move list: the children of one viewer.
pub const ELEMENTS: &str = include_str!("viewer.html");
/// Defines `Viewer`.
pub const SCRIPT: &str = include_str!("viewer.js");

/// A script or style sheet as a page carries it: without indentation, blank lines and lines that are comments.
#[must_use]
pub fn compact(source: &str) -> String {
    let lines = source.lines().map(str::trim);
    let kept = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// An element with data for a script, found by `id`. Without `<`, so that text of a game cannot end it.
#[must_use]
pub fn data_element<T: Serialize>(id: &str, data: &T) -> String {
    // Cannot fail for structs with string keys and an in-memory writer.
    let text = serde_json::to_string(data).unwrap_or_default();
    format!("<script type='application/json' id='{id}'>{}</script>\n", text.replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_carries_no_comments() {
        let source = "// Why.\nlet a = 1; // One.\n\n  // More.\n  a();\n";
        assert_eq!(compact(source), "let a = 1; // One.\na();\n");
    }

    #[test]
    fn data_cannot_end_its_element() {
        let element = data_element("games", &["</script><!--<b>"]);
        assert_eq!(element.matches('<').count(), 2, "{element}");
        assert!(element.contains(r#"["\u003c/script>\u003c!--\u003cb>"]"#), "{element}");
    }
}

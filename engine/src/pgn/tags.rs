//! Tag pairs, `[Name "value"]`, also without quotation marks, indented, or several on one line.

/// The line consists of tag pairs, or of the beginning of one.
#[must_use]
pub fn is_tag_line(line: &str) -> bool {
    name_of(line).is_some()
}

/// The name of the first tag pair.
#[must_use]
pub fn name_of(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('[')?.trim_start();
    let end = rest.find(|c: char| !is_of_name(c))?;
    let (name, after) = rest.split_at(end);
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let after_name = after.trim_start();
    let separated = after_name.len() < after.len() && !after_name.is_empty();
    let quoted = after_name.starts_with('"');
    (begins && (quoted || separated && after_name.contains(']'))).then_some(name)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-+#=:".contains(c)
}

/// The pairs of a tag line.
#[must_use]
pub fn pairs(line: &str) -> Vec<(String, String)> {
    read(line).0
}

/// The tag pairs of a line as they are written, and the text behind the last one: moves, in some files.
#[must_use]
pub fn divided(line: &str) -> (&str, &str) {
    let (_, behind) = read(line);
    (&line[..line.len() - behind.len()], behind.trim())
}

/// The pairs of a tag line, and the text behind the last one.
fn read(line: &str) -> (Vec<(String, String)>, &str) {
    let mut pairs = Vec::new();
    let mut rest = line;
    while let Some(name) = name_of(rest) {
        let (_, after) = rest.split_once(name).unwrap_or_default();
        let after = after.trim_start();
        let (value, length) = match after.strip_prefix('"') {
            Some(quoted) => {
                let end = end_of_quoted(quoted);
                (unescaped(&quoted[..end]), 1 + end)
            }
            None => {
                let end = after.find(']').unwrap_or(after.len());
                (after[..end].trim_end().to_owned(), end)
            }
        };
        pairs.push((name.to_owned(), value));
        rest = after[length..].split_once(']').map_or("", |(_, rest)| rest);
    }
    (pairs, rest)
}

/// Where a quoted value ends: at the first quotation mark before a bracket, for some values have such marks inside; else
/// at the last one, or at the end of the line.
fn end_of_quoted(text: &str) -> usize {
    let marks = || text.match_indices('"').map(|(at, _)| at).filter(|at| !is_escaped(text, *at));
    let closing = |at: &usize| text[at + 1..].trim_start().starts_with(']');
    marks().find(closing).or(marks().next_back()).unwrap_or(text.len())
}

fn is_escaped(text: &str, at: usize) -> bool {
    text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

fn unescaped(text: &str) -> String {
    let mut value = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let escapes = letter == '\\' && matches!(letters.peek(), Some('"' | '\\'));
        value.extend(if escapes { letters.next() } else { Some(letter) });
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_as_they_are_written() {
        let one = |line: &str| match &pairs(line)[..] {
            [(name, value)] => format!("{name}={value}"),
            other => format!("{other:?}"),
        };
        for (line, pair) in [
            (r#"[Event "A \"quoted\" name"]"#, r#"Event=A "quoted" name"#),
            (r#"[Event "The "Big" One"]"#, r#"Event=The "Big" One"#),
            (r#"  [Opening "Petrov \\ Russian" ] "#, r"Opening=Petrov \ Russian"),
            ("[White Ann2]", "White=Ann2"),
            (r#"[White-Team "x"]"#, "White-Team=x"),
            (r#"[Site"y"]"#, "Site=y"),
            (r#"[Round "3"#, "Round=3"),
            (r#"[Black ""]"#, "Black="),
            ("[Date 2020.01.01 ]", "Date=2020.01.01"),
        ] {
            assert_eq!(one(line), pair, "{line}");
        }
        assert_eq!(pairs(r#"[A "1"] [B "2"]"#).len(), 2);
        for line in
            ["[%clk 0:01]", "1. e4 [Event \"x\"]", "[]", "[Event]", "[ \"x\"]", "{[Event \"x\"]}"]
        {
            assert!(pairs(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn moves_may_stand_behind_the_last_pair() {
        for (line, tags, behind) in [
            (r#"[Result "1-0"] 1. e4 e5 "#, r#"[Result "1-0"]"#, "1. e4 e5"),
            (r#"[A "1"] [B "2"]1. e4 {[%clk 0:01]}"#, r#"[A "1"] [B "2"]"#, "1. e4 {[%clk 0:01]}"),
            ("[White Ann2] *", "[White Ann2]", "*"),
            (r#"[Round "3 1. e4"#, r#"[Round "3 1. e4"#, ""),
            (r#"[Event "The "Big" One"] "#, r#"[Event "The "Big" One"] "#, ""),
        ] {
            let (pairs, rest) = divided(line);
            assert_eq!((pairs.trim_end(), rest), (tags.trim_end(), behind), "{line}");
        }
    }
}

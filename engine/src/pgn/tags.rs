//! Tag pairs, `[Name "value"]`, also without quotation marks, with odd names, indented, or several on one line.

use std::borrow::Cow;

/// A tag pair, and what stands behind it on its line.
struct Pair<'a> {
    name: &'a str,
    value: Cow<'a, str>,
    behind: &'a str,
}

/// The line consists of tag pairs, or of the beginning of one.
#[must_use]
pub fn is_tag_line(line: &str) -> bool {
    parts(line).is_some()
}

/// A line in brackets that is no tag pair, such as `[]`. Between tags it is skipped; commands, as `[%clk 0:01]`, are of a comment.
#[must_use]
pub fn is_odd_line(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('[') && line.ends_with(']') && !line.starts_with("[%")
}

/// The name of the first tag pair.
#[must_use]
pub fn name_of(line: &str) -> Option<String> {
    parts(line).map(|(name, _)| plain(name))
}

/// The pairs of a tag line.
#[must_use]
pub fn pairs(line: &str) -> Vec<(String, String)> {
    each(line).map(|pair| (plain(pair.name), pair.value.into_owned())).collect()
}

/// The tag pairs of a line as they are written, and the text behind the last one: moves, in some files.
#[must_use]
pub fn divided(line: &str) -> (&str, &str) {
    let behind = each(line).last().map_or(line, |pair| pair.behind);
    (&line[..line.len() - behind.len()], behind.trim())
}

fn each(line: &str) -> impl Iterator<Item = Pair<'_>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let found = pair(rest)?;
        rest = found.behind;
        Some(found)
    })
}

/// The first pair of a line.
fn pair(line: &str) -> Option<Pair<'_>> {
    let (name, after) = parts(line)?;
    let (value, behind) = match after.strip_prefix('"') {
        Some(quoted) => {
            let (value, behind) = quoted.split_at(end_of_quoted(quoted));
            let value = value.trim_end().strip_suffix('"').unwrap_or(value);
            (unescaped(value), behind)
        }
        None => {
            let (value, behind) = after.split_at(after.find(']').unwrap_or(after.len()));
            (value.trim_end().into(), behind)
        }
    };
    Some(Pair { name, value, behind: behind.strip_prefix(']').unwrap_or(behind) })
}

/// The name of a pair as it is written, and its value with all behind it. A name with several words has a quoted value.
fn parts(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start().strip_prefix('[')?.trim_start();
    if !rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let is_of_name = |c: char| c.is_alphanumeric() || "_-+#=:.'/&".contains(c);
    let end = rest.find(|c: char| !is_of_name(c) && !c.is_whitespace())?;
    if rest[end..].starts_with('"') {
        return Some((rest[..end].trim_end(), &rest[end..]));
    }
    let (name, after) = rest.split_at(rest.find(|c: char| !is_of_name(c))?);
    let value = after.trim_start();
    let is_value = value.len() < after.len() && !value.starts_with(']') && value.contains(']');
    is_value.then_some((name, value))
}

/// A name of letters, digits and the signs that other readers accept. All else becomes `_`, so that two words stay two: `White
/// Elo` is neither `White` nor silently `WhiteElo`.
fn plain(name: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || "_-+#=:".contains(c);
    name.chars().map(|c| if kept(c) { c } else { '_' }).collect()
}

/// Where a quoted value ends, behind its quotation mark: at the first mark before a bracket, for some values have such marks
/// inside; else at an escaped mark before the bracket that ends the line, else at the first bracket behind the last mark, or at the
/// end of the line.
fn end_of_quoted(text: &str) -> usize {
    let mut escaped = false;
    let mut last = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'"' && !escaped {
            if text[at + 1..].trim_start().starts_with(']') {
                return at + 1 + text[at + 1..].find(']').unwrap_or(0);
            }
            last = at + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    let escaped_end = text.trim_end().strip_suffix(']').map(str::trim_end);
    match escaped_end.filter(|text| text.ends_with("\\\"")) {
        Some(_) => text.trim_end().len() - 1,
        None => text[last..].find(']').map_or(text.len(), |bracket| last + bracket),
    }
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut value = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let escapes = letter == '\\' && matches!(letters.peek(), Some('"' | '\\'));
        value.extend(if escapes { letters.next() } else { Some(letter) });
    }
    value.into()
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
            (r#"[Event "3rd "Old Mill Open 2021\"]"#, r#"Event=3rd "Old Mill Open 2021\"#),
            (r#"[Event "3rd "Old Mill]"#, r#"Event=3rd "Old Mill"#),
            (r#"[Event "Open" ] "#, "Event=Open"),
            (r#"[Result "1-0]"#, "Result=1-0"),
            (r#"[1st_Tag "x"]"#, "1st_Tag=x"),
            (r#"[White.Team "x"]"#, "White_Team=x"),
            (r#"[White's team "x"]"#, "White_s_team=x"),
            (r#"[White Elo "2000"]"#, "White_Elo=2000"),
            ("[Weiß \"x\"]", "Wei_=x"),
            ("[White Elo 2000]", "White=Elo 2000"),
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

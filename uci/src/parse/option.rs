//! Parses an engine's `option`: a name, a type, and the values of that type.
//!
//! An unknown type, or one without its values, keeps its text: such an option can still be set by its name.

use super::words::Words;
use crate::line::EMPTY;
use crate::option::{OptionKind, OptionSpec};

/// None if there is no name, or no type.
pub(super) fn read(mut words: Words) -> Option<OptionSpec> {
    if words.next()? != "name" {
        return None;
    }
    let name = until(&mut words, "type").filter(|name| !name.is_empty())?;
    let text = words.rest();
    let kind = kind(words).unwrap_or_else(|| OptionKind::Other(text.to_owned()));
    Some(OptionSpec { name, kind })
}

fn kind(mut words: Words) -> Option<OptionKind> {
    Some(match words.next()? {
        "check" => match value(words, "default")?.parse() {
            Ok(default) => OptionKind::Check { default },
            Err(_) => return None,
        },
        "spin" => {
            let number = |key| value(words.clone(), key)?.parse().ok();
            OptionKind::Spin {
                default: number("default")?,
                min: number("min")?,
                max: number("max")?,
            }
        }
        "combo" => {
            until(&mut words, "default")?;
            let mut values = Vec::new();
            while let Some(text) = until(&mut words, "var") {
                values.push(or_empty(&text));
            }
            values.push(or_empty(words.rest()));
            let default = values.remove(0);
            OptionKind::Combo { default, choices: values }
        }
        "string" => {
            until(&mut words, "default");
            OptionKind::Text { default: or_empty(words.rest()) }
        }
        "button" => OptionKind::Button,
        _ => return None,
    })
}

/// The words before `key`, which is consumed; None, with nothing consumed, if it does not occur.
fn until(words: &mut Words, key: &str) -> Option<String> {
    let mut ahead = words.clone();
    let mut before = Vec::new();
    for word in ahead.by_ref() {
        if word == key {
            *words = ahead;
            return Some(before.join(" "));
        }
        before.push(word);
    }
    None
}

/// The word after `key`.
fn value<'a>(mut words: Words<'a>, key: &str) -> Option<&'a str> {
    words.find(|word| *word == key)?;
    words.next()
}

fn or_empty(text: &str) -> String {
    if text == EMPTY { String::new() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str) -> OptionKind {
        read(Words::new(&format!("name A b type {text}"))).unwrap().kind
    }

    fn other(text: &str) -> OptionKind {
        OptionKind::Other(text.to_owned())
    }

    #[test]
    fn every_kind_is_read_with_its_values() {
        assert_eq!(kind_of("check default true"), OptionKind::Check { default: true });
        let spin = OptionKind::Spin { default: 1, min: -2, max: 3 };
        assert_eq!(kind_of("spin default 1 min -2 max 3"), spin);
        assert_eq!(kind_of("spin min -2 max 3 default 1"), spin);
        let choices = vec!["a b".to_owned(), String::new()];
        assert_eq!(
            kind_of("combo default a b var a b var <empty>"),
            OptionKind::Combo { default: "a b".to_owned(), choices }
        );
        let text = |default: &str| OptionKind::Text { default: default.to_owned() };
        assert_eq!(kind_of("string default /a  b"), text("/a  b"));
        assert_eq!(kind_of("string default <empty>"), text(""));
        assert_eq!(kind_of("string"), text(""));
        assert_eq!(kind_of("button"), OptionKind::Button);
    }

    #[test]
    fn a_damaged_kind_keeps_its_text() {
        for text in ["spin default 0.5 min 0 max 1", "check", "check default yes", "file default x"]
        {
            assert_eq!(kind_of(text), other(text));
        }
    }

    #[test]
    fn what_has_no_name_or_no_kind_is_no_option() {
        for text in ["", "name", "name Hash", "name type spin", "Hash type button"] {
            assert_eq!(read(Words::new(text)), None, "{text}");
        }
    }
}

//! Options that an engine offers: `option name … type …`. Setting one is a command: [`crate::SetOption`].

use crate::line::{EMPTY, OneLine};
use std::fmt;

/// Type of an option, with its default value.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionKind {
    /// `true` or `false`.
    Check {
        /// Default value.
        default: bool,
    },
    /// A whole number. Some GUIs read these in 32 bits.
    Spin {
        /// Default value.
        default: i64,
        /// The smallest value allowed.
        min: i64,
        /// The largest value allowed.
        max: i64,
    },
    /// One text out of several.
    Combo {
        /// Default value.
        default: String,
        /// All values allowed, the default among them.
        choices: Vec<String>,
    },
    /// Any text; an empty one prints `<empty>`.
    Text {
        /// Default value.
        default: String,
    },
    /// No value: setting it triggers an action.
    Button,
    /// An unknown type, or a known one without its values: the text after `type`.
    Other(String),
}

/// An offered option; prints `option name … type …`.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionSpec {
    /// Without the words `name`, `type`, `default`, `min`, `max`, `var` and `value`, which GUIs take as
    /// keywords.
    pub name: String,
    /// Its type.
    pub kind: OptionKind,
}

/// As [`OneLine`], with `<empty>` for a string without visible characters.
fn or_empty(text: &str) -> OneLine<'_> {
    OneLine(if text.trim().is_empty() { EMPTY } else { text })
}

impl fmt::Display for OptionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "option name {} type ", OneLine(&self.name))?;
        match &self.kind {
            OptionKind::Check { default } => write!(f, "check default {default}"),
            OptionKind::Spin { default, min, max } => {
                write!(f, "spin default {default} min {min} max {max}")
            }
            OptionKind::Combo { default, choices } => {
                write!(f, "combo default {}", or_empty(default))?;
                choices.iter().try_for_each(|choice| write!(f, " var {}", or_empty(choice)))
            }
            OptionKind::Text { default } => write!(f, "string default {}", or_empty(default)),
            OptionKind::Button => f.write_str("button"),
            OptionKind::Other(text) => OneLine(text).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(name: &str, kind: OptionKind) -> String {
        let name = name.to_owned();
        OptionSpec { name, kind }.to_string()
    }

    #[test]
    fn options_print_their_kind_and_range() {
        let spin = OptionKind::Spin { default: 1, min: 1, max: 128 };
        assert_eq!(
            option("Threads", spin),
            "option name Threads type spin default 1 min 1 max 128"
        );
        let check = OptionKind::Check { default: false };
        assert_eq!(option("Ponder", check), "option name Ponder type check default false");
        let combo = OptionKind::Combo {
            default: "b".to_owned(),
            choices: vec!["a".to_owned(), "b".to_owned()],
        };
        assert_eq!(
            option("Search Mode", combo),
            "option name Search Mode type combo default b var a var b"
        );
        assert_eq!(option("Clear Hash", OptionKind::Button), "option name Clear Hash type button");
        let text = OptionKind::Text { default: "/a b".to_owned() };
        assert_eq!(option("File", text), "option name File type string default /a b");
    }

    #[test]
    fn an_empty_text_prints_empty_in_angle_brackets() {
        for default in ["", "  ", "\n"] {
            let default = default.to_owned();
            assert_eq!(
                option("File", OptionKind::Text { default }),
                "option name File type string default <empty>"
            );
        }
    }

    #[test]
    fn every_option_is_one_line_whatever_its_texts_hold() {
        let nasty = || "a\r\nquit\u{85}b\u{2028}c\0d\u{b}e\n".to_owned();
        let lines = [
            option(&nasty(), OptionKind::Button),
            option("A", OptionKind::Text { default: nasty() }),
            option("A", OptionKind::Combo { default: nasty(), choices: vec![nasty()] }),
            option("A", OptionKind::Other(nasty())),
        ];
        for line in lines {
            assert!(!line.contains(|c: char| c.is_control() || c == '\u{2028}'), "{line:?}");
            assert_eq!(line, line.trim());
        }
    }
}

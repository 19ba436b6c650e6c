//! Parses the arguments of `setoption`: `name`, words, and optionally `value` and a text.
//!
//! The engine's table decides which options exist, the case of their names and their values. The first `value`
//! ends the name; the text after it is kept verbatim, a second `value` included.

use super::words::Words;
use crate::command::SetOption;

/// None, with a note, if the line names no option.
pub(super) fn read(mut words: Words, notes: &mut Vec<String>) -> Option<SetOption> {
    let is_announced = words.peek().is_some_and(|word| word.eq_ignore_ascii_case("name"));
    if is_announced {
        words.next();
    }
    let mut name = Vec::new();
    let mut value = None;
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case("value") {
            // Printed as `<empty>`; GUIs that repeat the default send `<empty>` back.
            value = Some(match words.rest() {
                "<empty>" => String::new(),
                text => text.to_owned(),
            });
            break;
        }
        name.push(word);
    }
    if name.is_empty() {
        notes.push("setoption: expected `name` and the name of an option".to_owned());
        return None;
    }
    if !is_announced {
        notes.push("setoption: expected `name` before the name of the option".to_owned());
    }
    Some(SetOption { name: name.join(" "), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn clear(text: &str) -> (String, Option<String>) {
        let mut notes = Vec::new();
        let Some(SetOption { name, value }) = read(Words::new(text), &mut notes) else {
            panic!("{text}: {notes:?}");
        };
        assert!(notes.is_empty(), "{text}: {notes:?}");
        (name, value)
    }

    fn set(name: &str, value: &str) -> (String, Option<String>) {
        (name.to_owned(), Some(value.to_owned()))
    }

    #[test]
    fn names_keep_their_case_and_their_words() {
        assert_eq!(clear("name Hash value 64"), set("Hash", "64"));
        assert_eq!(clear("name  Clear   HASH  now value x"), set("Clear HASH now", "x"));
    }

    #[test]
    fn names_may_begin_like_a_keyword() {
        assert_eq!(clear("name ValueNet value a"), set("ValueNet", "a"));
        assert_eq!(clear("name name value a"), set("name", "a"));
    }

    #[test]
    fn a_button_has_no_value() {
        assert_eq!(clear("name Clear Hash"), ("Clear Hash".to_owned(), None));
    }

    #[test]
    fn values_keep_their_blanks() {
        assert_eq!(
            clear("name WeightsFile value /a b/c  d.net "),
            set("WeightsFile", "/a b/c  d.net")
        );
    }

    #[test]
    fn values_may_hold_the_keywords() {
        assert_eq!(clear("name Text value the name value go"), set("Text", "the name value go"));
    }

    #[test]
    fn empty_values_are_empty_texts() {
        assert_eq!(clear("name Book value"), set("Book", ""));
        assert_eq!(clear("name Book value   "), set("Book", ""));
        assert_eq!(clear("name Book value <empty>"), set("Book", ""));
        assert_eq!(clear("name Book value <empty> x"), set("Book", "<empty> x"));
    }

    #[test]
    fn a_missing_name_keyword_is_noted_and_the_option_set() {
        let mut notes = Vec::new();
        let option = read(Words::new("Hash value 64"), &mut notes).unwrap();
        assert_eq!((option.name, option.value), set("Hash", "64"));
        assert_eq!(notes, ["setoption: expected `name` before the name of the option"]);
    }

    #[test]
    fn without_a_name_there_is_no_option() {
        for text in ["", "name", "value 3", "name value 3"] {
            let mut notes = Vec::new();
            assert_eq!(read(Words::new(text), &mut notes), None);
            assert_eq!(notes, ["setoption: expected `name` and the name of an option"]);
        }
    }
}

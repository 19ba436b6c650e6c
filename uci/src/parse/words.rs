//! Lines as words: cleaning, iteration, the shape of a move, and quoting a word in a note.
//!
//! Independent of commands. Whatever a line contains, its words are free of blanks and control characters, so
//! that a note quoting them is one line too.

/// Longest part of a word quoted in a note, in characters.
const QUOTED: usize = 32;

/// Most skipped words that one note names.
const NAMED: usize = 6;

/// The line with all non-text characters (line ends, tabs, NUL, a byte order mark) replaced by blanks.
pub(super) fn clean(line: &str) -> String {
    line.chars()
        .map(|c| match c {
            '\u{feff}' | '\u{2028}' | '\u{2029}' => ' ',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

/// The words of a clean text, and the remaining text after them.
#[derive(Clone)]
pub(super) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// The next word, without consuming it.
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.clone().next()
    }

    /// The remaining text, with its inner blanks.
    pub(super) fn rest(&self) -> &'a str {
        self.rest.trim()
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_start();
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// The word as a move, promotion in lower case, if it has the shape of one (`e2e4`, `e7e8q`, `0000`).
pub(super) fn as_move(word: &str) -> Option<String> {
    let shaped = match word.as_bytes() {
        b"0000" => true,
        [b'a'..=b'h', b'1'..=b'8', b'a'..=b'h', b'1'..=b'8', promotion @ ..] => {
            matches!(promotion, [] | [b'n' | b'b' | b'r' | b'q' | b'N' | b'B' | b'R' | b'Q'])
        }
        _ => false,
    };
    shaped.then(|| word.to_ascii_lowercase())
}

/// The word between backquotes, truncated for a note.
pub(super) fn quote(word: &str) -> String {
    match word.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("`{}…`", &word[..end]),
        None => format!("`{word}`"),
    }
}

/// Skipped words, collected for one note.
#[derive(Default)]
pub(super) struct Skipped {
    named: Vec<String>,
    more: usize,
}

impl Skipped {
    pub(super) fn push(&mut self, word: &str) {
        if self.named.len() < NAMED {
            self.named.push(quote(word));
        } else {
            self.more += 1;
        }
    }

    /// Adds the note, if any word was skipped; `place` says where.
    pub(super) fn note(self, place: &str, notes: &mut Vec<String>) {
        if self.named.is_empty() {
            return;
        }
        let named = self.named.join(", ");
        notes.push(match self.more {
            0 => format!("{place}: skipped {named}"),
            more => format!("{place}: skipped {named} and {more} more"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_line_separators_become_blanks() {
        let text = clean("\u{feff}a\tb\0c\u{7f}d\u{85}e\u{2028}f\r\n");
        assert_eq!(Words::new(&text).collect::<Vec<_>>(), ["a", "b", "c", "d", "e", "f"]);
    }

    #[test]
    fn rest_keeps_the_blanks_inside() {
        let mut words = Words::new("  one   two  three ");
        assert_eq!(words.next(), Some("one"));
        assert_eq!(words.peek(), Some("two"));
        assert_eq!(words.rest(), "two  three");
    }

    #[test]
    fn words_end_and_stay_ended() {
        let mut words = Words::new(" a ");
        assert_eq!((words.next(), words.next(), words.next()), (Some("a"), None, None));
        assert_eq!(words.rest(), "");
    }

    #[test]
    fn moves_are_recognised_by_their_shape() {
        for word in ["e2e4", "a1h8", "e7e8q", "e7e8n", "e1h1", "0000", "a1a1"] {
            assert_eq!(as_move(word).as_deref(), Some(word));
        }
        for word in [
            "", "e2", "e2e", "e7e9", "i2e4", "e0e4", "E2E4", "e7e8k", "e7e8p", "e7e8qq", "e2-e4",
            "e2e4+", "Nf3", "O-O", "00000", "(none)", "é2e4",
        ] {
            assert_eq!(as_move(word), None, "{word}");
        }
    }

    #[test]
    fn a_promotion_in_upper_case_is_lowered() {
        assert_eq!(as_move("a7b8R").as_deref(), Some("a7b8r"));
    }

    #[test]
    fn long_words_are_quoted_in_part() {
        assert_eq!(quote("short"), "`short`");
        assert_eq!(quote(&"é".repeat(QUOTED)), format!("`{}`", "é".repeat(QUOTED)));
        assert_eq!(quote(&"é".repeat(10_000)), format!("`{}…`", "é".repeat(QUOTED)));
    }

    #[test]
    fn many_skipped_words_make_one_short_note() {
        let mut notes = Vec::new();
        let mut skipped = Skipped::default();
        (0..1000).for_each(|i| skipped.push(&i.to_string()));
        skipped.note("go", &mut notes);
        assert_eq!(notes, ["go: skipped `0`, `1`, `2`, `3`, `4`, `5` and 994 more"]);
    }
}

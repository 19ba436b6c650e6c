//! The words of a movetext.

use super::spelling::{Spelling, spelled};

/// Results of games.
pub const RESULTS: [&str; 4] = ["1-0", "0-1", "1/2-1/2", "*"];

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedLine {
    /// Counted from 1.
    pub number: usize,
    /// Without its line end.
    pub text: String,
}

/// One word, and its line in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Counted from 1.
    pub line: usize,
    /// Its kind.
    pub kind: TokenKind,
}

/// The kind of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A move, and the word as it is written.
    Move(Spelling, String),
    /// A numeric annotation glyph.
    Nag(u8),
    /// A comment without its braces.
    Comment(String),
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// One of [`RESULTS`].
    Result(&'static str),
    /// It was to be a move: it has a letter and a digit.
    NoMove(String),
    /// Any other word.
    Unknown(String),
    /// A comment is never closed.
    OpenComment,
}

/// Signs that stand for a glyph. The longer ones come first.
const SIGNS: [(&str, u8); 22] = [
    ("!!", 3),
    ("??", 4),
    ("!?", 5),
    ("?!", 6),
    ("!", 1),
    ("?", 2),
    ("+/=", 14),
    ("=/+", 15),
    ("+/-", 16),
    ("-/+", 17),
    ("+-", 18),
    ("-+", 19),
    ("+=", 14),
    ("=+", 15),
    ("=", 10),
    ("\u{b1}", 16),
    ("\u{2213}", 17),
    ("\u{2a72}", 14),
    ("\u{2a71}", 15),
    ("\u{221e}", 13),
    ("\u{25a1}", 7),
    ("N", 146),
];

/// Words without a meaning for the game.
const IDLE: [&str; 12] =
    ["e.p.", "ep", "e.p", "ch", "ch.", "+", "++", "#", "mate", "dis", "dbl", "D"];

/// Hands the words of these lines to `each`, in order: all of them at once would take many times their text.
pub fn for_each_token(lines: &[NumberedLine], mut each: impl FnMut(Token)) {
    // The text of a comment not closed yet, and its first line.
    let mut comment: Option<(usize, String)> = None;
    for NumberedLine { number, text } in lines {
        let mut rest = text.as_str();
        let line = *number;
        if comment.is_none() && rest.starts_with('%') {
            continue;
        }
        loop {
            if let Some((first, said)) = &mut comment {
                let Some((more, after)) = rest.split_once('}') else {
                    said.push_str(rest);
                    said.push('\n');
                    break;
                };
                said.push_str(more);
                each(Token { line: *first, kind: TokenKind::Comment(said.trim().to_owned()) });
                (comment, rest) = (None, after);
            }
            rest = rest.trim_start();
            let Some(letter) = rest.chars().next() else { break };
            match letter {
                '{' => {
                    comment = Some((line, String::new()));
                    rest = &rest[1..];
                }
                ';' => {
                    let said = rest[1..].trim().replace('}', ")");
                    each(Token { line, kind: TokenKind::Comment(said) });
                    break;
                }
                '(' | ')' => {
                    let kind = if letter == '(' { TokenKind::Open } else { TokenKind::Close };
                    each(Token { line, kind });
                    rest = &rest[1..];
                }
                _ => {
                    let (word, after) = rest.split_at(end_of_word(rest));
                    read_word(word).into_iter().for_each(|kind| each(Token { line, kind }));
                    rest = after;
                }
            }
        }
    }
    if let Some((line, said)) = comment {
        each(Token { line, kind: TokenKind::Comment(said.trim().to_owned()) });
        each(Token { line, kind: TokenKind::OpenComment });
    }
}

/// At least one character. The parentheses of `a8(Q)` belong to the word.
fn end_of_word(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        let promotes = letter == '(' && text[..at].ends_with(['1', '8', '=']);
        let whole = ["(Q)", "(R)", "(B)", "(N)"].iter().any(|piece| text[at..].starts_with(piece));
        if promotes && whole {
            letters.nth(1);
        } else if letter.is_whitespace() || "{}();$".contains(letter) {
            return at;
        }
    }
    text.len()
}

/// The kinds of a word without spaces; several if signs follow a move.
#[must_use]
pub fn read_word(word: &str) -> Vec<TokenKind> {
    if let Some(number) = word.strip_prefix('$') {
        return match number.parse() {
            Ok(nag) => vec![TokenKind::Nag(nag)],
            Err(_) => vec![TokenKind::Unknown(word.to_owned())],
        };
    }
    let plain = plain(word);
    if let Some(result) = result(&plain) {
        return vec![TokenKind::Result(result)];
    }
    // `12.`, `12...`, `12.Nf3`; not the zeros of `0-0`.
    let after_number = plain.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = after_number.is_empty() || after_number.starts_with('.');
    let bare = if numbered { after_number.trim_start_matches('.') } else { &plain };
    if bare.is_empty() || IDLE.contains(&bare) {
        return Vec::new();
    }
    if let Some(nags) = signs(bare) {
        return nags;
    }
    if let Some((spelling, suffix)) = spelled(bare)
        && let Some(nags) = suffix_nags(suffix)
    {
        let mut kinds = vec![TokenKind::Move(spelling, word.to_owned())];
        kinds.extend(nags);
        return kinds;
    }
    let has = |kind: fn(&char) -> bool| bare.chars().any(|letter| kind(&letter));
    let meant = has(char::is_ascii_alphabetic) && has(char::is_ascii_digit);
    vec![if meant {
        TokenKind::NoMove(word.to_owned())
    } else {
        TokenKind::Unknown(word.to_owned())
    }]
}

/// With one kind of dash, of capture and of piece letter.
#[must_use]
pub fn plain(word: &str) -> String {
    let same = |c: char| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{d7}' | ':' => 'x',
        '\u{2654}' | '\u{265a}' => 'K',
        '\u{2655}' | '\u{265b}' => 'Q',
        '\u{2656}' | '\u{265c}' => 'R',
        '\u{2657}' | '\u{265d}' => 'B',
        '\u{2658}' | '\u{265e}' => 'N',
        other => other,
    };
    word.replace('\u{2026}', "...").replace('\u{bd}', "1/2").chars().map(same).collect()
}

/// Whether a word is a game's result.
#[must_use]
pub fn is_result(word: &str) -> bool {
    let is_plain = word.is_ascii() && !word.contains(':');
    if is_plain { result(word) } else { result(&plain(word)) }.is_some()
}

/// Whether a line begins with a first move, as a game without tags does.
#[must_use]
pub fn begins_moves(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let bare = word.strip_prefix("1.").unwrap_or(word);
    bare.is_empty() || matches!(read_word(bare)[..], [TokenKind::Move(..), ..])
}

/// The result that a word in one kind of dash and sign ([`plain`]) is, in the standard's spelling.
#[must_use]
pub fn result(word: &str) -> Option<&'static str> {
    match word {
        "1/2" | "1/2x1/2" => Some(RESULTS[2]),
        "1x0" => Some(RESULTS[0]),
        "0x1" => Some(RESULTS[1]),
        _ => RESULTS.iter().copied().find(|result| *result == word),
    }
}

/// The signs behind a move: check, mate, a capture's or a draw offer's sign, glyphs. None if it is more than that.
fn suffix_nags(suffix: &str) -> Option<Vec<TokenKind>> {
    let mut rest = suffix;
    for word in ["x", "e.p.", "ep", "=", "/"] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest = rest.trim_start_matches(['+', '#', '\u{2020}', '\u{2021}']);
    for word in ["dbl", "dis", "ch.", "ch", "mate"] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest = rest.trim_end_matches(['.', ',']);
    if rest.is_empty() { Some(Vec::new()) } else { signs(rest) }
}

/// A run of signs; of `!` and `?`, what is more than two says no more.
fn signs(text: &str) -> Option<Vec<TokenKind>> {
    let mut nags = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (sign, nag) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign))?;
        nags.push(TokenKind::Nag(*nag));
        rest = &rest[sign.len()..];
        if rest.starts_with(['!', '?']) && *nag <= 6 {
            rest = rest.trim_start_matches(['!', '?']);
        }
    }
    Some(nags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> String {
        let lines: Vec<_> = text
            .lines()
            .zip(1..)
            .map(|(text, number)| NumberedLine { number, text: text.to_owned() })
            .collect();
        let said = |token: &Token| match &token.kind {
            TokenKind::Move(_, word) => word.clone(),
            TokenKind::Nag(nag) => format!("${nag}"),
            TokenKind::Comment(text) => format!("{{{text}}}"),
            TokenKind::Open => "(".to_owned(),
            TokenKind::Close => ")".to_owned(),
            TokenKind::Result(result) => format!("={result}"),
            TokenKind::NoMove(word) => format!("BAD:{word}"),
            TokenKind::Unknown(word) => format!("?:{word}"),
            TokenKind::OpenComment => "OPEN".to_owned(),
        };
        let mut found = Vec::new();
        for_each_token(&lines, |token| found.push(said(&token)));
        found.join(" ")
    }

    #[test]
    fn words_are_what_they_are() {
        for text in [
            "1. e4 e5 2.Nf3 $1 Nc6!? 3.Bb5+??",
            "12...Qxf7++ Nc6= Qxf7+ch exd6e.p. exd6 e.p.",
            "1.e4(1.d4)1...e5",
        ] {
            let found = kinds(text);
            assert!(!found.contains("BAD:") && !found.contains("?:"), "{found}");
        }
        assert_eq!(kinds("2.Nf3 $14 Nc6!?"), "2.Nf3 $14 Nc6!? $5");
        assert_eq!(
            kinds("Qxf7++ o-o O\u{2013}O -- Z0 0-0-0+"),
            "Qxf7++ o-o O\u{2013}O -- Z0 0-0-0+"
        );
        assert_eq!(kinds("a8(Q) (a8=N) a8/Q"), "a8(Q) ( a8=N ) a8/Q");
        assert_eq!(
            kinds("+- = Nf3!!! 1/2 \u{bd}-\u{bd} *"),
            "$18 $10 Nf3!!! $3 =1/2-1/2 =1/2-1/2 =*"
        );
        assert_eq!(kinds("1:0 0:1 1/2:1/2 0\u{2013}1"), "=1-0 =0-1 =1/2-1/2 =0-1");
        assert_eq!(kinds("e4 Nxx5 e9 and"), "e4 BAD:Nxx5 BAD:e9 ?:and");
        assert_eq!(kinds("12 12. ... 3"), "");
    }

    #[test]
    fn comments_end_at_their_brace_or_line() {
        assert_eq!(
            kinds("e4 ; the {best} move\n% none\ne5 {a ; in\n% it} *"),
            "e4 {the {best) move} e5 {a ; in\n% it} =*"
        );
        assert_eq!(kinds("e4 {never\nclosed"), "e4 {never\nclosed} OPEN");
    }
}

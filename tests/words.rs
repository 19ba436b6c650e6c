//! Words that source files must not use: a chess-engine or machine-learning engineer would not search for them.
//! Comments and identifiers are checked; string literals are not, because protocols and messages keep their text.

use mavka_tests::PRIVATE_WORDS;

/// Forbidden in identifiers only.
const IDENTIFIERS: [&str; 3] = ["goes on", "apart", "together"];

/// A forbidden word or phrase.
#[derive(Debug, PartialEq)]
pub struct Finding {
    /// Counted from 1.
    pub line: usize,
    pub phrase: &'static str,
}

/// The forbidden words of a Rust source file.
pub fn forbidden(source: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut comment = Vec::new();
    for token in tokens(source) {
        match token {
            // Adjacent comments are one text: a phrase may continue on the next line.
            Token::Comment(line, text) => {
                for (below, text) in text.lines().enumerate() {
                    comment.extend(words(text).map(|word| (line + below, word)));
                }
            }
            Token::Identifier(line, name) => {
                search(&comment, &PRIVATE_WORDS, &mut found);
                comment.clear();
                let name: Vec<_> = words(name).map(|word| (line, word)).collect();
                search(&name, &PRIVATE_WORDS, &mut found);
                search(&name, &IDENTIFIERS, &mut found);
            }
        }
    }
    search(&comment, &PRIVATE_WORDS, &mut found);
    found
}

/// Lines of the comments' sentences that begin without their subject, counted from 1.
pub fn inverted(source: &str) -> Vec<usize> {
    let (mut found, mut begins) = (Vec::new(), true);
    for token in tokens(source) {
        let Token::Comment(line, text) = token else {
            begins = true;
            continue;
        };
        for (below, text) in text.lines().enumerate() {
            let text = text.trim_start_matches(['/', '!', '*', '-', ' ']);
            begins |= text.is_empty();
            let inverted = mavka_tests::inverted(text, &mut begins);
            found.extend(std::iter::repeat_n(line + below, inverted));
        }
    }
    found
}

/// The identifiers and keywords of a Rust source file, outside comments and literals, with their lines.
pub fn identifiers(source: &str) -> Vec<(usize, &str)> {
    let named = |token| match token {
        Token::Identifier(line, name) => Some((line, name)),
        Token::Comment(..) => None,
    };
    tokens(source).into_iter().filter_map(named).collect()
}

/// Lower-case words of a text or of an identifier in snake case or camel case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut last = ' ';
    for c in text.chars() {
        if !c.is_alphanumeric() || last.is_lowercase() && c.is_uppercase() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
        }
        last = c;
    }
    words.into_iter().filter(|word| !word.is_empty())
}

fn search(words: &[(usize, String)], phrases: &[&'static str], found: &mut Vec<Finding>) {
    for phrase in phrases {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let matches = words
            .windows(parts.len())
            .filter(|window| window.iter().zip(&parts).all(|((_, word), part)| word == part));
        found.extend(matches.map(|window| Finding { line: window[0].0, phrase }));
    }
}

enum Token<'a> {
    Comment(usize, &'a str),
    Identifier(usize, &'a str),
}

/// Comments, identifiers and keywords with their lines; literals and punctuation are skipped.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' {
            quoted(rest, '"')
        } else if c == '\'' {
            // A character literal, or the quote of a lifetime.
            let mut after = rest.chars().skip(1);
            match (after.next(), after.next()) {
                (Some('\\'), _) | (_, Some('\'')) => quoted(rest, '\''),
                _ => 1,
            }
        } else if c.is_alphanumeric() || c == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        let mut text = &rest[..length];
        if text.starts_with("//") || text.starts_with("/*") {
            tokens.push(Token::Comment(line, text));
        } else if ["r", "br", "cr"].contains(&text) && raw(&rest[length..]).is_some() {
            text = &rest[..length + raw(&rest[length..]).unwrap_or(0)];
        } else if c.is_alphabetic() || c == '_' {
            tokens.push(Token::Identifier(line, text));
        }
        line += text.matches('\n').count();
        at += text.len();
    }
    tokens
}

/// Length of a literal in quotes, escapes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a raw string from its first `#` or quote on; None if it is none.
fn raw(text: &str) -> Option<usize> {
    let hashes = text.find(|c| c != '#')?;
    let body = text[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(hashes + 1 + body.find(&end)? + end.len())
}

//! Splits a PGN file into games before parsing, so that a damaged game does not affect its neighbours: an unclosed
//! comment would extend to the end of the file.
//!
//! Rewrites what the PGN reader would lose: line comments become comments in braces; blank lines inside the movetext
//! and escaped lines are removed.

use super::game::PgnError;
use shakmaty::san::San;

/// Text of one game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Tag section.
    pub tags: String,
    /// Movetext.
    pub moves: String,
}

/// Decodes a file: UTF-8, or ISO 8859-1 as in the PGN standard (section 4.1).
#[must_use]
pub fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.trim_start_matches('\u{feff}').to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// The games of a file, in order.
#[must_use]
pub fn split(text: &str) -> Vec<Chunk> {
    let mut games = Vec::new();
    let mut game = Chunk::default();
    // State: in a comment; after the result; after a blank line behind it.
    let (mut inside, mut ended, mut gap) = (false, false, false);
    for line in text.lines() {
        let tag = is_tag(line) && (!inside || line.starts_with("[Event "));
        let begun = !game.moves.is_empty();
        let second_event = line.starts_with("[Event ") && game.tags.contains("[Event ");
        if tag && (begun || second_event) || begun && gap && !inside && !line.trim().is_empty() {
            games.push(std::mem::take(&mut game));
            (inside, ended) = (false, false);
        }
        gap = ended && line.trim().is_empty();
        if tag {
            game.tags += line;
            game.tags.push('\n');
        } else if !line.trim().is_empty() {
            game.moves += line;
            game.moves.push('\n');
            inside = still_inside(line, inside);
            let last = line.split_whitespace().next_back().unwrap_or_default();
            ended = !inside && RESULTS.contains(&last);
        }
    }
    if !(game.tags.is_empty() && game.moves.is_empty()) {
        games.push(game);
    }
    games
}

/// Game termination markers.
pub const RESULTS: [&str; 4] = ["1-0", "0-1", "1/2-1/2", "*"];

fn is_tag(line: &str) -> bool {
    let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once('"')) else {
        return false;
    };
    let name = name.trim_end();
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn still_inside(line: &str, mut inside: bool) -> bool {
    for letter in line.chars() {
        match letter {
            '{' => inside = true,
            '}' => inside = false,
            ';' if !inside => break,
            _ => {}
        }
    }
    inside
}

/// Movetext in the form that the reader needs.
///
/// # Errors
/// An unclosed comment, or a token that PGN does not have.
pub fn clean(moves: &str) -> Result<String, PgnError> {
    let mut out = String::with_capacity(moves.len() + 16);
    let mut inside = false;
    for line in moves.lines() {
        // Escaped lines of the standard (section 6) are for other software.
        if !inside && line.starts_with('%') {
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find(|letter| match inside {
            true => letter == '}',
            false => letter == '{' || letter == ';',
        }) {
            let (before, after) = rest.split_at(at);
            if !inside {
                check_words(before)?;
            }
            out += before;
            rest = &after[1..];
            if after.starts_with(';') {
                out += &format!("{{{}}}", rest.replace('}', ")"));
                rest = "";
            } else {
                inside = !inside;
                out.push_str(&after[..1]);
            }
        }
        if !inside {
            check_words(rest)?;
        }
        out += rest;
        out.push('\n');
    }
    if inside { Err(PgnError::OpenComment) } else { Ok(out) }
}

/// Detects tokens that the reader would silently skip. A token with a letter and a digit was meant as a move; others,
/// as in `exd6 e.p.`, are ignored.
fn check_words(text: &str) -> Result<(), PgnError> {
    let separator = |letter: char| letter.is_whitespace() || "().".contains(letter);
    for word in text.split(separator) {
        let bare = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let has = |kind: fn(&char) -> bool| word.chars().any(|letter| kind(&letter));
        let looks_like_move = has(char::is_ascii_alphabetic) && has(char::is_ascii_digit);
        if looks_like_move && !is_move(word) && !is_move(bare) {
            return Err(PgnError::Word(word.to_owned()));
        }
    }
    Ok(())
}

fn is_move(word: &str) -> bool {
    // `Nf3!?`, `e4$1`, `Nf3+!`: the reader handles suffixes.
    let bare = word.split(['!', '?', '$']).next().unwrap_or_default();
    let bare = bare.trim_end_matches(['+', '#']);
    // `0-0` with digits is castling, too.
    San::from_ascii(bare.replace('0', "O").as_bytes()).is_ok()
        || San::from_ascii(bare.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_cut_at_their_tags_and_behind_their_results() {
        let text = "[Event \"a\"]\n\n1. e4\n\ne5 1-0\n\n1. d4 d5 *\n[Event \"b\"]\n[Site \"c\"]\n1. c4 *\n\
                    [Event \"no moves\"]\n\n[Event \"d\"]\n*\n";
        let games = split(text);
        let moves: Vec<_> = games.iter().map(|game| game.moves.as_str()).collect();
        assert_eq!(moves, ["1. e4\ne5 1-0\n", "1. d4 d5 *\n", "1. c4 *\n", "", "*\n"]);
        assert_eq!(games[2].tags, "[Event \"b\"]\n[Site \"c\"]\n");
        assert_eq!(split(""), []);
    }

    #[test]
    fn an_open_comment_ends_with_its_game() {
        let text = "[Event \"a\"]\n\n1. e4 {never closed\n\n[White \"in it\"]\n\n[Event \"b\"]\n\n1. d4 *\n";
        let games = split(text);
        assert_eq!(games.len(), 2);
        assert!(matches!(clean(&games[0].moves), Err(PgnError::OpenComment)));
        assert_eq!(games[1].moves, "1. d4 *\n");
    }

    #[test]
    fn line_comments_get_braces() {
        let text = "1. e4 ; the {best} move\n% nobody's business\n1... e5 {a ; in\n% it} *";
        let cleaned = clean(text).unwrap();
        assert_eq!(cleaned, "1. e4 { the {best) move}\n1... e5 {a ; in\n% it} *\n");
    }

    #[test]
    fn words_that_are_no_moves_are_named() {
        let fine = "1. e4 e5 2.Nf3 $1 $14 Nc6!? 3.Bb5+?? (3.O-O-O 0-0+ 1...0-0-0) 12...e8=Q# -- Ng1xf3 exd6 e.p. +- 1/2-1/2";
        assert!(clean(fine).is_ok(), "{:?}", clean(fine));
        for bad in ["Nxx5", "e9", "Kz4", "D4"] {
            assert!(matches!(clean(bad), Err(PgnError::Word(word)) if word == bad), "{bad}");
        }
    }

    #[test]
    fn old_files_are_latin_1() {
        assert_eq!(decode(b"K\xf6nig"), "König");
        assert_eq!(decode("\u{feff}König".as_bytes()), "König");
    }
}

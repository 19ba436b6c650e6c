//! Arguments of several subcommands: UCI options, positions, times.

use super::output::Failure;
use crate::options::settings::Settings;
use crate::options::{self, OptionError, OutOfRange};
use crate::pgn::typed_move;
use crate::process::stderr_log::write_stderr;
use chess::action::Action;
use chess::game::{Game, GameError};
use chess::quote::quote;
use clap::builder::RangedU64ValueParser;
use std::error::Error;
use std::fmt;
use std::time::Duration;
use uci::{Command, SetOption, StartPosition};

/// An argument of the wrong form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError(pub &'static str);

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write {}", self.0)
    }
}

impl Error for FormError {}

/// `NAME=VALUE`.
pub fn read_option(text: &str) -> Result<(String, String), FormError> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(FormError("NAME=VALUE")),
    }
}

/// A whole number from 1.
#[must_use]
pub fn positive() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// Default settings with these options, name and value, and a warning for each number outside its range.
pub fn settings_of(given: &[(String, String)]) -> Result<(Settings, Vec<OutOfRange>), OptionError> {
    let (mut settings, mut bent) = (Settings::default(), Vec::new());
    for (name, value) in given {
        let option = SetOption { name: name.clone(), value: Some(value.clone()) };
        bent.extend(options::apply(&mut settings, &option)?.1);
    }
    Ok((settings, bent))
}

/// The same; prints the warnings to standard error.
pub fn read_settings(given: &[(String, String)]) -> Result<Settings, OptionError> {
    let (settings, bent) = settings_of(given)?;
    bent.iter().for_each(write_stderr);
    Ok(settings)
}

/// A position as the protocol's `position` takes it, whose first word may be missing: `startpos`, a FEN or EPD, and moves behind
/// the word `moves`. Prints what is skipped to standard error.
pub fn read_position(text: &str, chess960: bool) -> Result<Game, GameError> {
    let first = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let before = match first.as_str() {
        "position" => "",
        "startpos" | "fen" => "position ",
        _ => "position fen ",
    };
    let Some((Command::Position { start, moves }, notes)) = uci::parse(&format!("{before}{text}"))
    else {
        return Game::from_fen(text, chess960);
    };
    notes.iter().for_each(write_stderr);
    let mut game = match start {
        StartPosition::Startpos => Game::default(),
        StartPosition::Fen(fen) => Game::from_fen(&fen, chess960)?,
    };
    moves.iter().try_for_each(|word| game.play_uci(word).map(|_| ()))?;
    Ok(game)
}

/// The position at the beginning of `words`, `startpos` or a FEN in quotes or without, and the words after it.
pub fn split_position(words: &[String]) -> (String, &[String]) {
    let is_board = |word: &&String| word.contains('/') && !word.contains(char::is_whitespace);
    let mut count = words.len().min(1);
    if words.first().filter(is_board).is_some() {
        count = words.len().min(4);
        // Counters, of which each may be missing.
        while (4..6).contains(&count) && words.get(count).is_some_and(|word| uci::is_counter(word))
        {
            count += 1;
        }
    }
    (words[..count].join(" "), &words[count..])
}

/// The position at the beginning of `words`, and the moves after it, which may have numbers.
///
/// # Errors
/// Names the position or the move.
pub fn read_line(words: &[String], chess960: bool) -> Result<(Game, Vec<Action>), Failure> {
    let game = read_line_end(words, chess960)?;
    Ok((Game::new(game.start().clone(), game.mode()), game.actions().to_vec()))
}

/// The position after the moves of such a line.
///
/// # Errors
/// As [`read_line`].
pub fn read_line_end(words: &[String], chess960: bool) -> Result<Game, Failure> {
    let (position, moves) = split_position(words);
    // The protocol's own words, or the operations of an EPD.
    let has_operations = |word: &String| {
        ["position", "fen", "moves", "-", ""].contains(&word.as_str()) || word.contains(';')
    };
    if words.len() > 1
        && (words.first().is_some_and(has_operations) || moves.iter().any(has_operations))
    {
        return Ok(read_position(&words.join(" "), chess960)?);
    }
    let mut game = read_position(&position, chess960)?;
    for word in moves.iter().map(|word| without_number(word)).filter(|word| !word.is_empty()) {
        play(&mut game, word)?;
    }
    Ok(game)
}

/// `e4` of `1.e4` and `1...e4`, and nothing of `1.`.
fn without_number(word: &str) -> &str {
    let rest = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if rest.len() < word.len() && rest.starts_with('.') {
        rest.trim_start_matches('.')
    } else {
        word
    }
}

/// Plays a move as [`typed_move`] reads it.
fn play(game: &mut Game, word: &str) -> Result<(), Failure> {
    if let Some(action) = typed_move(game.position(), word) {
        return Ok(game.play(action)?);
    }
    match game.play_uci(word) {
        Err(GameError::NoMove { ply, .. }) => Err(format!(
            "move {ply}, {}, is no legal move in `{}`; expected one like `Nf3` or `g1f3`",
            quote(word),
            game.fen()
        )
        .into()),
        done => Ok(done.map(|_| ())?),
    }
}

/// A whole number of milliseconds.
pub fn read_milliseconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_needs_no_quotes() {
        for (line, position, rest) in [
            ("startpos", "startpos", ""),
            ("startpos e2e4 e7e5", "startpos", "e2e4 e7e5"),
            ("8/8/8/8/8/2k5/8/K6Q w - - 0 1", "8/8/8/8/8/2k5/8/K6Q w - - 0 1", ""),
            ("8/8/8/8/8/2k5/8/K6Q w - - h1h2", "8/8/8/8/8/2k5/8/K6Q w - -", "h1h2"),
            ("8/8/8/8/8/2k5/8/K6Q w - - 7 9 5", "8/8/8/8/8/2k5/8/K6Q w - - 7 9", "5"),
            ("8/8/8/8/8/2k5/8/K6Q w - - - - h1h2", "8/8/8/8/8/2k5/8/K6Q w - - - -", "h1h2"),
            ("8/8/8/8/8/2k5/8/K6Q", "8/8/8/8/8/2k5/8/K6Q", ""),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let (found, after) = split_position(&words);
            assert_eq!((found.as_str(), after.join(" ").as_str()), (position, rest), "{line}");
        }
        let quoted = ["8/8/8/8/8/2k5/8/K6Q w - - 0 1".to_owned(), "3".to_owned()];
        assert_eq!(split_position(&quoted), (quoted[0].clone(), &quoted[1..]));
        let why = read_line_end(&quoted, false).unwrap_err().to_string();
        assert!(why.contains("`3`"), "{why}");
        assert!(read_line_end(&quoted[..1], false).is_ok() && split_position(&[]).0.is_empty());
    }

    #[test]
    fn moves_are_read_in_the_notations_of_uci_and_of_pgn() {
        let end = |line: &str, chess960| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let game = read_line_end(&words, chess960).map_err(|why| why.to_string())?;
            Ok::<String, String>(game.fen())
        };
        let spanish = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3";
        for line in [
            "startpos e2e4 e7e5 g1f3 b8c6 f1b5",
            "startpos e4 e5 Nf3 Nc6 Bb5",
            "startpos 1. e4 e5 2.Nf3 Nc6 3. Bb5!?",
            "startpos E2E4 1...e5 Ng1-f3 b8c6 Bf1b5",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 e4 e7e5 Nf3 Nc6 Bb5",
        ] {
            assert_eq!(end(line, false).as_deref(), Ok(spanish), "{line}");
        }
        let bishop = "4k3/8/8/p1p5/8/8/1B6/4K3 w - - 0 1";
        assert_eq!(end(&format!("{bishop} Bb2d4"), false), end(&format!("{bishop} b2d4"), false));
        let castles = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
        let castled = end(&format!("{castles} O-O"), false);
        assert!(castled.is_ok());
        assert_eq!(end(&format!("{castles} e1g1"), false), castled);
        assert_eq!(end(&format!("{castles} e1h1"), true), castled);
        for (line, part) in [
            ("startpos e4 e4", "move 2, `e4`, is no legal move in `rnbqkbnr"),
            ("startpos e4 Nf3", "move 2, `Nf3`"),
            ("startpos e2e5", "move 1, `e2e5`, is not legal"),
            ("startpos hello", "expected one like `Nf3` or `g1f3`"),
        ] {
            let why = end(line, false).unwrap_err();
            assert!(why.contains(part), "{line}: {why}");
        }
    }

    #[test]
    fn a_position_is_read_as_the_protocol_reads_it() {
        let fen = "8/8/8/8/8/2k5/8/K6Q w - - 0 1";
        for text in [
            fen,
            "8/8/8/8/8/2k5/8/K6Q w - -",
            "8/8/8/8/8/2k5/8/K6Q w - - - -",
            "8/8/8/8/8/2k5/8/K6Q w - - bm Qh8+; id \"x 1\";",
            " 8/8/8/8/8/2k5/8/K6Q\tw  -\n- 0 1\r\n",
            "fen 8/8/8/8/8/2k5/8/K6Q w - - 0 1",
            "position fen 8/8/8/8/8/2k5/8/K6Q w - - 0 1 moves",
        ] {
            assert_eq!(read_position(text, false).map(|game| game.fen()).unwrap(), fen, "{text:?}");
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            assert_eq!(read_line_end(&words, false).unwrap().fen(), fen, "{text:?}");
        }
        let played = read_position("startpos moves e2e4 e7e5", false).unwrap();
        assert_eq!(played.actions().len(), 2);
        for text in ["", "nonsense", "startpos moves e2e5", "isready"] {
            assert!(read_position(text, false).is_err(), "{text}");
        }
    }
}

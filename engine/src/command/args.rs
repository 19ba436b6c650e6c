//! Arguments of several subcommands: UCI options, positions, times.

use super::output::Failure;
use crate::chess::game::{Game, GameError};
use crate::options::settings::Settings;
use crate::options::{self, OptionError, OutOfRange};
use crate::stderr_log::write_stderr;
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

/// The same as [`read_position`] for an argument of several words.
pub fn read_only_position(words: &[String], chess960: bool) -> Result<Game, Failure> {
    Ok(read_position(&words.join(" "), chess960)?)
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
        assert!(split_position(&[]).0.is_empty());
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
            assert_eq!(read_only_position(&words, false).unwrap().fen(), fen, "{text:?}");
        }
        let played = read_position("startpos moves e2e4 e7e5", false).unwrap();
        assert_eq!(played.actions().len(), 2);
        for text in ["", "nonsense", "startpos moves e2e5", "isready"] {
            assert!(read_position(text, false).is_err(), "{text}");
        }
    }
}

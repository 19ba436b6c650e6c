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
use uci::SetOption;

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

/// A FEN, or `startpos`.
pub fn read_position(text: &str, chess960: bool) -> Result<Game, GameError> {
    match text {
        "startpos" => Ok(Game::default()),
        _ => Game::from_fen(text, chess960),
    }
}

/// The position at the beginning of `words`, `startpos` or a FEN in quotes or without, and the words after it.
pub fn split_position(words: &[String]) -> (String, &[String]) {
    let is_board = |word: &&String| word.contains('/') && !word.contains(' ');
    let mut count = words.len().min(1);
    if words.first().filter(is_board).is_some() {
        count = words.len().min(4);
        // Counters, of which each may be missing.
        let is_counter = |word: &String| word.parse::<u32>().is_ok();
        while (4..6).contains(&count) && words.get(count).is_some_and(is_counter) {
            count += 1;
        }
    }
    (words[..count].join(" "), &words[count..])
}

/// The same where nothing may follow.
pub fn read_only_position(words: &[String], chess960: bool) -> Result<Game, Failure> {
    match split_position(words) {
        (position, []) => Ok(read_position(&position, chess960)?),
        (position, [word, ..]) => {
            Err(format!("`{word}` after the position `{position}` is not understood").into())
        }
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
            ("8/8/8/8/8/2k5/8/K6Q", "8/8/8/8/8/2k5/8/K6Q", ""),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let (found, after) = split_position(&words);
            assert_eq!((found.as_str(), after.join(" ").as_str()), (position, rest), "{line}");
        }
        let quoted = ["8/8/8/8/8/2k5/8/K6Q w - - 0 1".to_owned(), "3".to_owned()];
        assert_eq!(split_position(&quoted), (quoted[0].clone(), &quoted[1..]));
        let why = read_only_position(&quoted, false).unwrap_err().to_string();
        assert!(why.contains("`3`"), "{why}");
        assert!(
            read_only_position(&quoted[..1], false).is_ok() && split_position(&[]).0.is_empty()
        );
    }
}

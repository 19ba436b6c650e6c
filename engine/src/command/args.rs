//! Arguments of several subcommands: UCI options, positions, times.

use crate::chess::game::{Game, GameError};
use crate::options::settings::Settings;
use crate::options::{self, OptionError, OutOfRange};
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
    bent.iter().for_each(|bent| eprintln!("{bent}"));
    Ok(settings)
}

/// A FEN, or `startpos`.
pub fn read_position(text: &str, chess960: bool) -> Result<Game, GameError> {
    match text {
        "startpos" => Ok(Game::default()),
        _ => Game::from_fen(text, chess960),
    }
}

/// A whole number of milliseconds.
pub fn read_milliseconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_millis)
}

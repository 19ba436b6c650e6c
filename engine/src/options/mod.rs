//! The options: one table (`table`) that feeds `uci`, `setoption` and the documentation.
//!
//! An entry knows its name, its kind with range and access to its field of [`Settings`], what the engine
//! has to do after a change, and its help text. Values are parsed here once; the rest of the engine sees
//! the typed [`Settings`], whose `Default` has the defaults.

use crate::options::settings::Settings;
use chess::quote::{quote, shorten};
use std::fmt::{self, Write as _};
use uci::{OptionKind, OptionSpec, SetOption};

mod entry;
pub mod settings;
mod table;

pub use entry::{Effect, Entry, Kind};

/// Longest part of a refused number that a message repeats, in characters.
const LONGEST_NUMBER: usize = 40;

/// Which options are listed. All of them are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Those that a user may want to change.
    Everyday,
    /// The others as well: for a few users, and constants of the search.
    All,
}

/// The options, in the order they are listed.
pub fn table(shown: Shown) -> impl Iterator<Item = &'static Entry> {
    let hidden = match shown {
        Shown::Everyday => &[],
        Shown::All => table::HIDDEN,
    };
    table::EVERYDAY.iter().chain(hidden)
}

/// Why an option was not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// No option has this name.
    Unknown(String),
    /// The value is of another type.
    Value {
        /// The option's name.
        option: &'static str,
        /// Values that would be understood.
        expected: String,
        /// The value given.
        given: String,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionError::Unknown(name) => write!(f, "no option is named {}", quote(name)),
            OptionError::Value { option, expected, given } => {
                write!(f, "option {option}: expected {expected}, got {}", quote(given))
            }
        }
    }
}

impl std::error::Error for OptionError {}

/// A value outside its range, and what was taken instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    option: &'static str,
    given: String,
    range: String,
    used: String,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfRange { option, given, range, used } = self;
        let given = shorten(given, LONGEST_NUMBER);
        write!(f, "option {option}: {given} is outside {range}; using {used}")
    }
}

/// Applies one `setoption`. Answers the effect it must have and, for a number outside its range, what
/// was taken instead.
///
/// # Errors
/// No such option, or a value it does not understand; nothing is changed.
pub fn apply(
    settings: &mut Settings,
    option: &SetOption,
) -> Result<(Effect, Option<OutOfRange>), OptionError> {
    let name = option.name.trim();
    let entry = find(name).ok_or_else(|| OptionError::Unknown(name.to_owned()))?;
    let given = option.value.as_deref().unwrap_or("").trim();
    Ok((entry.effect, entry.store(settings, given)?))
}

/// The entry of that name, whatever its case.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    table(Shown::All).find(|entry| entry.name.eq_ignore_ascii_case(name))
}

impl Entry {
    fn store(
        &self,
        settings: &mut Settings,
        given: &str,
    ) -> Result<Option<OutOfRange>, OptionError> {
        let refused = |expected: String| OptionError::Value {
            option: self.name,
            expected,
            given: given.to_owned(),
        };
        match self.kind {
            Kind::Button => {}
            Kind::Text { set, .. } => set(settings, if given == "<empty>" { "" } else { given }),
            Kind::Check { set, .. } => match given.to_ascii_lowercase().as_str() {
                "true" | "on" | "1" => set(settings, true),
                "false" | "off" | "0" => set(settings, false),
                _ => return Err(refused("true or false".to_owned())),
            },
            Kind::Combo { names, set, .. } => {
                set(settings, given)
                    .ok_or_else(|| refused(format!("one of {}", names().join(", "))))?;
            }
            Kind::Spin { min, max, set, .. } => {
                let range = format!("{min} to {max}");
                let wide: i128 =
                    given.parse().map_err(|_| refused(format!("a whole number from {range}")))?;
                let near = wide.clamp(i128::from(min), i128::from(max));
                // Clamped, it fits.
                let value = i32::try_from(near).unwrap_or(min);
                set(settings, value);
                return Ok((near != wide).then(|| self.bent(given, range, value.to_string())));
            }
            Kind::Real { min, max, set, .. } => {
                let range = format!("{min} to {max}");
                let wide = given.parse::<f32>().ok().filter(|value| !value.is_nan());
                let wide = wide.ok_or_else(|| refused(format!("a number from {range}")))?;
                let value = wide.clamp(min, max);
                set(settings, value);
                return Ok((value != wide).then(|| self.bent(given, range, value.to_string())));
            }
        }
        Ok(None)
    }

    fn bent(&self, given: &str, range: String, used: String) -> OutOfRange {
        OutOfRange { option: self.name, given: given.to_owned(), range, used }
    }

    /// The option in the words of `uci`, with its value in `settings` as default.
    fn spec(&self, settings: &Settings) -> OptionSpec {
        let kind = match self.kind {
            Kind::Check { get, .. } => OptionKind::Check { default: get(settings) },
            Kind::Spin { min, max, get, .. } => {
                OptionKind::Spin { default: get(settings), min: min.into(), max: max.into() }
            }
            Kind::Real { get, .. } => OptionKind::Text { default: get(settings).to_string() },
            Kind::Combo { names, get, .. } => OptionKind::Combo {
                default: get(settings).to_owned(),
                choices: names().into_iter().map(str::to_owned).collect(),
            },
            Kind::Text { get, .. } => OptionKind::Text { default: get(settings).to_owned() },
            Kind::Button => OptionKind::Button,
        };
        OptionSpec { name: self.name.to_owned(), kind }
    }
}

/// The table in the words of `uci`, with the defaults, and the choice of a graphics card where there are several.
pub fn specs(shown: Shown) -> impl Iterator<Item = OptionSpec> {
    let settings = Settings::default();
    let several = || nn::device::adapters().is_ok_and(|adapters| adapters.len() > 1);
    let choice = (shown == Shown::Everyday && several()).then(|| find(table::ADAPTER)).flatten();
    table(shown).chain(choice).map(move |entry| entry.spec(&settings))
}

/// The table as Markdown.
#[must_use]
pub fn markdown(shown: Shown) -> String {
    let settings = &Settings::default();
    let mut out = "| option | default | values | meaning |\n|---|---|---|---|\n".to_owned();
    for entry in table(shown) {
        let (default, values) = match entry.kind {
            Kind::Check { get, .. } => (get(settings).to_string(), "true, false".to_owned()),
            Kind::Spin { min, max, get, .. } => {
                (get(settings).to_string(), format!("{min} to {max}"))
            }
            Kind::Real { min, max, get, .. } => {
                (get(settings).to_string(), format!("{min} to {max}, fractions"))
            }
            Kind::Combo { names, get, .. } => (get(settings).to_owned(), names().join(", ")),
            Kind::Text { get, .. } => (get(settings).to_owned(), "text".to_owned()),
            Kind::Button => (String::new(), "button".to_owned()),
        };
        let _ = writeln!(out, "| `{}` | {default} | {values} | {} |", entry.name, entry.help);
    }
    out
}

#[cfg(test)]
mod tests;

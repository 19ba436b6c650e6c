//! The options: one table (`table`) that feeds `uci`, `setoption` and the documentation.
//!
//! An entry knows its name, its kind with range and access to its field of [`Settings`], what the engine
//! has to do after a change, and its help text. Values are parsed here once; the rest of the engine sees
//! the typed [`Settings`], whose `Default` has the defaults.

use crate::play::settings::{Backend, Search, Settings, VirtualRule};
use crate::world::WorldModel;
use crate::world::rules::{LeafActionValue, Scoring};
use mcts::{FinalMove, Fpu, VirtualValue};
use std::fmt::{self, Write as _};
use uci::{OptionKind, OptionSpec, SetOption};

/// One option.
pub struct Entry {
    /// As the GUI shows it; any case is understood.
    pub name: &'static str,
    /// Type, range and field.
    pub kind: Kind,
    /// What follows a change.
    pub effect: Effect,
    /// One or two sentences for the documentation.
    pub help: &'static str,
}

/// Type and range of an option, with access to its field in [`Settings`].
#[allow(missing_docs, reason = "the fields mean the same in every kind: range, reader, writer")]
#[derive(Clone, Copy)]
pub enum Kind {
    /// `true` or `false`.
    Check { get: fn(&Settings) -> bool, set: fn(&mut Settings, bool) },
    /// A whole number from `min` to `max`.
    Spin { min: u32, max: u32, get: fn(&Settings) -> u64, set: fn(&mut Settings, u32) },
    /// A fraction from `min` to `max`. UCI has no such type: a GUI sees a string.
    Real { min: f32, max: f32, get: fn(&Settings) -> f32, set: fn(&mut Settings, f32) },
    /// One of a few names. `set` answers None, and changes nothing, for any other.
    Combo {
        names: fn() -> Vec<&'static str>,
        get: fn(&Settings) -> &'static str,
        set: fn(&mut Settings, &str) -> Option<()>,
    },
    /// Any text.
    Text { get: fn(&Settings) -> &str, set: fn(&mut Settings, &str) },
    /// No value: pressing it has an effect.
    Button,
}

/// What the engine does after an option was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: whoever needs the value reads it.
    None,
    /// Drops the search tree if the value changed: what is in it was found under the old one.
    NewTree,
    /// Drops the search tree and the evaluation cache.
    Forget,
    /// Starts the random numbers anew.
    Reseed,
    /// Looks for endgame tables, and drops the search tree.
    FindTables,
    /// Opens or closes the log file.
    OpenLog,
    /// Says so if the machine has fewer cores.
    CheckThreads,
}

/// A type with a name for each of its values, as a combo box lists them.
trait Choice: Copy + PartialEq + 'static {
    /// Every value, in the order of the list.
    const ALL: &'static [Self];

    fn name(self) -> &'static str;

    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|choice| choice.name()).collect()
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.name().eq_ignore_ascii_case(name))
    }
}

macro_rules! choice {
    ($type:ident: $($value:ident $name:literal),+) => {
        impl Choice for $type {
            const ALL: &'static [$type] = &[$($type::$value),+];

            fn name(self) -> &'static str {
                match self { $($type::$value => $name),+ }
            }
        }
    };
}

choice!(Backend: Auto "auto", Cpu "cpu", Cuda "cuda");
choice!(Search: Mcts "mcts", ActionValue "action-value", StateValue "state-value", Policy "policy", Rollout "rollout");
choice!(WorldModel: Rules "rules", Learned "learned", LearnedTwice "learned-twice");
choice!(VirtualRule: Dynamic "dynamic", Static "static");
choice!(FinalMove: Robust "robust", Max "max");
choice!(Fpu: ActionValue "action-value", ParentQ "parent");
choice!(LeafActionValue: Best "best", Expected "expected");
choice!(VirtualValue: Loss "loss", Mean "mean");
choice!(Scoring: Mean "mean", Max "max");

macro_rules! check {
    ($field:ident) => {
        Kind::Check { get: |s| s.$field, set: |s, value| s.$field = value }
    };
}

macro_rules! spin {
    ($field:ident: $type:ty, $min:literal to $max:literal) => {
        Kind::Spin {
            min: $min,
            max: $max,
            get: |s| s.$field as u64,
            set: |s, value| s.$field = value as $type,
        }
    };
}

macro_rules! real {
    ($field:ident, $min:literal to $max:literal) => {
        Kind::Real { min: $min, max: $max, get: |s| s.$field, set: |s, value| s.$field = value }
    };
}

macro_rules! combo {
    ($field:ident: $type:ty) => {
        Kind::Combo {
            names: <$type>::names,
            get: |s| s.$field.name(),
            set: |s, name| <$type>::named(name).map(|value| s.$field = value),
        }
    };
}

macro_rules! text {
    ($field:ident) => {
        Kind::Text { get: |s| &s.$field, set: |s, value| s.$field = value.to_owned() }
    };
}

mod table;

/// Which options are listed. All of them are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Those that a user may want to change.
    Everyday,
    /// The constants of the search as well.
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
        /// What would be understood.
        expected: String,
        /// What came.
        given: String,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionError::Unknown(name) => write!(f, "no option is named `{name}`"),
            OptionError::Value { option, expected, given } => {
                write!(f, "option {option}: expected {expected}, got `{given}`")
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
                let value = u32::try_from(near).unwrap_or(min);
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
            Kind::Spin { min, max, get, .. } => OptionKind::Spin {
                // Within a range of 32 bits.
                default: get(settings) as i64,
                min: min.into(),
                max: max.into(),
            },
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

/// The table in the words of `uci`, with the defaults.
pub fn specs(shown: Shown) -> impl Iterator<Item = OptionSpec> {
    let settings = Settings::default();
    table(shown).map(move |entry| entry.spec(&settings))
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

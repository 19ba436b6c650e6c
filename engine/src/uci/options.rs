//! The options: one table that feeds `uci`, `setoption` and the documentation.
//!
//! An entry knows its name, its kind with range and access to its field of [`Settings`], what the engine
//! has to do after a change, and its help text. Values are parsed here once; the rest of the engine sees
//! the typed [`Settings`], whose `Default` has the defaults.

use crate::play::settings::{Backend, Search, Settings, VirtualRule};
use crate::world::WorldModel;
use crate::world::rules::Scoring;
use mcts::FinalMove;
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
    /// A fraction from `min` to `max`. UCI has none: told to the GUI as a string.
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

/// Every option, in the order a GUI shows them.
pub static TABLE: &[Entry] = &[
    Entry {
        name: "Hash",
        kind: spin!(hash_mb: usize, 1 to 1_048_576),
        effect: Effect::None,
        help: "Memory for the search tree, in MB. The network, its cache and about 100 MB come on top.",
    },
    Entry {
        name: "NNCacheSize",
        kind: spin!(nn_cache_mb: usize, 0 to 65_536),
        effect: Effect::None,
        help: "Memory for cached network evaluations, in MB; 0 turns the cache off.",
    },
    Entry {
        name: "Clear Hash",
        kind: Kind::Button,
        effect: Effect::Forget,
        help: "Clears the search tree and the evaluation cache.",
    },
    Entry {
        name: "Threads",
        kind: spin!(threads: usize, 1 to 1024),
        effect: Effect::CheckThreads,
        help: "Number of search threads, at most one for each processor core.",
    },
    Entry {
        name: "MultiPV",
        kind: spin!(multipv: usize, 1 to 256),
        effect: Effect::None,
        help: "Number of best lines to report.",
    },
    Entry {
        name: "Ponder",
        kind: check!(ponder),
        effect: Effect::None,
        help: "The GUI lets the engine think on the opponent's time, so each move may use a little more of its own.",
    },
    Entry {
        name: "Move Overhead",
        kind: spin!(move_overhead: i64, 0 to 5_000),
        effect: Effect::None,
        help: "Time reserved for communication with the GUI, in milliseconds; never more than 5 % of the clock.",
    },
    Entry {
        name: "WeightsFile",
        kind: text!(weights_file),
        effect: Effect::None,
        help: "Path of a network file; empty for the built-in network, which also plays if the file cannot be used.",
    },
    Entry {
        name: "Backend",
        kind: combo!(backend: Backend),
        effect: Effect::None,
        help: "Device that runs the network.",
    },
    Entry {
        name: "Search",
        kind: combo!(search: Search),
        effect: Effect::NewTree,
        help: "How the move is chosen: tree search, one head of the network without search, or tree search with random games in place of the network.",
    },
    Entry {
        name: "WorldModel",
        kind: combo!(world_model: WorldModel),
        effect: Effect::NewTree,
        help: "Where the tree search looks ahead: by the rules of chess, or in positions imagined by the network, which take up to as much memory again as `Hash`. `learned-twice` evaluates each imagined position once more: stronger, half as fast.",
    },
    Entry {
        name: "MinibatchSize",
        kind: spin!(minibatch_size: usize, 0 to 1024),
        effect: Effect::NewTree,
        help: "Positions a thread gathers before it runs the network; 0 for what suits the device.",
    },
    Entry {
        name: "CPuct",
        kind: real!(c_puct, 0.0 to 16.0),
        effect: Effect::NewTree,
        help: "Exploration constant of PUCT; it grows with the number of visits.",
    },
    Entry {
        name: "PriorTemperature",
        kind: real!(prior_temperature, 0.001 to 10.0),
        effect: Effect::NewTree,
        help: "Softmax temperature of the action values in the prior.",
    },
    Entry {
        name: "PriorTopK",
        kind: spin!(prior_top_k: usize, 1 to 256),
        effect: Effect::NewTree,
        help: "Number of moves with the highest action values that share this softmax.",
    },
    Entry {
        name: "PriorEpsilon",
        kind: real!(prior_epsilon, 0.0 to 1.0),
        effect: Effect::NewTree,
        help: "Share of the action-value prior spread evenly over all legal moves.",
    },
    Entry {
        name: "PolicyShare",
        kind: real!(policy_share, 0.0 to 1.0),
        effect: Effect::NewTree,
        help: "Weight of the policy head in the prior; the action values have the rest.",
    },
    Entry {
        name: "StateValueShare",
        kind: real!(state_value_share, 0.0 to 1.0),
        effect: Effect::NewTree,
        help: "Weight of the state-value head in the value backed up; the best action value has the rest.",
    },
    Entry {
        name: "VirtualCounts",
        kind: combo!(virtual_counts: VirtualRule),
        effect: Effect::NewTree,
        help: "Virtual visits of playouts in flight: halved at each ply above the leaf, or constant.",
    },
    Entry {
        name: "VirtualMin",
        kind: spin!(virtual_min: u32, 1 to 64),
        effect: Effect::NewTree,
        help: "Smallest dynamic virtual count.",
    },
    Entry {
        name: "VirtualMax",
        kind: spin!(virtual_max: u32, 1 to 64),
        effect: Effect::NewTree,
        help: "Dynamic virtual count at the leaf.",
    },
    Entry {
        name: "VirtualStatic",
        kind: spin!(virtual_static: u32, 1 to 64),
        effect: Effect::NewTree,
        help: "Virtual count if `VirtualCounts` is `static`.",
    },
    Entry {
        name: "FinalMove",
        kind: combo!(final_move: FinalMove),
        effect: Effect::NewTree,
        help: "The move played: the most visited, or the one with the highest value.",
    },
    Entry {
        name: "Scoring",
        kind: combo!(scoring: Scoring),
        effect: Effect::NewTree,
        help: "Value taken from a predicted distribution: its mean, or the centre of its most likely bucket.",
    },
    Entry {
        name: "Temperature",
        kind: real!(temperature, 0.0 to 10.0),
        effect: Effect::None,
        help: "Randomness in the first moves of a game, drawn by visits, values or policy, whichever decides; 0 plays the best move.",
    },
    Entry {
        name: "TemperatureMoves",
        kind: spin!(temperature_moves: u32, 0 to 1000),
        effect: Effect::None,
        help: "Last move number to which `Temperature` applies.",
    },
    Entry {
        name: "Seed",
        kind: spin!(seed: u64, 0 to 2_147_483_647),
        effect: Effect::Reseed,
        help: "Seed of the moves drawn by `Temperature`: setting it again repeats them; 0 draws others each time.",
    },
    Entry {
        name: "UCI_Chess960",
        kind: check!(chess960),
        effect: Effect::None,
        help: "Chess960: castling is written as king takes rook.",
    },
    Entry {
        name: "UCI_ShowWDL",
        kind: check!(uci_show_wdl),
        effect: Effect::None,
        help: "Adds win, draw and loss probabilities (per mille) to `info`.",
    },
    Entry {
        name: "ShowWDL",
        kind: check!(show_wdl),
        effect: Effect::None,
        help: "The same, for GUIs that hide options named `UCI_…`; either option turns it on.",
    },
    Entry {
        name: "Log File",
        kind: text!(log_file),
        effect: Effect::OpenLog,
        help: "File that records every line between GUI and engine, with its time.",
    },
];

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
    TABLE.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
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

    /// The option as the GUI is told, with its value in `settings` as default.
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

/// The table as the GUI is told.
pub fn specs() -> impl Iterator<Item = OptionSpec> {
    let settings = Settings::default();
    TABLE.iter().map(move |entry| entry.spec(&settings))
}

/// The table as Markdown, for the README.
#[must_use]
pub fn markdown() -> String {
    let settings = &Settings::default();
    let mut out = "| option | default | values | meaning |\n|---|---|---|---|\n".to_owned();
    for entry in TABLE {
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

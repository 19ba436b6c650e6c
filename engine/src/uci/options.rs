//! The options: one table that feeds `uci`, `setoption`, the documentation and the defaults.
//!
//! An entry knows its name, kind, default, range and help, and how to store a value. Values are parsed
//! here once; the rest of the engine sees the typed [`Settings`].

use crate::world::rules::Scoring;
use mcts::FinalMove;
use std::fmt::Write as _;
use uci::{OptionKind, OptionSpec, SetOption};

/// How the move is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Monte-Carlo tree search with the network (paper 000, section 3).
    Mcts,
    /// The network's best action value, no search.
    ActionValue,
    /// The successor the network's value head likes least for the opponent, no further search.
    StateValue,
    /// The network's policy, no search.
    Policy,
    /// Tree search without a network: random games judge.
    Rollout,
}

pub use crate::world::WorldModel;
pub use nn::device::Backend;

/// The options' current values.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub hash_mb: usize,
    /// 0 = none.
    pub nn_cache_mb: usize,
    pub threads: usize,
    pub multipv: usize,
    pub ponder: bool,
    pub chess960: bool,
    pub show_wdl: bool,
    /// Milliseconds.
    pub move_overhead: i64,
    /// Empty = the network built into the executable.
    pub weights_file: String,
    pub backend: Backend,
    pub search: Search,
    pub world_model: WorldModel,
    /// 0 = what the device prefers.
    pub minibatch_size: usize,
    pub c_puct: f32,
    pub prior_temperature: f32,
    pub prior_top_k: usize,
    pub prior_epsilon: f32,
    pub policy_share: f32,
    pub state_value_share: f32,
    pub dynamic_virtual_counts: bool,
    pub virtual_min: u32,
    pub virtual_max: u32,
    pub static_virtual: u32,
    pub final_move: FinalMove,
    pub scoring: Scoring,
    /// 0 = always the best move.
    pub temperature: f32,
    pub temperature_moves: u32,
    /// 0 = another one each time.
    pub seed: u64,
    /// Empty = no log file.
    pub log_file: String,
}

/// Type, default and range of one option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Check(bool),
    Spin {
        default: i64,
        min: i64,
        max: i64,
    },
    /// UCI has no fractions: told to the GUI as a string.
    Real {
        default: f64,
        min: f64,
        max: f64,
    },
    Combo {
        default: &'static str,
        choices: &'static [&'static str],
    },
    Text(&'static str),
    Button,
}

/// One option.
pub struct Entry {
    pub name: &'static str,
    pub kind: Kind,
    pub help: &'static str,
    store: fn(&mut Settings, &Value<'_>),
}

/// A value of the kind its entry asks for; the accessors answer neutrally for any other kind.
enum Value<'a> {
    Check(bool),
    Spin(i64),
    Real(f64),
    Text(&'a str),
    Press,
}

impl Value<'_> {
    fn flag(&self) -> bool {
        matches!(self, Value::Check(true))
    }
    fn int(&self) -> i64 {
        if let Value::Spin(value) = self { *value } else { 0 }
    }
    fn size(&self) -> usize {
        usize::try_from(self.int()).unwrap_or(0)
    }
    fn count(&self) -> u32 {
        u32::try_from(self.int()).unwrap_or(0)
    }
    fn real(&self) -> f32 {
        if let Value::Real(value) = self { *value as f32 } else { 0.0 }
    }
    fn text(&self) -> &str {
        if let Value::Text(value) = self { value } else { "" }
    }
}

/// Every option, in the order a GUI shows them.
pub static TABLE: &[Entry] = &[
    Entry {
        name: "Hash",
        kind: Kind::Spin { default: 64, min: 1, max: 1_048_576 },
        help: "Memory for the search tree, in MB. The network, its cache and about 100 MB come on top.",
        store: |s, v| s.hash_mb = v.size(),
    },
    Entry {
        name: "NNCacheSize",
        kind: Kind::Spin { default: 16, min: 0, max: 65_536 },
        help: "Memory for the network's answers, in MB, so that no position is evaluated twice; 0 for none.",
        store: |s, v| s.nn_cache_mb = v.size(),
    },
    Entry {
        name: "Clear Hash",
        kind: Kind::Button,
        help: "Forgets the search tree.",
        store: |_, _| {},
    },
    Entry {
        name: "Threads",
        kind: Kind::Spin { default: 2, min: 1, max: 1024 },
        help: "Search threads. More than the processor has cores are not used.",
        store: |s, v| s.threads = v.size(),
    },
    Entry {
        name: "MultiPV",
        kind: Kind::Spin { default: 1, min: 1, max: 256 },
        help: "Number of best lines to report.",
        store: |s, v| s.multipv = v.size(),
    },
    Entry {
        name: "Ponder",
        kind: Kind::Check(false),
        help: "The GUI lets the engine think on the opponent's time, so each move may use a little more of its own.",
        store: |s, v| s.ponder = v.flag(),
    },
    Entry {
        name: "Move Overhead",
        kind: Kind::Spin { default: 50, min: 0, max: 5_000 },
        help: "Milliseconds kept back for the way to the GUI; never more than 5 % of the clock.",
        store: |s, v| s.move_overhead = v.int(),
    },
    Entry {
        name: "WeightsFile",
        kind: Kind::Text(""),
        help: "Network file; empty for the built-in network. If it cannot be used, the built-in one plays.",
        store: |s, v| s.weights_file = v.text().to_owned(),
    },
    Entry {
        name: "Backend",
        kind: Kind::Combo { default: "auto", choices: &["auto", "cpu", "cuda"] },
        help: "Device that computes the network.",
        store: |s, v| {
            s.backend = match v.text() {
                "cpu" => Backend::Cpu,
                "cuda" => Backend::Cuda,
                _ => Backend::Auto,
            };
        },
    },
    Entry {
        name: "Search",
        kind: Kind::Combo {
            default: "mcts",
            choices: &["mcts", "action-value", "state-value", "policy", "rollout"],
        },
        help: "How the move is chosen: tree search, one head of the network without search, or tree search judged by random games.",
        store: |s, v| {
            s.search = match v.text() {
                "action-value" => Search::ActionValue,
                "state-value" => Search::StateValue,
                "policy" => Search::Policy,
                "rollout" => Search::Rollout,
                _ => Search::Mcts,
            };
        },
    },
    Entry {
        name: "WorldModel",
        kind: Kind::Combo { default: "rules", choices: &["rules", "learned", "learned-twice"] },
        help: "Where tree search looks ahead: by the rules of chess, or in the network's imagination, which takes up to as much memory again as `Hash`; or there with a second look at each imagined position: stronger, half as fast.",
        store: |s, v| s.world_model = WorldModel::named(v.text()),
    },
    Entry {
        name: "MinibatchSize",
        kind: Kind::Spin { default: 0, min: 0, max: 1024 },
        help: "Positions a thread gathers before it asks the network; 0 for what the device prefers.",
        store: |s, v| s.minibatch_size = v.size(),
    },
    Entry {
        name: "CPuct",
        kind: Kind::Real { default: 0.87, min: 0.0, max: 16.0 },
        help: "Exploration constant of PUCT; it grows with the visits.",
        store: |s, v| s.c_puct = v.real(),
    },
    Entry {
        name: "PriorTemperature",
        kind: Kind::Real { default: 0.1, min: 0.001, max: 10.0 },
        help: "Temperature of the prior over action values.",
        store: |s, v| s.prior_temperature = v.real(),
    },
    Entry {
        name: "PriorTopK",
        kind: Kind::Spin { default: 5, min: 1, max: 256 },
        help: "Number of best moves that share the prior.",
        store: |s, v| s.prior_top_k = v.size(),
    },
    Entry {
        name: "PriorEpsilon",
        kind: Kind::Real { default: 0.05, min: 0.0, max: 1.0 },
        help: "Share of the prior spread evenly over all legal moves.",
        store: |s, v| s.prior_epsilon = v.real(),
    },
    Entry {
        name: "PolicyShare",
        kind: Kind::Real { default: 0.8, min: 0.0, max: 1.0 },
        help: "Weight of the policy head in the prior; the action values have the rest.",
        store: |s, v| s.policy_share = v.real(),
    },
    Entry {
        name: "StateValueShare",
        kind: Kind::Real { default: 0.5, min: 0.0, max: 1.0 },
        help: "Weight of the state-value head in the value backed up; the best action value has the rest.",
        store: |s, v| s.state_value_share = v.real(),
    },
    Entry {
        name: "VirtualCounts",
        kind: Kind::Combo { default: "dynamic", choices: &["dynamic", "static"] },
        help: "Virtual visits of playouts in flight: halved at each step above the leaf, or constant.",
        store: |s, v| s.dynamic_virtual_counts = v.text() == "dynamic",
    },
    Entry {
        name: "VirtualMin",
        kind: Kind::Spin { default: 2, min: 1, max: 64 },
        help: "Least dynamic virtual count.",
        store: |s, v| s.virtual_min = v.count(),
    },
    Entry {
        name: "VirtualMax",
        kind: Kind::Spin { default: 8, min: 1, max: 64 },
        help: "Dynamic virtual count at the leaf.",
        store: |s, v| s.virtual_max = v.count(),
    },
    Entry {
        name: "VirtualStatic",
        kind: Kind::Spin { default: 10, min: 1, max: 64 },
        help: "Virtual count where it is static.",
        store: |s, v| s.static_virtual = v.count(),
    },
    Entry {
        name: "FinalMove",
        kind: Kind::Combo { default: "robust", choices: &["robust", "max"] },
        help: "The move played: the one visited most, or the one valued best.",
        store: |s, v| {
            s.final_move = if v.text() == "max" { FinalMove::Max } else { FinalMove::Robust }
        },
    },
    Entry {
        name: "Scoring",
        kind: Kind::Combo { default: "mean", choices: &["mean", "max"] },
        help: "Action value and state value: mean of the predicted distribution, or its most likely bucket.",
        store: |s, v| s.scoring = if v.text() == "max" { Scoring::Max } else { Scoring::Mean },
    },
    Entry {
        name: "Temperature",
        kind: Kind::Real { default: 0.0, min: 0.0, max: 10.0 },
        help: "Variety in the first moves, drawn by visits, values or policy as the search goes; 0 for the best move.",
        store: |s, v| s.temperature = v.real(),
    },
    Entry {
        name: "TemperatureMoves",
        kind: Kind::Spin { default: 5, min: 0, max: 1000 },
        help: "Number of the last move of a game that the temperature applies to.",
        store: |s, v| s.temperature_moves = v.count(),
    },
    Entry {
        name: "Seed",
        kind: Kind::Spin { default: 0, min: 0, max: 2_147_483_647 },
        help: "Of the draws by temperature: set again, they repeat; 0 for others each time.",
        store: |s, v| s.seed = u64::from(v.count()),
    },
    Entry {
        name: "UCI_Chess960",
        kind: Kind::Check(false),
        help: "Castling is written as king takes rook.",
        store: |s, v| s.chess960 = v.flag(),
    },
    Entry {
        name: "UCI_ShowWDL",
        kind: Kind::Check(false),
        help: "Adds win, draw and loss chances (per mille) to `info`.",
        store: |s, v| s.show_wdl = v.flag(),
    },
    Entry {
        name: "ShowWDL",
        kind: Kind::Check(false),
        help: "The same, for GUIs that hide options named `UCI_…`.",
        store: |s, v| s.show_wdl = v.flag(),
    },
    Entry {
        name: "Log File",
        kind: Kind::Text(""),
        help: "Writes every line between GUI and engine, with its time, to this file.",
        store: |s, v| s.log_file = v.text().to_owned(),
    },
];

impl Default for Settings {
    fn default() -> Settings {
        let mut settings = Settings {
            hash_mb: 0,
            nn_cache_mb: 0,
            threads: 0,
            multipv: 0,
            ponder: false,
            chess960: false,
            show_wdl: false,
            move_overhead: 0,
            weights_file: String::new(),
            backend: Backend::Auto,
            search: Search::Mcts,
            world_model: WorldModel::Rules,
            minibatch_size: 0,
            c_puct: 0.0,
            prior_temperature: 0.0,
            prior_top_k: 0,
            prior_epsilon: 0.0,
            policy_share: 0.0,
            state_value_share: 0.0,
            dynamic_virtual_counts: false,
            virtual_min: 0,
            virtual_max: 0,
            static_virtual: 0,
            final_move: FinalMove::Robust,
            scoring: Scoring::Mean,
            temperature: 0.0,
            temperature_moves: 0,
            seed: 0,
            log_file: String::new(),
        };
        // The table is the only place where a default is written.
        for entry in TABLE {
            (entry.store)(&mut settings, &entry.kind.default_value());
        }
        settings
    }
}

impl Kind {
    fn default_value(&self) -> Value<'static> {
        match self {
            Kind::Check(default) => Value::Check(*default),
            Kind::Spin { default, .. } => Value::Spin(*default),
            Kind::Real { default, .. } => Value::Real(*default),
            Kind::Combo { default, .. } | Kind::Text(default) => Value::Text(default),
            Kind::Button => Value::Press,
        }
    }

    /// Reads `text`. The note tells what was bent to fit.
    fn read<'a>(&self, text: Option<&'a str>) -> Result<(Value<'a>, Option<String>), String>
    where
        Self: 'a,
    {
        let given = text.unwrap_or("").trim();
        match *self {
            Kind::Button => Ok((Value::Press, None)),
            Kind::Text(_) => Ok((Value::Text(if given == "<empty>" { "" } else { given }), None)),
            Kind::Check(_) => match given.to_ascii_lowercase().as_str() {
                "true" | "on" | "1" => Ok((Value::Check(true), None)),
                "false" | "off" | "0" => Ok((Value::Check(false), None)),
                _ => Err(format!("expected true or false, got `{given}`")),
            },
            Kind::Spin { min, max, .. } => {
                let wide: i128 = given.parse().map_err(|_| {
                    format!("expected a whole number from {min} to {max}, got `{given}`")
                })?;
                let value =
                    i64::try_from(wide.clamp(i128::from(min), i128::from(max))).unwrap_or(min);
                let note = (i128::from(value) != wide)
                    .then(|| format!("{wide} is outside {min} to {max}; using {value}"));
                Ok((Value::Spin(value), note))
            }
            Kind::Real { min, max, .. } => {
                let wide = given.parse::<f64>().ok().filter(|value| value.is_finite());
                let wide = wide.ok_or_else(|| {
                    format!("expected a number from {min} to {max}, got `{given}`")
                })?;
                let value = wide.clamp(min, max);
                let note = (value != wide)
                    .then(|| format!("{wide} is outside {min} to {max}; using {value}"));
                Ok((Value::Real(value), note))
            }
            Kind::Combo { choices, .. } => choices
                .iter()
                .find(|choice| choice.eq_ignore_ascii_case(given))
                .map(|choice| (Value::Text(choice), None))
                .ok_or_else(|| format!("expected one of {}, got `{given}`", choices.join(", "))),
        }
    }

    fn to_uci(self) -> OptionKind {
        match self {
            Kind::Check(default) => OptionKind::Check { default },
            Kind::Spin { default, min, max } => OptionKind::Spin { default, min, max },
            Kind::Real { default, .. } => OptionKind::Text { default: default.to_string() },
            Kind::Combo { default, choices } => OptionKind::Combo {
                default: default.to_owned(),
                choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
            },
            Kind::Text(default) => OptionKind::Text { default: default.to_owned() },
            Kind::Button => OptionKind::Button,
        }
    }
}

impl Settings {
    /// Applies one `setoption`. A note tells what was bent to fit.
    ///
    /// # Errors
    /// Names the option and what was expected; nothing is changed.
    pub fn set(&mut self, option: &SetOption) -> Result<Option<String>, String> {
        let name = option.name.trim();
        let entry = find(name).ok_or_else(|| format!("no option is named `{name}`"))?;
        let (value, note) = entry
            .kind
            .read(option.value.as_deref())
            .map_err(|why| format!("option {}: {why}", entry.name))?;
        (entry.store)(self, &value);
        Ok(note.map(|note| format!("option {}: {note}", entry.name)))
    }
}

/// The entry of that name, whatever its case.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// The table as the GUI is told.
pub fn specs() -> impl Iterator<Item = OptionSpec> {
    TABLE.iter().map(|entry| OptionSpec { name: entry.name.to_owned(), kind: entry.kind.to_uci() })
}

/// The table as Markdown, for the README.
#[must_use]
pub fn markdown() -> String {
    let mut out = "| option | default | values | meaning |\n|---|---|---|---|\n".to_owned();
    for entry in TABLE {
        let (default, values) = match entry.kind {
            Kind::Check(default) => (default.to_string(), "true, false".to_owned()),
            Kind::Spin { default, min, max } => (default.to_string(), format!("{min} to {max}")),
            Kind::Real { default, min, max } => {
                (default.to_string(), format!("{min} to {max}, fractions"))
            }
            Kind::Combo { default, choices } => (default.to_owned(), choices.join(", ")),
            Kind::Text(default) => (default.to_owned(), "text".to_owned()),
            Kind::Button => (String::new(), "button".to_owned()),
        };
        let _ = writeln!(out, "| `{}` | {default} | {values} | {} |", entry.name, entry.help);
    }
    out
}

#[cfg(test)]
mod tests;

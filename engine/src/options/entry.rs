//! An option: its name, type and range, access to its field of [`Settings`], and what follows a
//! change.

use crate::options::settings::{Backend, PaperAgent, Settings, TeamRule, WorldModel};
use crate::world::rules::Scoring;
use mcts::{FinalMove, Fpu};

/// One option.
pub struct Entry {
    /// As the GUI shows it; any case is understood.
    pub name: &'static str,
    /// Type, range and field.
    pub kind: Kind,
    /// The effect of a change.
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
    Spin { min: i32, max: i32, get: fn(&Settings) -> i64, set: fn(&mut Settings, i32) },
    /// A fraction from `min` to `max`. UCI has no such type: a GUI sees a string.
    Real { min: f32, max: f32, get: fn(&Settings) -> f32, set: fn(&mut Settings, f32) },
    /// One of a few names. `set` answers None, and changes nothing, for any other.
    Combo {
        names: fn() -> Vec<&'static str>,
        get: fn(&Settings) -> &str,
        set: fn(&mut Settings, &str) -> Option<()>,
    },
    /// Any text.
    Text { get: fn(&Settings) -> &str, set: fn(&mut Settings, &str) },
    /// No value: pressing it has an effect.
    Button,
}

/// The engine's action after an option was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None: the value is read where it is needed.
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

impl Effect {
    /// A running search does not notice the change.
    #[must_use]
    pub fn is_of_search(self) -> bool {
        matches!(self, Effect::None | Effect::NewTree | Effect::FindTables | Effect::CheckThreads)
    }
}

/// A type with a name for each of its values, as a combo box lists them.
pub(super) trait Choice: Copy + PartialEq + 'static {
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

choice!(WorldModel: Rules "rules", Learned "learned", LearnedTwice "learned-twice");
choice!(FinalMove: Robust "robust", Max "max");
choice!(Fpu: ActionValue "action-value", ParentQ "parent");
choice!(Scoring: Mean "mean", Max "max");
choice!(PaperAgent: Off "off", Dynamic "dynamic", Static "static");

impl Choice for Backend {
    const ALL: &'static [Backend] = &Backend::ALL;

    fn name(self) -> &'static str {
        Backend::name(self)
    }
}

impl Choice for TeamRule {
    const ALL: &'static [TeamRule] = &TeamRule::ALL;

    fn name(self) -> &'static str {
        TeamRule::name(self)
    }
}

//! One training example: the network's input and its targets.

pub use nn::encode::Terminal;
use nn::encode::{Features, Item, MoveCode, NextBoard};
use nn::net::BUCKETS;

/// Origin of an example, for per-source metrics and loss weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A position of MAVG1 or SELF1: legal moves have values.
    ActionValues,
    /// A game position of PVGR1: the mover's choice and its evaluation.
    GameMove,
    /// A position on a principal variation of PVGR1.
    Variation,
    /// No file: only the rules, and perhaps the best move, are known.
    Rules,
}

/// Result of a game for one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Class 0 of the result head.
    Lost,
    /// Class 1.
    Drawn,
    /// Class 2.
    Won,
}

impl Outcome {
    /// The class of the result head.
    #[must_use]
    pub fn class(self) -> usize {
        self as usize
    }

    /// 0, one half or 1.
    #[must_use]
    pub fn score(self) -> f32 {
        self as u8 as f32 / 2.0
    }
}

/// All labels are from the view of the side to move of the *answered* state: `s`, or `s'` when
/// `features.has_action`. Token frame: that of `features`.
#[derive(Clone, Debug)]
pub struct Example {
    /// The position, with an action marked on it or without.
    pub features: Features,
    /// Origin of the labels.
    pub source: Source,
    /// Legal moves of the answered state in canonical order (empty if terminal).
    pub moves: Vec<MoveCode>,
    /// Index into `moves` of the labelled best move.
    pub best: Option<u16>,
    /// Each move's share of a search's visits (AlphaZero's policy target), `[moves]`, sums to 1. Empty = no search.
    pub visits: Vec<f32>,
    /// Win probability of each move for its mover, in [0, 1]; NaN = unknown. Empty = none known.
    pub action_values: Vec<f32>,
    /// Win probability of the answered state, in [0, 1]; NaN = unknown.
    pub value: f32,
    /// Result of the game for the side to move; None = unknown.
    pub result: Option<Outcome>,
    /// State of the answered position by the board only.
    pub terminal: Terminal,
    /// The board after the action; present exactly if `features.has_action`.
    pub next: Option<Box<NextBoard>>,
    /// A teacher's answer for the answered state; None without a teacher, and where there are no moves.
    pub teacher: Option<Box<TeacherTargets>>,
}

impl Example {
    /// The network's input.
    #[must_use]
    pub fn item(&self) -> Item<'_> {
        Item { features: &self.features, moves: &self.moves }
    }

    /// Number of moves with a value, from a file or a teacher.
    #[must_use]
    pub fn known_actions(&self) -> usize {
        match &self.teacher {
            Some(teacher) => teacher.actions.len(),
            None => self.action_values.iter().filter(|value| value.is_finite()).count(),
        }
    }
}

/// Another network's answers as distributions: soft targets beside the labels (distillation).
#[derive(Clone, Debug, PartialEq)]
pub struct TeacherTargets {
    /// Over the example's moves, `[moves]`.
    pub policy: Vec<f32>,
    /// Win probability after each move, `[moves, 64]`.
    pub actions: Vec<[f32; BUCKETS]>,
    /// Win probability of the state, `[64]`.
    pub value: [f32; BUCKETS],
}

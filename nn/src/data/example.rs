//! One training example: what the network sees and what it should have answered.

use crate::encode::{Features, Item, MoveCode, NextBoard};
use crate::net::BUCKETS;

/// Where an example came from, for per-source metrics and loss weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A position of MAVG1: every legal move has a value.
    ActionValues,
    /// A game position of PVGR1: the mover's choice and its evaluation.
    GameMove,
    /// A position on a principal variation of PVGR1.
    Variation,
    /// No file: only what the rules say is known, and perhaps the best move.
    Rules,
}

/// What is known about how the answered state stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// The game goes on.
    Ongoing,
    /// The side to move is checkmated.
    Lost,
    /// Stalemate or insufficient material.
    Drawn,
}

/// How a game ended for one side.
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

/// Everything is from the view of the side to move of the *answered* state: `s`, or `s'` when
/// `features.has_action`. Token frame: that of `features`.
#[derive(Clone, Debug)]
pub struct Example {
    /// The position, with an action marked on it or without.
    pub features: Features,
    /// Where the labels come from.
    pub source: Source,
    /// Legal moves of the answered state in canonical order (empty if terminal).
    pub moves: Vec<MoveCode>,
    /// Index into `moves` of the labelled best move.
    pub best: Option<u16>,
    /// Win probability of each move for its mover, in [0, 1]; NaN = unknown. Empty = none known.
    pub action_values: Vec<f32>,
    /// Win probability of the answered state, in [0, 1]; NaN = unknown.
    pub value: f32,
    /// How the game ended for the side to move; None = unknown.
    pub result: Option<Outcome>,
    /// How the answered state stands by the board alone.
    pub terminal: Terminal,
    /// The board after the action; present exactly if `features.has_action`.
    pub next: Option<Box<NextBoard>>,
    /// What a teacher says of the answered state; None without one, and where there are no moves.
    pub told: Option<Box<Told>>,
}

impl Example {
    /// What the network is asked.
    #[must_use]
    pub fn item(&self) -> Item<'_> {
        Item { features: &self.features, moves: &self.moves }
    }

    /// How many of its moves have a value, from a file or a teacher.
    #[must_use]
    pub fn known_actions(&self) -> usize {
        match &self.told {
            Some(told) => told.actions.len(),
            None => self.action_values.iter().filter(|value| value.is_finite()).count(),
        }
    }
}

/// Another network's answers, as distributions: targets beside the labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Of the example's moves, `[moves]`.
    pub policy: Vec<f32>,
    /// Of each move's win probability, `[moves]` times 64 buckets.
    pub actions: Vec<[f32; BUCKETS]>,
    /// Of the state's win probability.
    pub value: [f32; BUCKETS],
}

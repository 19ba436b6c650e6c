//! Input and output of an evaluator.

use crate::encode::Encoded;
use shakmaty::{Chess, Move};

/// One position to evaluate.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// The position.
    pub position: &'a Chess,
    /// Its legal moves, in any order; never empty. The answers keep this order.
    pub legal: &'a [Move],
}

impl Query<'_> {
    /// The network's input.
    #[must_use]
    pub fn encode(&self) -> Encoded {
        Encoded::new(self.position, self.legal)
    }
}

/// A network's answer for one position, from the side to move's point of view.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Win, draw, loss by the game-result head; sums to 1.
    pub wdl: [f32; 3],
    /// Win probability in [0, 1]: mean over the 64 buckets of the value head.
    pub value: f32,
    /// The centre of the value head's most likely bucket ("max scoring" of paper 000).
    pub value_mode: f32,
    /// Per legal move, the win probability in [0, 1] after it (mean over the buckets).
    pub action_values: Vec<f32>,
    /// Per legal move, the centre of the most likely bucket.
    pub action_modes: Vec<f32>,
    /// Per legal move; sums to 1.
    pub policy: Vec<f32>,
}

//! What the rest of the house asks of a network: values, action values and policy of positions.

use crate::transition::Transition;
use shakmaty::{Chess, Move};
use std::fmt;

/// One position to evaluate.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    pub position: &'a Chess,
    /// Its legal moves, in any order; never empty. The answers keep this order.
    pub legal: &'a [Move],
}

/// A network's answer for one position, all from the side to move's point of view.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Win, draw, loss as the game-result head sees them; sums to 1.
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

/// A network that can be asked. Shared by threads.
pub trait Evaluator: Send + Sync {
    /// Answers in order. Blocks. Batch size never changes an answer.
    ///
    /// # Errors
    /// The device failed or the network answered with something that is no number.
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError>;

    /// The batch one thread should gather before it asks, where nothing was measured.
    fn preferred_batch(&self) -> usize {
        8
    }

    /// Batch sizes among which measuring finds the best on this machine, smallest first; empty = nothing
    /// to be found, take [`Evaluator::preferred_batch`].
    fn batches(&self) -> &[usize] {
        &[]
    }

    /// Batches to be asked about at once, each by a thread of its own, for the device never to wait: two where
    /// it computes one while the next is gathered.
    fn in_flight(&self) -> usize {
        1
    }

    /// The same network as a world, if it can be asked what follows a move.
    fn transition(&self) -> Option<&dyn Transition> {
        None
    }
}

/// Why an evaluation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// The named output was NaN or infinite.
    NotANumber(&'static str),
    /// The query had no legal moves.
    NoMoves,
    /// The device said no.
    Device(String),
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::NotANumber(head) => {
                write!(f, "the network's {head} head answered NaN or infinity")
            }
            EvalError::NoMoves => {
                write!(f, "a position without legal moves was sent to the network")
            }
            EvalError::Device(why) => write!(f, "the device failed: {why}"),
        }
    }
}

impl std::error::Error for EvalError {}

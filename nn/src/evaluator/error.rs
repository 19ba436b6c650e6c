//! Errors of an evaluation.

use std::fmt;

/// Why an evaluation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// The named output was NaN or infinite.
    NotANumber(&'static str),
    /// The query had no legal moves.
    NoMoves,
    /// A next state was requested of a network without a world model.
    NoWorldModel,
    /// The device failed.
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
            EvalError::NoWorldModel => f.write_str("this network imagines no positions"),
            EvalError::Device(why) => write!(f, "the device failed: {why}"),
        }
    }
}

impl std::error::Error for EvalError {}

//! Why a network gave no answer.

use std::fmt;

/// Why an evaluation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// The named output was NaN or infinite.
    NotANumber(&'static str),
    /// The query had no legal moves.
    NoMoves,
    /// It was asked what follows a move, and is no world model.
    Blind,
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
            EvalError::Blind => f.write_str("this network imagines no positions"),
            EvalError::Device(why) => write!(f, "the device failed: {why}"),
        }
    }
}

impl std::error::Error for EvalError {}

//! Obstacles to a measurement: each error names the file, position or device it is about.

use crate::plots::PlotError;
use chess::game::GameError;
use engine::play::network::NetworkError;
use engine::process::errors::{FileError, wraps};
use nn::EvalError;
use std::error::Error;
use std::fmt;
use train::data::DataError;

/// Why nothing, or no more, was measured.
#[derive(Debug)]
pub enum MeasureError {
    /// A position or a move is refused.
    Game(GameError),
    /// The network cannot be used.
    Network(NetworkError),
    /// The network or its device failed.
    Evaluation(EvalError),
    /// The data cannot be used.
    Data(DataError),
    /// A file cannot be read or written.
    File(FileError),
    /// The picture cannot be drawn.
    Plot(PlotError),
    /// The request cannot be measured: the reason in words.
    Refused(String),
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeasureError::Game(why) => why.fmt(f),
            MeasureError::Network(why) => why.fmt(f),
            MeasureError::Evaluation(why) => why.fmt(f),
            MeasureError::Data(why) => why.fmt(f),
            MeasureError::File(why) => why.fmt(f),
            MeasureError::Plot(why) => why.fmt(f),
            MeasureError::Refused(why) => f.write_str(why),
        }
    }
}

impl Error for MeasureError {}

wraps! {
    MeasureError:
    Game(GameError),
    Network(NetworkError),
    Evaluation(EvalError),
    Data(DataError),
    File(FileError),
    Plot(PlotError),
}

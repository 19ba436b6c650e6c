//! What keeps a measurement from its figures: each error names the file, position or device it is about.

use engine::chess::game::GameError;
use engine::errors::{FileError, wraps};
use engine::play::network::NetworkError;
use nn::EvalError;
use plotters::drawing::DrawingAreaErrorKind;
use std::error::Error;
use std::fmt;
use std::io;
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
    /// What was asked for cannot be measured, in words.
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

/// Why there is no picture.
#[derive(Debug)]
pub enum PlotError {
    /// There is nothing to draw.
    Empty(&'static str),
    /// The figures to draw cannot be read from their file.
    Figures(FileError<FiguresError>),
    /// The picture cannot be drawn.
    Drawing(FileError<DrawingAreaErrorKind<io::Error>>),
    /// The file of the picture cannot be written.
    File(FileError),
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlotError::Empty(what) => f.write_str(what),
            PlotError::Figures(why) => why.fmt(f),
            PlotError::Drawing(why) => why.fmt(f),
            PlotError::File(why) => why.fmt(f),
        }
    }
}

impl Error for PlotError {}

/// What is wrong with a file of figures.
#[derive(Debug)]
pub enum FiguresError {
    /// It cannot be read.
    Io(io::Error),
    /// Its first line lacks a column.
    NoColumn {
        /// The column.
        name: &'static str,
        /// The first line.
        head: String,
    },
    /// So few rows are no curve.
    Rows(usize),
}

impl fmt::Display for FiguresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FiguresError::Io(why) => why.fmt(f),
            FiguresError::NoColumn { name, head } => {
                write!(f, "no column \"{name}\" in \"{head}\"")
            }
            FiguresError::Rows(count) => write!(f, "{count} rows, expected at least 2"),
        }
    }
}

impl Error for FiguresError {}

//! Why a picture cannot be drawn.

use engine::process::errors::FileError;
use plotters::drawing::DrawingAreaErrorKind;
use std::error::Error;
use std::fmt;
use std::io;

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

/// A fault of a file of figures.
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

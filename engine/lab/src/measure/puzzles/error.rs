//! Error of a line of a file of puzzles. Names the text that is wrong.

use chess::game::GameError;
use chess::quote::quote;
use engine::process::errors::wraps;
use std::fmt;

/// Error of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PuzzleError {
    /// Invalid position, or illegal move of the solution.
    Game(GameError),
    /// The first line of a CSV lacks this column.
    NoColumn {
        /// Its name.
        column: &'static str,
        /// The first line.
        head: String,
    },
    /// A CSV whose first line names no columns.
    NoHeader,
    /// A line of a CSV with fewer fields than the first line's columns that are needed.
    Fields {
        /// Fields that are needed.
        needed: usize,
        /// Fields of the line.
        found: usize,
    },
    /// An empty solution.
    NoMoves,
    /// Fewer than four EPD fields.
    NoFields(String),
    /// EPD without best or avoided moves, mate or true result.
    NoTask,
    /// Not a legal move.
    Move(String),
    /// Not a number of moves to mate.
    Mate(String),
    /// Not a number of points.
    Points(String),
    /// Not a rating.
    Rating(String),
    /// Different numbers of moves and points.
    Grades {
        /// Number of moves.
        moves: usize,
        /// Number of points.
        points: usize,
    },
}

impl fmt::Display for PuzzleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PuzzleError::Game(why) => why.fmt(f),
            PuzzleError::NoColumn { column, head } => {
                write!(f, "no column `{column}` in {}", quote(head))
            }
            PuzzleError::NoHeader => f.write_str(
                "a CSV needs a first line with its columns, such as `fen,moves,rating,id`",
            ),
            PuzzleError::Fields { needed, found } => {
                write!(f, "{found} fields, expected {needed} at least")
            }
            PuzzleError::NoMoves => f.write_str("there are no moves"),
            PuzzleError::NoFields(text) => {
                write!(f, "{} does not begin with the four fields of an EPD", quote(text))
            }
            PuzzleError::NoTask => f.write_str(
                "no move to find (`bm`) or avoid (`am`), no mate (`dm`), no true result (`c0`)",
            ),
            PuzzleError::Move(word) => write!(f, "{} is no legal move", quote(word)),
            PuzzleError::Mate(word) => {
                write!(f, "{} is not a number of moves to mate", quote(word))
            }
            PuzzleError::Points(word) => write!(f, "{} is not a number of points", quote(word)),
            PuzzleError::Rating(word) => write!(f, "{} is no rating", quote(word)),
            PuzzleError::Grades { moves, points } => write!(f, "{moves} moves but {points} grades"),
        }
    }
}

impl std::error::Error for PuzzleError {}

wraps! { PuzzleError: Game(GameError) }

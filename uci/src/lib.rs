//! The UCI protocol, both ways: text in, typed values out, and back. No chess, no network.
//!
//! An engine reads a GUI's lines: [`parse`] turns each into a [`Command`] and a list of notes on its faults. A
//! program that runs engines reads their lines: [`parse_answer`] turns each into an [`Answer`]. Every value
//! prints itself as exactly one line, without its end, so both sides write with the same types.
//!
//! Nothing here fails or panics, whatever the line contains: a GUI's mistake may cost a word, never the game.
//! Moves stay text, checked for their shape; the engine decides whether they are legal.
//!
//! ```
//! use uci::{Command, parse};
//!
//! let (command, notes) = parse("go depth twelve movetime 500").expect("the line is not blank");
//! let Command::Go(go) = command else { panic!("a search was asked for") };
//! assert_eq!((go.depth, go.movetime), (None, Some(500)));
//! assert_eq!(notes, ["go: `depth` wants a number, not `twelve`; this limit is dropped"]);
//! assert_eq!(go.to_string(), "go movetime 500");
//! ```
//!
//! ```
//! use uci::{Answer, Score, parse_answer};
//!
//! let Some(Answer::Info(info)) = parse_answer("info depth 9 score mate -2 pv e1d1") else {
//!     panic!("an engine reports")
//! };
//! assert_eq!((info.depth, info.score), (Some(9), Some(Score::Mate(-2))));
//! ```

#![forbid(unsafe_code)]

pub mod answer;
pub mod command;
mod line;
pub mod option;
mod parse;

pub use answer::{Answer, BestMove, Bound, CurrentMove, IdLine, Info, READYOK, Score, UCIOK};
pub use command::{Command, ENGINE_WORDS, Go, SetOption, StartPosition};
pub use option::{OptionKind, OptionSpec};
pub use parse::answer::parse_answer;
pub use parse::parse;
pub use parse::position::is_counter;

//! The UCI protocol: text in, typed commands out; typed facts in, text out. No chess, no network.
//!
//! A GUI writes lines; [`parse`] turns each into a [`Command`] and a list of notes on what was wrong with it.
//! The engine answers with values that print themselves: [`Info`], [`BestMove`], [`OptionSpec`], [`IdLine`],
//! and the two constant lines [`UCIOK`] and [`READYOK`]. Each prints exactly one line, without its end.
//!
//! Nothing here fails and nothing here panics, whatever the line holds: a GUI's mistake may cost a word, never
//! the game. Moves stay text, checked for their shape; whether they are legal is the engine's matter.
//!
//! ```
//! use uci::{Command, parse};
//!
//! let (command, notes) = parse("go depth twelve movetime 500").expect("the line is not blank");
//! let Command::Go(go) = command else { panic!("a search was asked for") };
//! assert_eq!((go.depth, go.movetime), (None, Some(500)));
//! assert_eq!(notes, ["go: `depth` wants a number, not `twelve`; this limit is dropped"]);
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod command;
pub mod format;
mod parse;

pub use command::{Command, ENGINE_WORDS, Go, SetOption, StartPosition};
pub use format::{BestMove, IdLine, Info, OptionKind, OptionSpec, READYOK, Score, UCIOK};
pub use parse::parse;

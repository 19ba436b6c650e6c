//! The UCI protocol: text in, typed commands out; typed facts in, text out. No chess, no network.

pub mod command;
pub mod format;

pub use command::{Command, Go, SetOption, StartPosition};
pub use format::{BestMove, Info, OptionKind, OptionSpec, Score};

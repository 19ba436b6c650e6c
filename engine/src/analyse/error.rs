//! The error of an analysis.

use super::journal::JournalError;
use crate::process::errors::{FileError, wraps};
use nn::EvalError;
use std::fmt;

/// Error that ended an analysis.
#[derive(Debug)]
pub enum AnalyseError {
    /// None of the games can be read, or there is none.
    NoGame,
    /// A file cannot be read or written.
    File(FileError),
    /// The journal cannot be used.
    Journal(JournalError),
    /// The network failed.
    Network(EvalError),
}

impl fmt::Display for AnalyseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnalyseError::NoGame => f.write_str("there is no game to analyse"),
            AnalyseError::File(why) => why.fmt(f),
            AnalyseError::Journal(why) => why.fmt(f),
            AnalyseError::Network(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for AnalyseError {}

wraps! { AnalyseError: File(FileError), Journal(JournalError), Network(EvalError) }

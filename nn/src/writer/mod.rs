//! The writer of search trees (internal search; paper 000, section 4): the words that a search is written in, and
//! whoever writes them.
//!
//! A [`Trace`] is a search as a sequence of words. Some are given (the prompt, the lists that the network's passes
//! over boards answer), the others are written one by one: which node is evaluated, expanded and decided next,
//! what is backed up, what is played. A [`Writer`] writes them. This room knows neither boards nor what a good
//! trace is; whoever asks the writer does.
//!
//! The network's own writer is the [`Decoder`], a small causal transformer computed by hand; [`train`] teaches it
//! through burn.

mod batch;
pub(crate) mod decoder;
mod example;
mod file;
mod layout;
pub(crate) mod trace;
pub mod train;
mod twin;
pub mod word;

pub use decoder::{Decoder, DecoderWeights};
pub use example::{Correction, Example};
pub use trace::Trace;
pub use word::{Backup, Kind, Shape, Step, Summary, Word};

use crate::evaluator::EvalError;

/// Words that may come next: one kind, and the words it may be written from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The kind.
    pub kind: Kind,
    /// Places of the sources in the trace, in the order of writing; never empty.
    pub sources: Vec<usize>,
}

impl Allowed {
    /// A word of this kind may be written from this source.
    #[must_use]
    pub fn has(&self, kind: Kind, source: Option<usize>) -> bool {
        self.kind == kind && source.is_some_and(|source| self.sources.contains(&source))
    }
}

/// Writes traces.
pub trait Writer {
    /// The word after the last one of `trace`, which begins with the words that the last call saw, or anew.
    /// It is one of `allowed`, unless there are none: then it may be any.
    ///
    /// # Errors
    /// The writer does not compute.
    fn next(&mut self, trace: &Trace, allowed: &[Allowed]) -> Result<Step, EvalError>;
}

#[cfg(test)]
mod tests;

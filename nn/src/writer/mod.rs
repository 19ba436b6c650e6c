//! The writer of search trees (internal search; paper 000, section 4): the vocabulary of a trace, and writers.
//!
//! A [`Trace`] is a search as a sequence of words. Some are given (the prompt, the lists of the network's
//! evaluations), the others are written one by one: which node is evaluated, expanded and decided next, what is
//! backed up, what is played. A [`Writer`] writes them. This room knows neither boards nor what a good trace
//! is; its callers do.
//!
//! The network's own writer is the [`Decoder`], a small causal transformer computed by hand; the crate `train` trains
//! it through burn.

pub mod decoder;
mod file;
pub mod layout;
pub(crate) mod trace;
pub mod word;

pub use decoder::{Decoder, DecoderWeights};
pub use trace::Trace;
pub use word::{Backup, Kind, Shape, Word, WordChoice};

use crate::evaluator::EvalError;

/// Words that may come next: one kind, and its possible sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The kind.
    pub kind: Kind,
    /// Indices of the sources in the trace, in writing order; never empty.
    pub sources: Vec<usize>,
}

impl Allowed {
    /// Whether a word of this kind may have this source.
    #[must_use]
    pub fn has(&self, kind: Kind, source: Option<usize>) -> bool {
        self.kind == kind && source.is_some_and(|source| self.sources.contains(&source))
    }
}

/// Writes traces.
pub trait Writer {
    /// The word after the last one of `trace`, which extends the trace of the last call, or is new. It is one
    /// of `allowed`; if that is empty, any.
    ///
    /// # Errors
    /// The writer fails.
    fn next(&mut self, trace: &Trace, allowed: &[Allowed]) -> Result<WordChoice, EvalError>;
}

#[cfg(test)]
mod tests;

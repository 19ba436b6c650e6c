//! A training trace and corrections of its targets.

use super::Trace;

/// A trace with its targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The decoder's input; also its targets, where nothing is corrected.
    pub trace: Trace,
    /// The first word with a target; those before it are only read.
    pub first: usize,
    /// Words with other targets.
    pub corrections: Vec<Correction>,
}

/// Target of one word. The words after it are predicted as if it stood there unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correction {
    /// Index of the word in the trace; a written word.
    pub place: usize,
    /// Target source, if another: an index before it.
    pub source: Option<usize>,
    /// Target bucket, if another, of a kind that has one.
    pub bucket: Option<u8>,
    /// Costs of sources in win probability: with any, the target is a low expected cost instead of one source.
    /// A source that is not listed costs the whole game.
    pub costs: Vec<(usize, f32)>,
}

impl From<Trace> for Example {
    /// All words are targets, uncorrected.
    fn from(trace: Trace) -> Example {
        Example { trace, first: 0, corrections: Vec::new() }
    }
}

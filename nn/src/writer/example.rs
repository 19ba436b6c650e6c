//! A trace to learn from, and what should stand in it where its own words are not what is to be learnt.

use super::Trace;

/// A trace with what is to be learnt from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// What the decoder has read before each word; its own words, where nothing is corrected.
    pub trace: Trace,
    /// The first word that is learnt; those before it are read alone.
    pub first: usize,
    /// Words that should have been others.
    pub corrections: Vec<Correction>,
}

/// What a word should have been. The words after it are asked for as if it stood there unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correction {
    /// The word's place in the trace; a written word.
    pub place: usize,
    /// Its source, where that is to be another: a place before it.
    pub source: Option<usize>,
    /// Its bucket, where that is to be another, of a kind that has one.
    pub bucket: Option<u8>,
    /// What sources it may have give away, in win probability: with any, it is taught no one source but to give away little
    /// in the mean. A source that is not named gives away the whole game.
    pub costs: Vec<(usize, f32)>,
}

impl From<Trace> for Example {
    /// All is learnt, nothing corrected.
    fn from(trace: Trace) -> Example {
        Example { trace, first: 0, corrections: Vec::new() }
    }
}

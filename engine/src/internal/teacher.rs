//! The teacher writes traces by exact minimax: the training target of a decoder, and an upper bound of its strength.
//!
//! An inner node expands its first moves, visits them depth first, and selects the best score: among equal scores a
//! mate, then the earlier one. With alpha-beta it skips children that cannot change the root's choice: those of a node
//! that a reply has shown to be no better than a sibling (shallow cutoffs, the only kind in three plies).

use super::grammar::Grammar;
use nn::EvalError;
use nn::writer::word::{BUCKETS, complement};
use nn::writer::{Allowed, Kind, Trace, Word, WordChoice, Writer};
use std::cmp::Reverse;

/// Writes one trace at a time; follows words of other writers, too.
#[derive(Clone, Debug, Default)]
pub struct Teacher {
    grammar: Option<Grammar>,
}

impl Writer for Teacher {
    fn next(&mut self, trace: &Trace, _allowed: &[Allowed]) -> Result<WordChoice, EvalError> {
        if trace.words().iter().all(|word| word.source.is_none()) {
            self.grammar = None;
        }
        let grammar =
            self.grammar.get_or_insert_with(|| Grammar::new(trace.shape(), trace.backup()));
        let lost = |why: String| EvalError::Device(format!("the teacher is lost: {why}"));
        grammar.follow(trace).map_err(|fault| lost(fault.to_string()))?;
        step(grammar, trace).ok_or_else(|| lost("no word is due".to_owned()))
    }
}

/// The next word of a trace that `grammar` has read; None at its end.
#[must_use]
pub fn step(grammar: &Grammar, trace: &Trace) -> Option<WordChoice> {
    let mut allowed = grammar.allowed().into_iter();
    let due = allowed.next()?;
    let Allowed { kind, sources } = match allowed.next() {
        Some(instead) if refuted(grammar, trace) => instead,
        _ => due,
    };
    let bucket = |place: usize| trace.words().get(place).and_then(|word| word.bucket);
    let source = match kind {
        Kind::Select => choice(trace, &sources)?,
        _ => *sources.first()?,
    };
    let bucket = match kind {
        Kind::Score => complement(bucket(grammar.selected_child()?)?),
        Kind::Select => bucket(source)?,
        Kind::Expand if trace.has_bucket(kind) => bound(grammar, trace),
        _ => 0,
    };
    Some(WordChoice { kind, source, bucket })
}

/// Bound of the current node, if it is expanded next: the value of its best earlier sibling for their parent.
fn bound(grammar: &Grammar, trace: &Trace) -> u8 {
    min_bucket(trace, grammar.siblings()).map_or(0, complement)
}

/// Whether a child of the current node refutes it: its value is at most the bound.
fn refuted(grammar: &Grammar, trace: &Trace) -> bool {
    let Some((expand, selects)) = grammar.inner() else { return false };
    let bound = trace.words().get(expand).and_then(|word| word.bucket);
    min_bucket(trace, selects).zip(bound).is_some_and(|(value, bound)| value <= bound)
}

/// Minimum of some words' values.
fn min_bucket(trace: &Trace, places: &[usize]) -> Option<u8> {
    let words = places.iter().filter_map(|place| trace.words().get(*place));
    words.filter_map(|word| word.bucket).min()
}

/// Source and bucket of a `score` or `select` by exact minimax over the preceding words. None if they do not determine
/// it.
#[must_use]
pub fn minimax(trace: &Trace, place: usize) -> Option<(usize, u8)> {
    let (before, rest) = trace.words().split_at_checked(place)?;
    let word = rest.first()?;
    if word.kind == Kind::Score {
        let select = |other: &&Word| other.kind == Kind::Select && other.node == word.node;
        return Some((word.source?, complement(before.iter().find(select)?.bucket?)));
    }
    let source = choice(trace, &scores(before, word)).or(word.source)?;
    Some((source, before.get(source)?.bucket?))
}

/// Indices among `words` of the scores that `select` chooses from; empty at a leaf.
#[must_use]
pub fn scores(words: &[Word], select: &Word) -> Vec<usize> {
    let own = |at: &usize| words[*at].kind == Kind::Score && words[*at].parent == select.node;
    (0..words.len()).filter(own).collect()
}

/// The best of `sources`: indices of words with a bucket, in list order.
#[must_use]
pub fn choice(trace: &Trace, sources: &[usize]) -> Option<usize> {
    let words = trace.words();
    let mates = |word: &Word| {
        let own = |other: &Word| other.kind == Kind::Over && other.node == word.node;
        word.kind == Kind::Score && word.bucket == Some(BUCKETS - 1) && words.iter().any(own)
    };
    let best = sources.iter().enumerate().max_by_key(|(place, source)| {
        let word = words.get(**source);
        let bucket = word.and_then(|word| word.bucket);
        (bucket, word.is_some_and(mates), Reverse(*place))
    });
    best.map(|(_, source)| *source)
}

//! The teacher: writes a trace by hand, exact minimax over the words. What a decoder is to learn, and how well
//! it could play at best.
//!
//! An inner node expands its first moves, visits them depth first, and selects the best score: among equals a
//! mate, then the earlier. By alpha-beta it leaves out children that cannot change the root's choice: those of a node that
//! a reply has shown to be no better than a sibling (shallow cut-offs, which are all there are in three plies).

use super::grammar::Grammar;
use nn::EvalError;
use nn::writer::word::{BUCKETS, complement};
use nn::writer::{Allowed, Kind, Step, Trace, Word, Writer};
use std::cmp::Reverse;

/// Writes one trace at a time; it follows what was written, by whomever.
#[derive(Clone, Debug, Default)]
pub struct Teacher {
    grammar: Option<Grammar>,
}

impl Writer for Teacher {
    fn next(&mut self, trace: &Trace, _allowed: &[Allowed]) -> Result<Step, EvalError> {
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

/// The next word of a trace that `grammar` has followed; None where none is due.
#[must_use]
pub fn step(grammar: &Grammar, trace: &Trace) -> Option<Step> {
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
    Some(Step { kind, source, bucket })
}

/// The bound of the node that is written about, if it is expanded next: what the best sibling before it is worth to
/// their parent.
fn bound(grammar: &Grammar, trace: &Trace) -> u8 {
    least(trace, grammar.siblings()).map_or(0, complement)
}

/// A child of the node that is written about is worth no more to the side that avoids this node than its bound.
fn refuted(grammar: &Grammar, trace: &Trace) -> bool {
    let Some((expand, selects)) = grammar.inner() else { return false };
    let bound = trace.words().get(expand).and_then(|word| word.bucket);
    least(trace, selects).zip(bound).is_some_and(|(value, bound)| value <= bound)
}

/// The least of some words' values.
fn least(trace: &Trace, places: &[usize]) -> Option<u8> {
    let words = places.iter().filter_map(|place| trace.words().get(*place));
    words.filter_map(|word| word.bucket).min()
}

/// What exact minimax has at the place of a `score` or a `select`, from the words before it: its source and its bucket.
/// None where those words do not say.
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

/// The places among `words` of the scores that `select` chooses from; none at a leaf.
#[must_use]
pub fn scores(words: &[Word], select: &Word) -> Vec<usize> {
    let own = |at: &usize| words[*at].kind == Kind::Score && words[*at].parent == select.node;
    (0..words.len()).filter(own).collect()
}

/// The best of `sources`: words with a bucket, in the order of the list.
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

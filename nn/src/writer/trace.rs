//! A search as a sequence of words. Appending a word derives its node, level and move from its source. Only the
//! kind of its source is checked, no other order.

use super::word::{Backup, ITEMS, Kind, NAMES, Shape, Word, WordChoice};
use crate::encode::MoveCode;
use std::fmt;

/// Words so far, the prompt first.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    backup: Backup,
    words: Vec<Word>,
    /// Number of named nodes.
    names: usize,
    /// By node, the position of the word that evaluated it.
    evals: Vec<Option<usize>>,
}

/// Why a word cannot be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its source is of another kind, or there is no such word.
    Source {
        /// The word.
        kind: Kind,
        /// Kind of its source.
        found: Option<Kind>,
    },
    /// An invalid bucket.
    Bucket(u8),
    /// More nodes than names.
    Names,
    /// The node has no board yet, or has one already.
    Board(Kind),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Source { kind, found } => {
                let wanted: Vec<&str> = kind.sources().iter().map(|kind| kind.name()).collect();
                let found = found.map_or("no word", Kind::name);
                write!(f, "`{}` is written from `{found}`, ", kind.name())?;
                write!(f, "expected {}", wanted.join(" or "))
            }
            Fault::Bucket(bucket) => write!(f, "bucket {bucket}, expected 0 to 63"),
            Fault::Names => write!(f, "more than {NAMES} nodes"),
            Fault::Board(kind) => {
                write!(f, "`{}` of a node not evaluated, or for the second time", kind.name())
            }
        }
    }
}

impl std::error::Error for Fault {}

impl Trace {
    /// The prompt and the request of the root's evaluation.
    #[must_use]
    pub fn new(shape: Shape, backup: Backup) -> Trace {
        let blank = Word {
            kind: Kind::Prompt,
            source: None,
            node: None,
            parent: None,
            level: 0,
            slot: None,
            action: None,
            bucket: None,
            shape: Some(shape),
        };
        let root = Word { kind: Kind::Eval, node: Some(0), shape: None, ..blank };
        Trace { backup, words: vec![blank, root], names: 1, evals: vec![Some(1)] }
    }

    /// The prompt's backup rule.
    #[must_use]
    pub fn backup(&self) -> Backup {
        self.backup
    }

    /// Whether a word of this kind has a bucket: in pruned trees an expansion has one as well.
    #[must_use]
    pub fn has_bucket(&self, kind: Kind) -> bool {
        kind.has_bucket() || self.backup.prunes() && kind == Kind::Expand
    }

    /// All words.
    #[must_use]
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The word that named `node`; None for the root.
    #[must_use]
    pub fn child(&self, node: u8) -> Option<&Word> {
        self.words.iter().find(|word| word.kind == Kind::Child && word.node == Some(node))
    }

    /// The prompt's tree shape.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.words[0].shape.unwrap_or(Shape { breadth: 1, depth: 0 })
    }

    /// Number of nodes named so far, the root included.
    #[must_use]
    pub fn names(&self) -> usize {
        self.names
    }

    /// Whether `other` is a prefix.
    pub(super) fn begins_with(&self, other: &Trace) -> bool {
        self.backup == other.backup && self.words.starts_with(&other.words)
    }

    /// The trace after its first `length` words; the prompt and the root's evaluation always stay.
    #[must_use]
    pub fn cut(&self, length: usize) -> Trace {
        let length = length.clamp(2, self.words.len());
        let words = self.words[..length].to_vec();
        let names = 1 + words.iter().filter(|word| word.kind == Kind::Child).count();
        let mut evals = self.evals[..names].to_vec();
        evals.iter_mut().for_each(|eval| *eval = eval.filter(|place| *place < words.len()));
        Trace { words, names, evals, ..*self }
    }

    /// The node whose board is to be given next: the last word evaluates it.
    #[must_use]
    pub fn asks_for(&self) -> Option<u8> {
        self.words.last().filter(|last| last.kind == Kind::Eval).and_then(|last| last.node)
    }

    /// The move to play, once it is written.
    #[must_use]
    pub fn played(&self) -> Option<MoveCode> {
        self.words.last().filter(|last| last.kind == Kind::Play).and_then(|last| last.action)
    }

    /// Gives the list that the last word requests: its first moves become words, then the best. Does nothing if
    /// nothing is requested or the list is empty.
    pub fn give_list(&mut self, list: &[(MoveCode, u8)]) {
        let (Some(eval), Some(&(action, bucket))) = (self.asking(), list.first()) else { return };
        for (slot, (action, bucket)) in (0..).zip(list.iter().take(ITEMS)) {
            let item = Word {
                kind: Kind::Item,
                node: None,
                parent: eval.node,
                level: eval.level + 1,
                slot: Some(slot),
                action: Some(*action),
                bucket: Some(*bucket),
                ..eval
            };
            self.words.push(item);
        }
        let best = Word { kind: Kind::Best, action: Some(action), bucket: Some(bucket), ..eval };
        self.words.push(best);
    }

    /// Gives the end of the game instead, with its value for the side to move.
    pub fn give_over(&mut self, bucket: u8) {
        if let Some(eval) = self.asking() {
            self.words.push(Word { kind: Kind::Over, bucket: Some(bucket), ..eval });
        }
    }

    /// The last word, if it requests a board, as a given word.
    fn asking(&self) -> Option<Word> {
        let last = *self.words.last()?;
        (last.kind == Kind::Eval).then_some(Word { source: None, ..last })
    }

    /// Appends a written word.
    ///
    /// # Errors
    /// It has no suitable source, a node is evaluated twice, or there are no more names; nothing is appended.
    pub fn write(&mut self, step: WordChoice) -> Result<(), Fault> {
        let word = self.resolve(step)?;
        match word.kind {
            Kind::Child => {
                self.names += 1;
                self.evals.push(None);
            }
            Kind::Eval => {
                let place = self.words.len();
                if let Some(eval) = word.node.and_then(|node| self.evals.get_mut(usize::from(node)))
                {
                    *eval = Some(place);
                }
            }
            _ => {}
        }
        self.words.push(word);
        Ok(())
    }

    /// The word that `step` would append.
    fn resolve(&self, step: WordChoice) -> Result<Word, Fault> {
        let WordChoice { kind, source, bucket } = step;
        let found = self.words.get(source);
        let suits = found.filter(|found| kind.sources().contains(&found.kind));
        let from = *suits.ok_or(Fault::Source { kind, found: found.map(|word| word.kind) })?;
        if self.has_bucket(kind) && bucket >= super::word::BUCKETS {
            return Err(Fault::Bucket(bucket));
        }
        let word = Word { kind, source: Some(source), shape: None, ..from };
        let written = self.has_bucket(kind).then_some(bucket);
        Ok(match kind {
            Kind::Eval => {
                let seen = from.node.and_then(|node| self.evals.get(usize::from(node)));
                if seen.is_none_or(Option::is_some) {
                    return Err(Fault::Board(kind));
                }
                Word { action: None, bucket: None, ..word }
            }
            Kind::Child => {
                let name = u8::try_from(self.names).ok().filter(|_| self.names < NAMES);
                Word { node: Some(name.ok_or(Fault::Names)?), ..word }
            }
            Kind::Select if from.kind == Kind::Score => {
                // A selection belongs to the node whose children were scored.
                let node = from.parent.and_then(|node| *self.evals.get(usize::from(node))?);
                let node =
                    node.and_then(|place| self.words.get(place)).ok_or(Fault::Board(kind))?;
                Word { action: from.action, bucket: written, kind, source: Some(source), ..*node }
            }
            Kind::Score | Kind::Select => Word { bucket: written, ..word },
            Kind::Expand | Kind::Decide => Word { action: None, bucket: written, ..word },
            _ => word,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(from: u8, to: u8) -> MoveCode {
        MoveCode { from, to, promotion: 0 }
    }

    fn step(kind: Kind, source: usize, bucket: u8) -> WordChoice {
        WordChoice { kind, source, bucket }
    }

    #[test]
    fn a_word_carries_what_its_source_carries() {
        let mut trace = Trace::new(Shape { breadth: 2, depth: 1 }, Backup::Minimax);
        assert_eq!(trace.asks_for(), Some(0));
        trace.give_list(&[(code(12, 28), 34), (code(11, 27), 33)]);
        assert_eq!(trace.words().len(), 5);
        trace.write(step(Kind::Expand, 4, 0)).unwrap();
        trace.write(step(Kind::Child, 3, 0)).unwrap();
        trace.write(step(Kind::Eval, 6, 0)).unwrap();
        assert_eq!(trace.asks_for(), Some(1));
        trace.give_over(0);
        trace.write(step(Kind::Decide, 8, 0)).unwrap();
        trace.write(step(Kind::Select, 8, 0)).unwrap();
        trace.write(step(Kind::Decide, 5, 0)).unwrap();
        trace.write(step(Kind::Score, 6, 63)).unwrap();
        let score = *trace.words().last().unwrap();
        assert_eq!((score.node, score.parent, score.slot), (Some(1), Some(0), Some(1)));
        assert_eq!((score.action, score.bucket, score.level), (Some(code(11, 27)), Some(63), 1));
        trace.write(step(Kind::Select, 12, 63)).unwrap();
        let select = *trace.words().last().unwrap();
        assert_eq!((select.node, select.parent, select.level), (Some(0), None, 0));
        trace.write(step(Kind::Play, 13, 0)).unwrap();
        assert_eq!(trace.played(), Some(code(11, 27)));
    }

    #[test]
    fn unsuitable_words_are_refused_by_name() {
        let mut trace = Trace::new(Shape { breadth: 2, depth: 1 }, Backup::Minimax);
        let fault = |trace: &mut Trace, step| trace.write(step).unwrap_err().to_string();
        assert!(fault(&mut trace, step(Kind::Child, 1, 0)).contains("expected item"));
        assert!(fault(&mut trace, step(Kind::Play, 99, 0)).contains("no word"));
        trace.give_list(&[(code(12, 28), 34)]);
        assert!(fault(&mut trace, step(Kind::Select, 3, 64)).contains("bucket 64"));
        trace.write(step(Kind::Child, 2, 0)).unwrap();
        trace.write(step(Kind::Eval, 4, 0)).unwrap();
        assert!(fault(&mut trace, step(Kind::Eval, 4, 0)).contains("second time"));
        for _ in 2..NAMES {
            trace.write(step(Kind::Child, 2, 0)).unwrap();
        }
        assert_eq!(trace.write(step(Kind::Child, 2, 0)), Err(Fault::Names));
    }
}

//! Grammar of a trace:
//!
//! ```text
//! trace     = prompt node(root, 0) play
//! node(n,l) = eval (item+ best | over) (leaf | inner)
//! leaf      = decide select                                        if l = depth, or over
//! inner     = expand child^k node(child_i, l+1)^j decide score^j select    k = min(breadth, items)
//! ```
//!
//! All children are evaluated, j = k, except below the root of an alpha-beta tree, where one may be enough.
//!
//! A pushdown automaton that reads a trace word by word: it validates traces, drives the teacher and masks a decoder.
//! An unmasked writer does not use it.

use nn::writer::{Allowed, Backup, Kind, Shape, Trace, Word};
use std::fmt;

/// State of the automaton.
#[derive(Clone, Debug)]
pub struct Grammar {
    shape: Shape,
    backup: Backup,
    /// Open nodes, the root first.
    open: Vec<OpenNode>,
    /// Words read.
    seen: usize,
    /// Index of the root's `select`, once written.
    root: Option<usize>,
    done: bool,
}

/// A node before its `select`; fields are indices in the trace.
#[derive(Clone, Debug, Default)]
struct OpenNode {
    items: Vec<usize>,
    /// Index of `best` or `over`.
    head: Option<usize>,
    over: bool,
    expand: Option<usize>,
    children: Vec<usize>,
    /// Index of each child's `select` so far.
    selects: Vec<usize>,
    decided: bool,
    scores: Vec<usize>,
}

/// A word that violates the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarViolation {
    /// Its index, from 0.
    place: usize,
    found: Kind,
    /// None: the trace was complete.
    expected: Option<Kind>,
}

impl fmt::Display for GrammarViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GrammarViolation { place, found, expected } = self;
        write!(f, "word {place} is `{}`, ", found.name())?;
        match expected {
            Some(kind) if kind == found => {
                write!(f, "written from another word than the shape has")
            }
            Some(kind) => write!(f, "expected `{}`", kind.name()),
            None => write!(f, "expected the end"),
        }
    }
}

impl std::error::Error for GrammarViolation {}

impl Grammar {
    /// At the start of a trace.
    #[must_use]
    pub fn new(shape: Shape, backup: Backup) -> Grammar {
        Grammar { shape, backup, open: Vec::new(), seen: 0, root: None, done: false }
    }

    /// Whether the trace is complete.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Reads the unread words of `trace`.
    ///
    /// # Errors
    /// The first misplaced word; it and its successors are not read.
    pub fn follow(&mut self, trace: &Trace) -> Result<(), GrammarViolation> {
        while let Some(word) = trace.words().get(self.seen) {
            self.take(word)?;
        }
        Ok(())
    }

    /// Reads one more word of `trace`; false at its end, and at a misplaced word.
    pub fn advance(&mut self, trace: &Trace) -> bool {
        trace.words().get(self.seen).is_some_and(|word| self.take(word).is_ok())
    }

    /// Words read.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// Words that may follow: none while a board is awaited, or at the end; two where a node's next child may be
    /// pruned, that child's evaluation first.
    #[must_use]
    pub fn allowed(&self) -> Vec<Allowed> {
        let Some(due) = self.due() else { return Vec::new() };
        let may_decide = || {
            let (node, _) = self.open.last().zip(self.open.len().checked_sub(2))?;
            let pruned = self.backup.prunes() && due.kind == Kind::Eval;
            let expand = node.expand.filter(|_| pruned && !node.selects.is_empty())?;
            Some(Allowed { kind: Kind::Decide, sources: vec![expand] })
        };
        let other = may_decide();
        [Some(due), other].into_iter().flatten().collect()
    }

    /// The next word without pruning.
    fn due(&self) -> Option<Allowed> {
        let one = |kind, source| Some(Allowed { kind, sources: vec![source] });
        if self.done {
            return None;
        }
        let Some((node, level)) = self.open.last().zip(self.open.len().checked_sub(1)) else {
            return one(Kind::Play, self.root?);
        };
        let head = node.head?;
        let leaf = node.over || level >= usize::from(self.shape.depth);
        let width = node.items.len().min(usize::from(self.shape.breadth));
        match node.expand {
            _ if leaf && node.decided => one(Kind::Select, head),
            _ if leaf => one(Kind::Decide, head),
            None => one(Kind::Expand, head),
            Some(_) if node.children.len() < width => {
                one(Kind::Child, *node.items.get(node.children.len())?)
            }
            Some(_) if node.selects.len() < width && !node.decided => {
                one(Kind::Eval, *node.children.get(node.selects.len())?)
            }
            Some(expand) if !node.decided => one(Kind::Decide, expand),
            Some(_) if node.scores.len() < node.selects.len() => {
                one(Kind::Score, *node.children.get(node.scores.len())?)
            }
            Some(_) => Some(Allowed { kind: Kind::Select, sources: node.scores.clone() }),
        }
    }

    /// Index of the `select` that the next `score` refers to.
    #[must_use]
    pub fn selected_child(&self) -> Option<usize> {
        let node = self.open.last()?;
        node.selects.get(node.scores.len()).copied()
    }

    /// The current node: its `expand`, and its children's `select`s so far.
    #[must_use]
    pub fn inner(&self) -> Option<(usize, &[usize])> {
        let node = self.open.last()?;
        Some((node.expand?, &node.selects))
    }

    /// `select`s of the current node's earlier siblings.
    #[must_use]
    pub fn siblings(&self) -> &[usize] {
        self.open.iter().rev().nth(1).map_or(&[], |parent| &parent.selects)
    }

    fn take(&mut self, word: &Word) -> Result<(), GrammarViolation> {
        let place = self.seen;
        let misplaced = |expected| GrammarViolation { place, found: word.kind, expected };
        let given = match word.kind {
            Kind::Prompt => self.seen == 0,
            Kind::Eval if self.seen == 1 => {
                self.open.push(OpenNode::default());
                true
            }
            Kind::Item | Kind::Best | Kind::Over => self.give(word),
            _ => false,
        };
        if !given {
            let allowed = self.allowed();
            if !allowed.iter().any(|allowed| allowed.has(word.kind, word.source)) {
                return Err(misplaced(allowed.first().map(|allowed| allowed.kind)));
            }
            self.written(word);
        }
        self.seen += 1;
        Ok(())
    }

    /// A word that describes a board. False if none is due.
    fn give(&mut self, word: &Word) -> bool {
        let place = self.seen;
        let Some(node) = self.open.last_mut().filter(|node| node.head.is_none()) else {
            return false;
        };
        match word.kind {
            Kind::Item => node.items.push(place),
            kind => {
                node.head = Some(place);
                node.over = kind == Kind::Over;
            }
        }
        true
    }

    fn written(&mut self, word: &Word) {
        let place = self.seen;
        match (word.kind, self.open.last_mut()) {
            (Kind::Play, _) => self.done = true,
            (Kind::Eval, _) => self.open.push(OpenNode::default()),
            (Kind::Expand, Some(node)) => node.expand = Some(place),
            (Kind::Child, Some(node)) => node.children.push(place),
            (Kind::Decide, Some(node)) => node.decided = true,
            (Kind::Score, Some(node)) => node.scores.push(place),
            (Kind::Select, _) => {
                self.open.pop();
                match self.open.last_mut() {
                    Some(parent) => parent.selects.push(place),
                    None => self.root = Some(place),
                }
            }
            _ => {}
        }
    }
}

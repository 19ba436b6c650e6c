//! The loop of one thought: the writer writes words, and the boards it names are evaluated. The loop itself chooses
//! nothing.

use super::boards::Boards;
use super::grammar::Grammar;
use super::page::NodePage;
use chess::action::Action;
use nn::EvalError;
use nn::writer::{Backup, Kind, Shape, Trace, Writer};

/// Parameters of a thought.
pub struct Task<'a> {
    /// Breadth and depth.
    pub shape: Shape,
    /// Backup rule.
    pub backup: Backup,
    /// Mask words that violate the grammar.
    pub mask: bool,
    /// Polled before each word; true stops the thought.
    pub stop: &'a dyn Fn() -> bool,
}

/// A trace with its boards.
#[derive(Clone, Debug, PartialEq)]
pub struct Thought {
    /// The words.
    pub trace: Trace,
    /// Evaluation of each node by index; None if not evaluated.
    pub pages: Vec<Option<NodePage>>,
    /// Reason for the end.
    pub end: ThoughtEnd,
}

/// Reason for the end of a thought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThoughtEnd {
    /// A move was played.
    Played,
    /// Stopped from outside.
    Stopped,
    /// Grammar error: the word and what was expected.
    Broken(String),
}

impl Thought {
    /// The move to play, if the trace is complete.
    #[must_use]
    pub fn played(&self) -> Option<Action> {
        let played = self.trace.played().filter(|_| self.end == ThoughtEnd::Played);
        played.map(|action| action.to_action(false))
    }

    /// Evaluation of the root.
    #[must_use]
    pub fn root(&self) -> Option<&NodePage> {
        self.pages.first()?.as_ref()
    }

    /// Root moves from best to worst with their buckets: scored ones first, then the rest of the list. The played
    /// move, if any, comes first.
    #[must_use]
    pub fn ranked(&self) -> Vec<(Action, u8)> {
        let words = self.trace.words().iter();
        let mut ranked: Vec<(Action, u8)> = words
            .filter(|word| word.kind == Kind::Score && word.parent == Some(0))
            .filter_map(|word| Some((word.action?.to_action(false), word.bucket?)))
            .collect();
        ranked.sort_by_key(|(_, bucket)| std::cmp::Reverse(*bucket));
        let list = self.root().map_or(&[][..], NodePage::list);
        for (action, bucket) in list {
            if ranked.iter().all(|(other, _)| other != action) {
                ranked.push((*action, *bucket));
            }
        }
        let played = self.played().and_then(|best| ranked.iter().position(|(a, _)| *a == best));
        if let Some(first) = ranked.get_mut(..=played.unwrap_or(0)) {
            first.rotate_right(1);
        }
        ranked
    }

    /// Principal variation after the root's move `action`, that move first.
    #[must_use]
    pub fn line(&self, action: Action) -> Vec<Action> {
        let words = self.trace.words();
        let mut line = vec![action];
        let mut parent = Some(0);
        let mut next = action;
        loop {
            let child = words.iter().find(|word| {
                word.kind == Kind::Child
                    && word.parent == parent
                    && word.action.is_some_and(|a| a.to_action(false) == next)
            });
            let Some(child) = child else { return line };
            let mut selects = words.iter();
            let select = selects.find(|word| word.kind == Kind::Select && word.node == child.node);
            let Some(reply) = select.and_then(|select| select.action) else { return line };
            next = reply.to_action(false);
            line.push(next);
            parent = child.node;
        }
    }
}

/// Runs one thought. The root of `boards` is set.
///
/// # Errors
/// The network or the writer fails.
pub fn think(
    boards: &mut Boards<'_>,
    writer: &mut dyn Writer,
    task: &Task<'_>,
) -> Result<Thought, EvalError> {
    let trace = Trace::new(task.shape, task.backup);
    let mut thought = Thought { trace, pages: Vec::new(), end: ThoughtEnd::Stopped };
    let mut grammar = Grammar::new(task.shape, task.backup);
    while !grammar.is_done() {
        if (task.stop)() {
            return Ok(thought);
        }
        let trace = &mut thought.trace;
        if let Some(node) = trace.asks_for() {
            let page = boards.page(trace, node)?;
            page.give(trace);
            let place = usize::from(node);
            thought.pages.resize(thought.pages.len().max(place + 1), None);
            thought.pages[place] = Some(page);
        } else {
            let allowed = if task.mask { grammar.allowed() } else { Vec::new() };
            let step = writer.next(trace, &allowed)?;
            if let Err(fault) = trace.write(step) {
                thought.end = ThoughtEnd::Broken(format!("word {}: {fault}", trace.words().len()));
                return Ok(thought);
            }
        }
        if let Err(misplaced) = grammar.follow(&thought.trace) {
            thought.end = ThoughtEnd::Broken(misplaced.to_string());
            return Ok(thought);
        }
    }
    thought.end = ThoughtEnd::Played;
    Ok(thought)
}

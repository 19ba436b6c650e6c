//! Checks a thought against the rules of chess and for consistency: boards, moves, decisions.

use super::boards::path_of;
use super::grammar::Grammar;
use super::page::{NodeAnswer, PredictedOutcome};
use super::print::Marks;
use super::teacher::{minimax, scores, step};
use super::think::Thought;
use chess::action::Action;
use chess::ending::{self, Ending};
use chess::game::Game;
use nn::evaluator::is_true;
use nn::writer::{Kind, Trace, Word};
use shakmaty::{Chess, Position};
use std::fmt;

/// A ratio of correct items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ratio {
    /// Correct items.
    pub right: u64,
    /// All items.
    pub of: u64,
}

impl Ratio {
    /// Counts one item.
    pub fn add(&mut self, right: bool) {
        self.right += u64::from(right);
        self.of += 1;
    }

    /// Adds another count.
    pub fn join(&mut self, other: Ratio) {
        self.right += other.right;
        self.of += other.of;
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.right, self.of)
    }
}

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Boards below the root, by level from 1: pieces, rights and en passant are correct.
    pub states: [Ratio; 3],
    /// Nodes whose number of children agrees with breadth and the true number of legal moves (paper 000, section 5.4).
    pub widths: Ratio,
    /// Expanded moves that are legal in the true position.
    pub expanded: Ratio,
    /// Listed moves that are legal.
    pub listed: Ratio,
    /// Nodes whose outcome, or the absence of one, is correct.
    pub ends: Ratio,
    /// Nodes whose decision is the minimax of their children.
    pub decisions: Ratio,
    /// Alpha-beta bounds and cutoffs that are correct.
    pub cutoffs: Ratio,
    /// Errors to mark in the text.
    pub marks: Marks,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (level, states) in (1..).zip(&self.states).filter(|(_, states)| states.of > 0) {
            writeln!(f, "states at level {level}   {states} right")?;
        }
        writeln!(f, "numbers of children {} right", self.widths)?;
        writeln!(f, "moves expanded      {} legal", self.expanded)?;
        writeln!(f, "moves listed        {} legal", self.listed)?;
        writeln!(f, "ends of the game    {} right", self.ends)?;
        write!(f, "decisions           {} consistent", self.decisions)?;
        match self.cutoffs.of {
            0 => Ok(()),
            _ => write!(f, "\ncut-offs            {} right", self.cutoffs),
        }
    }
}

/// Checks a thought on the last position of `game`.
#[must_use]
pub fn check(thought: &Thought, game: &Game) -> Report {
    let mut report = Report::default();
    for (node, page) in (0u8..).zip(&thought.pages) {
        let Some(page) = page else { continue };
        let path = path_of(&thought.trace, node);
        let truth = follow(game, &path);
        if let Some((last, before)) = path.split_last()
            && let Some(parent) = follow(game, before)
        {
            report.expanded.add(is_legal(&parent, *last));
        }
        // After an illegal move there is no true position.
        let Some(truth) = truth else { continue };
        if let Some(states) = path.len().checked_sub(1).and_then(|at| report.states.get_mut(at)) {
            let right = page.state.as_ref().is_some_and(|state| is_true(state, &truth));
            states.add(right);
            if !right {
                report.marks.states.insert(node);
            }
        }
        let shape = thought.trace.shape();
        if path.len() < usize::from(shape.depth) {
            let own = |word: &&Word| word.kind == Kind::Child && word.parent == Some(node);
            let children = thought.trace.words().iter().filter(own).count();
            let due = truth.legal_moves().len().min(usize::from(shape.breadth));
            report.widths.add(children == if true_end(&truth).is_some() { 0 } else { due });
        }
        for (action, _) in page.list() {
            let legal = is_legal(&truth, *action);
            report.listed.add(legal);
            if !legal {
                report.marks.moves.insert((node, *action));
            }
        }
        let end = match &page.answer {
            NodeAnswer::List(_) => None,
            NodeAnswer::Over(outcome) => Some(*outcome),
        };
        report.ends.add(end == true_end(&truth));
    }
    decisions(thought, &mut report);
    if thought.trace.backup().prunes() {
        report.cutoffs = cutoffs(&thought.trace);
    }
    report
}

/// The true position after `path`; None if a move is illegal.
pub fn follow(game: &Game, path: &[Action]) -> Option<Chess> {
    let mut position = game.position().clone();
    for action in path {
        let m = action.to_move(&position).filter(|m| position.is_legal(*m))?;
        position.play_unchecked(m);
    }
    Some(position)
}

fn is_legal(position: &Chess, action: Action) -> bool {
    action.to_move(position).is_some_and(|m| position.is_legal(m))
}

fn true_end(position: &Chess) -> Option<PredictedOutcome> {
    let ending = ending::by_board(position, position.legal_moves().len())?;
    Some(match ending {
        Ending::Checkmate { winner } => PredictedOutcome::Won(winner),
        _ => PredictedOutcome::Drawn,
    })
}

/// Bounds and cutoffs of a trace by alpha-beta, compared with the teacher's.
fn cutoffs(trace: &Trace) -> Ratio {
    let mut grammar = Grammar::new(trace.shape(), trace.backup());
    let mut found = Ratio::default();
    while grammar.advance(trace) {
        let Some(next) = trace.words().get(grammar.seen()) else { break };
        let bounds = next.kind == Kind::Expand;
        if bounds || grammar.allowed().len() > 1 {
            let due = step(&grammar, trace);
            found.add(due.is_some_and(|due| {
                due.kind == next.kind && (!bounds || Some(due.bucket) == next.bucket)
            }));
        }
    }
    found
}

/// Decisions compared with the words they depend on.
fn decisions(thought: &Thought, report: &mut Report) {
    let words = thought.trace.words();
    let follows = |place: usize| {
        let word = &words[place];
        minimax(&thought.trace, place) == word.source.zip(word.bucket)
    };
    for (place, select) in words.iter().enumerate().filter(|(_, word)| word.kind == Kind::Select) {
        let right = follows(place) && scores(&words[..place], select).into_iter().all(follows);
        report.decisions.add(right);
        if let Some(node) = select.node.filter(|_| !right) {
            report.marks.decisions.insert(node);
        }
    }
}

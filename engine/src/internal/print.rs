//! Prints a thought as the paper's text (paper 000, figure 4), with values from 0 to 63. [`super::parse`] is the
//! inverse.
//!
//! With alpha-beta, which is not the paper's, an expansion names its bound.
//!
//! Castling is king takes rook, as in all internal notation. Castling rights, en passant and clock follow the side to
//! move unless they are `- - 0`. Items of [`Marks`] are in brackets; such a text cannot be parsed.

use super::page::{NodeAnswer, NodePage, PredictedOutcome};
use super::think::Thought;
use chess::action::Action;
use nn::writer::{Kind, Trace, Word};
use shakmaty::fen::Fen;
use shakmaty::{Chess, Color, EnPassantMode};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Castling, en passant and clock of a plain board: omitted.
pub(super) const PLAIN: &str = "- - 0";
/// An invalid board, and the move of a node without one.
pub(super) const INVALID: &str = "invalid";
/// Precedes the bound of an expansion by alpha-beta.
pub(super) const AGAINST: &str = " against ";
/// Header of the root's evaluation.
pub(super) const ROOT_HEADER: &str = "<mav game=chess> %state %top_all %best_action </mav>";
/// Header of every other node's evaluation.
pub(super) const CHILD_HEADER: &str =
    "<mav game=chess> %prev_state %prev_action %state %top_all %best_action </mav>";

/// Items printed in brackets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Nodes with a wrong board.
    pub states: BTreeSet<u8>,
    /// Illegal moves in the lists of nodes.
    pub moves: BTreeSet<(u8, Action)>,
    /// Nodes with a decision that contradicts their children.
    pub decisions: BTreeSet<u8>,
}

/// Prints a thought.
#[must_use]
pub fn print(thought: &Thought, marks: &Marks) -> String {
    let mut printer = TextPrinter { thought, marks, out: String::new() };
    thought.trace.words().iter().for_each(|word| printer.word(word));
    if !printer.out.ends_with('\n') {
        printer.out.push('\n');
    }
    printer.out
}

/// A node's name: moves from the root.
#[must_use]
pub fn name(trace: &Trace, node: u8) -> String {
    let path = super::boards::path_of(trace, node);
    let moves: String = path.iter().map(|action| format!(" {action:?}")).collect();
    format!("<root{moves}>")
}

/// A board in the notation of `%state`.
#[must_use]
pub fn state_text(state: Option<&Chess>) -> String {
    let Some(state) = state else { return INVALID.to_owned() };
    let fen = Fen::from_position(state, EnPassantMode::Always).to_string();
    let fields: Vec<&str> = fen.split(' ').take(5).collect();
    match fields.split_at_checked(2) {
        Some((board, rest)) if rest.join(" ") == PLAIN => board.join(" "),
        _ => fields.join(" "),
    }
}

/// A game's result as text.
#[must_use]
pub fn outcome_text(outcome: PredictedOutcome) -> &'static str {
    match outcome {
        PredictedOutcome::Won(Color::White) => "1-0",
        PredictedOutcome::Won(Color::Black) => "0-1",
        PredictedOutcome::Drawn => "1/2-1/2",
        PredictedOutcome::NoState => INVALID,
    }
}

/// Puts marked text in brackets.
fn bracket(text: String, marked: bool) -> String {
    if marked { format!("[{text}]") } else { text }
}

struct TextPrinter<'a> {
    thought: &'a Thought,
    marks: &'a Marks,
    out: String,
}

impl TextPrinter<'_> {
    fn name(&self, node: Option<u8>) -> String {
        node.map_or_else(String::new, |node| name(&self.thought.trace, node))
    }

    fn page(&self, node: Option<u8>) -> Option<&NodePage> {
        self.thought.pages.get(usize::from(node?))?.as_ref()
    }

    fn move_text(word: &Word) -> String {
        let action = word.action.map(|action| action.to_action(false));
        action.map_or_else(|| INVALID.to_owned(), |action| format!("{action:?}"))
    }

    /// A move with its value: `g3d6 : "<ctrl32>"`.
    fn valued(word: &Word) -> String {
        format!("{} : \"<ctrl{}>\"", TextPrinter::move_text(word), word.bucket.unwrap_or(0))
    }

    fn word(&mut self, word: &Word) {
        let name = self.name(word.node);
        let marked = word.node.is_some_and(|node| self.marks.decisions.contains(&node));
        let text = match word.kind {
            Kind::Prompt => {
                let (shape, backup) = (self.thought.trace.shape(), self.thought.trace.backup());
                format!("{} breadth={} depth={}\n", backup.name(), shape.breadth, shape.depth)
            }
            Kind::Eval => self.evaluation(word, &name),
            Kind::Expand => {
                let bound = word.bucket.map(|bucket| format!("{AGAINST}<ctrl{bucket}>"));
                format!("\nExpand from node {name}{}:\n", bound.unwrap_or_default())
            }
            Kind::Child => format!("{name}\n"),
            Kind::Decide => {
                let source = word.source.and_then(|at| self.thought.trace.words().get(at));
                let inner = source.is_some_and(|source| source.kind == Kind::Expand);
                format!("{}Decision for node: {name}", if inner { "\n" } else { "" })
            }
            Kind::Score => format!(" {}", TextPrinter::valued(word)),
            Kind::Select => {
                format!(
                    "\n{}\n",
                    bracket(format!("Selecting: {}", TextPrinter::valued(word)), marked)
                )
            }
            Kind::Play => format!("Playing {}!\n", TextPrinter::move_text(word)),
            Kind::Item | Kind::Best | Kind::Over => return,
        };
        self.out += &text;
    }

    /// Query and answer of a node's evaluation.
    fn evaluation(&self, word: &Word, name: &str) -> String {
        let node = word.node.unwrap_or_default();
        let mut out = String::new();
        if word.parent.is_some() {
            out.push('\n');
        }
        let _ = writeln!(out, "Evaluation for node: {name}");
        match word.parent {
            None => out += &format!("{ROOT_HEADER}\n"),
            Some(_) => {
                let before = self.page(word.parent).and_then(|page| page.state.as_ref());
                let path = super::boards::path_of(&self.thought.trace, node);
                let action = path.last().map_or_else(String::new, |action| format!("{action:?}"));
                let _ = writeln!(out, "{CHILD_HEADER}\n[%prev_state {}]", state_text(before));
                let _ = writeln!(out, "[%prev_action {action}]");
            }
        }
        let Some(page) = self.page(word.node) else { return out };
        let state = state_text(page.state.as_ref());
        let _ = writeln!(out, "[%state {}]", bracket(state, self.marks.states.contains(&node)));
        match &page.answer {
            NodeAnswer::Over(outcome) => {
                let _ = writeln!(out, "[%top_1 {INVALID} : \"{}\"]", outcome_text(*outcome));
            }
            NodeAnswer::List(list) => {
                let moves: Vec<String> = list
                    .iter()
                    .map(|(action, bucket)| {
                        let illegal = self.marks.moves.contains(&(node, *action));
                        format!("{}:<ctrl{bucket}>", bracket(format!("{action:?}"), illegal))
                    })
                    .collect();
                let _ = writeln!(out, "[%top_all {}]", moves.join(" "));
                if let Some((best, _)) = list.first() {
                    let _ = writeln!(out, "[%best_action {best:?}]");
                }
            }
        }
        out
    }
}

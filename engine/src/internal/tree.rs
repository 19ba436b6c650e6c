//! Prints a thought as a tree of moves for people, one node a line. [`super::print`](mod@super::print) has the paper's text.

use super::page::{NodeAnswer, NodePage, centre, to_parent};
use super::print::{Marks, outcome_text};
use super::think::Thought;
use chess::action::Action;
use nn::writer::{Kind, Word};
use shakmaty::{Chess, Color, Position};
use std::fmt::Write as _;

/// Blanks before a node for each ply above it.
const INDENT: usize = 4;
/// Column of the values.
const VALUES: usize = 24;

/// The tree of a thought; items of `marks` are named.
#[must_use]
pub fn tree(thought: &Thought, marks: &Marks) -> String {
    let (shape, backup) = (thought.trace.shape(), thought.trace.backup().name());
    let mut out = format!(
        "{backup}, breadth {}, depth {}: win probability of the side that moves; * marks the choice\n\n",
        shape.breadth, shape.depth
    );
    let printer = TreePrinter { thought, marks };
    printer.below(0, 0, &mut out);
    match thought.played() {
        Some(action) => {
            let _ = writeln!(out, "\nplays {}", printer.san(0, action));
        }
        None => out += "\nplays nothing: the tree is not complete\n",
    }
    out
}

struct TreePrinter<'a> {
    thought: &'a Thought,
    marks: &'a Marks,
}

impl TreePrinter<'_> {
    fn page(&self, node: u8) -> Option<&NodePage> {
        self.thought.pages.get(usize::from(node))?.as_ref()
    }

    fn position(&self, node: u8) -> Option<&Chess> {
        self.page(node)?.state.as_ref()
    }

    /// The decision of a node.
    fn select(&self, node: u8) -> Option<&Word> {
        let mut words = self.thought.trace.words().iter();
        words.find(|word| word.kind == Kind::Select && word.node == Some(node))
    }

    /// A move on the board that the network imagines; as squares where it is not legal there.
    fn san(&self, node: u8, action: Action) -> String {
        let legal = |position: &&Chess| {
            action.to_move(position).is_some_and(|action| position.is_legal(action))
        };
        let position = self.position(node).filter(legal);
        position.map_or_else(|| format!("{action:?}"), |position| action.to_san(position))
    }

    /// Prints the children of a node, or, where it has none, the reply that it chooses.
    fn below(&self, node: u8, level: usize, out: &mut String) {
        let words = self.thought.trace.words().iter();
        let children = words.filter(|word| word.kind == Kind::Child && word.parent == Some(node));
        let chosen = self.select(node).and_then(|select| select.action);
        let mut childless = true;
        for child in children {
            childless = false;
            let Some((at, code)) = child.node.zip(child.action) else { continue };
            let value = match self.page(at).map(|page| &page.answer) {
                Some(NodeAnswer::Over(outcome)) => outcome_text(*outcome).to_owned(),
                // Without an answer the bound made it irrelevant, or the text ends before it.
                _ => self
                    .select(at)
                    .and_then(|select| select.bucket)
                    .map_or_else(|| "not valued".to_owned(), |bucket| percent(to_parent(bucket))),
            };
            let mut notes = String::new();
            let action = code.to_action(false);
            for (marked, note) in [
                (self.marks.moves.contains(&(node, action)), " [illegal]"),
                (self.marks.states.contains(&at), " [wrong board]"),
                (self.marks.decisions.contains(&at), " [inconsistent decision]"),
            ] {
                notes += if marked { note } else { "" };
            }
            self.line((node, action, level, chosen == Some(code)), &(value + &notes), out);
            self.below(at, level + 1, out);
        }
        if childless
            && let Some((code, bucket)) =
                self.select(node).and_then(|select| select.action.zip(select.bucket))
        {
            let action = code.to_action(false);
            self.line((node, action, level, true), &percent(bucket), out);
        }
    }

    fn line(
        &self,
        (node, action, level, chosen): (u8, Action, usize, bool),
        value: &str,
        out: &mut String,
    ) {
        let star = if chosen { '*' } else { ' ' };
        let dots = match self.position(node).map(Position::turn) {
            Some(Color::Black) => "...",
            _ => "",
        };
        let head = format!("{}{star} {dots}{}", " ".repeat(INDENT * level), self.san(node, action));
        let _ = writeln!(out, "{head:<VALUES$} {value}");
    }
}

/// The win probability at the centre of a bucket.
fn percent(bucket: u8) -> String {
    format!("{:>3.0} %", 100.0 * centre(bucket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internal::TWO_MOVES;
    use crate::internal::parse::parse;

    #[test]
    fn every_node_has_a_line_and_the_choices_have_stars() {
        let text = format!(
            "{TWO_MOVES}[%state 7k/8/8/8/8/8/K7/8 b - - 1]
            [%top_all h8g8:<ctrl31> h8h7:<ctrl30>]
            [%best_action h8g8]
            Decision for node: <root a1a2>
            Selecting: h8g8 : \"<ctrl31>\"
            Evaluation for node: <root a1b1>
            <mav game=chess> %prev_state %prev_action %state %top_all %best_action </mav>
            [%prev_state 7k/8/8/8/8/8/8/K7 w]
            [%prev_action a1b1]
            [%state invalid]
            [%top_1 invalid : \"invalid\"]
            Decision for node: <root a1b1>
            Selecting: invalid : \"<ctrl63>\"
            Decision for node: <root> a1a2 : \"<ctrl32>\" a1b1 : \"<ctrl0>\"
            Selecting: a1a2 : \"<ctrl32>\"
            Playing a1a2!"
        );
        let thought = parse(&text).unwrap();
        let marks = Marks { states: [2].into(), ..Marks::default() };
        let printed = tree(&thought, &marks);
        let lines: Vec<String> = printed
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert!(lines[0].starts_with("Minimax, breadth 2, depth 1: "), "{printed}");
        let expected =
            ["* Ka2 51 %", "* ...Kg8 49 %", "Kb1 invalid [wrong board]", "", "plays Ka2"];
        assert_eq!(lines[2..], expected, "{printed}");
        let cut = parse(text.split("Decision for node: <root>").next().unwrap()).unwrap();
        let printed = tree(&cut, &Marks::default());
        assert!(printed.contains("not complete") && printed.contains("Ka2"), "{printed}");
    }
}

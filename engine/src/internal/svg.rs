//! Draws a thought as a tree from left to right: a node is a box with the move that leads there and the win
//! probability of the side that made it. Selections are thick, the line played is filled.

use super::page::{NodeAnswer, NodePage, centre, to_parent};
use super::print::{Marks, outcome_text};
use super::think::Thought;
use nn::writer::{Kind, Word};
use std::fmt::Write as _;

/// Size of a box, in pixels.
const WIDTH: u32 = 96;
const HEIGHT: u32 = 20;
/// Distance of levels, and of leaves.
const COLUMN: u32 = 170;
const ROW: u32 = 26;
const MARGIN: u32 = 12;
const HEAD: u32 = 26;

/// A node with its layout.
struct PlacedNode {
    node: u8,
    parent: Option<u8>,
    level: u32,
    /// Vertical centre of the box.
    y: u32,
    label: String,
    /// Selected by its parent.
    selected: bool,
    /// On the line played.
    played: bool,
}

/// SVG of a thought; items of `marks` are red.
#[must_use]
pub fn draw(thought: &Thought, marks: &Marks) -> String {
    let mut places = Vec::new();
    let mut row = 0;
    lay_out(thought, None, &mut row, &mut places);
    let levels = places.iter().map(|place| place.level).max().unwrap_or(0);
    let (width, height) =
        (2 * MARGIN + levels * COLUMN + WIDTH, HEAD + 2 * MARGIN + row.max(1) * ROW);
    let mut out = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' \
         height='{height}' font-family='sans-serif' font-size='12'>\n\
         <rect width='{width}' height='{height}' fill='white'/>\n"
    );
    let shape = thought.trace.shape();
    let _ = writeln!(
        out,
        "<text x='{MARGIN}' y='18' fill='#444'>breadth {}, depth {}: win probability of who moved, in %</text>",
        shape.breadth, shape.depth
    );
    let left = |level: u32| MARGIN + level * COLUMN;
    for place in &places {
        let parent = places.iter().find(|other| Some(other.node) == place.parent);
        if let Some(parent) = parent {
            let (x1, x2) = (left(parent.level) + WIDTH, left(place.level));
            let middle = (x1 + x2) / 2;
            let (stroke, thick) = if place.selected { ("#333", 2.5) } else { ("#aaa", 1.0) };
            let _ = writeln!(
                out,
                "<path d='M{x1} {}C{middle} {} {middle} {} {x2} {}' fill='none' stroke='{stroke}' \
                 stroke-width='{thick}'/>",
                parent.y, parent.y, place.y, place.y
            );
        }
    }
    for place in &places {
        let fill = if place.played { "#cfe8cf" } else { "#f4f4f4" };
        let wrong = marks.states.contains(&place.node) || marks.decisions.contains(&place.node);
        let (x, y) = (left(place.level), place.y - HEIGHT / 2);
        let stroke = if wrong { "#c00" } else { "#666" };
        let _ = writeln!(
            out,
            "<rect x='{x}' y='{y}' width='{WIDTH}' height='{HEIGHT}' rx='3' fill='{fill}' stroke='{stroke}'/>\
             <text x='{}' y='{}' text-anchor='middle'>{}</text>",
            x + WIDTH / 2,
            place.y + 4,
            place.label
        );
    }
    out + "</svg>\n"
}

/// Lays out a node (`None`: the root) with its subtree; returns the centre of its box.
fn lay_out(
    thought: &Thought,
    child: Option<&Word>,
    row: &mut u32,
    places: &mut Vec<PlacedNode>,
) -> u32 {
    let words = thought.trace.words();
    let node = child.and_then(|child| child.node).unwrap_or(0);
    let at = places.len();
    let page = thought.pages.get(usize::from(node)).and_then(Option::as_ref);
    let select = words.iter().find(|word| word.kind == Kind::Select && word.node == Some(node));
    let parent = child.and_then(|child| child.parent);
    let chosen = words.iter().find(|word| word.kind == Kind::Select && word.node == parent);
    let selected = child.is_some_and(|child| chosen.is_some_and(|c| c.action == child.action));
    let above = places.iter().find(|place| Some(place.node) == parent);
    let played = child.is_none() || selected && above.is_some_and(|above| above.played);
    let value = select.and_then(|select| select.bucket);
    places.push(PlacedNode {
        node,
        parent,
        level: child.map_or(0, |child| u32::from(child.level)),
        y: 0,
        label: label(child, page, value),
        selected,
        played,
    });
    let children =
        words.iter().filter(|word| word.kind == Kind::Child && word.parent == Some(node));
    let rows: Vec<u32> = children.map(|child| lay_out(thought, Some(child), row, places)).collect();
    let y = match (rows.first(), rows.last()) {
        (Some(first), Some(last)) => (first + last) / 2,
        _ => {
            *row += 1;
            HEAD + MARGIN + (*row - 1) * ROW + ROW / 2
        }
    };
    places[at].y = y;
    y
}

/// Move and value.
fn label(child: Option<&Word>, page: Option<&NodePage>, value: Option<u8>) -> String {
    let percent = |bucket: u8| format!("{:.0}", 100.0 * centre(bucket));
    let Some(child) = child else {
        return format!("root {}", value.map_or_else(String::new, percent));
    };
    let action = child.action.map(|action| format!("{:?}", action.to_action(false)));
    let value = match page.map(|page| &page.answer) {
        Some(NodeAnswer::Over(outcome)) => outcome_text(*outcome).to_owned(),
        _ => value.map_or_else(String::new, |bucket| percent(to_parent(bucket))),
    };
    format!("{} {value}", action.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internal::TWO_MOVES;
    use crate::internal::parse::parse;

    #[test]
    fn every_node_is_a_box_and_wrong_ones_are_red() {
        let text = format!(
            "{TWO_MOVES}[%state invalid]
            [%top_1 invalid : \"invalid\"]
            Decision for node: <root a1a2>
            Selecting: invalid : \"<ctrl63>\""
        );
        let thought = parse(&text).unwrap();
        let marks = Marks { states: [1].into(), ..Marks::default() };
        let drawn = draw(&thought, &marks);
        assert_eq!(drawn.matches("rx='3'").count(), 3, "{drawn}");
        assert_eq!(drawn.matches("#c00").count(), 1, "{drawn}");
        assert!(drawn.contains("a1a2 invalid") && drawn.ends_with("</svg>\n"), "{drawn}");
    }
}

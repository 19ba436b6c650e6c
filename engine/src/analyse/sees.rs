//! The network's view at a turning point, collapsed on the page: predicted legal moves, and predicted boards along its
//! best line.

use crate::eval::look::{Inspection, PredictedBoard};
use crate::markup::board::{diagram, frames};
use crate::markup::escape;
use std::fmt::Write as _;

/// Maximum number of games on a page for which it is shown: it adds five boards per turning point.
pub const MOST_GAMES: usize = 20;

/// Collapsed element of the page.
#[must_use]
pub fn folded(inspection: &Inspection) -> String {
    let class = if inspection.errs() { "wrong" } else { "soft" };
    let mut out = format!(
        "<details class='mind'><summary>What the network sees</summary>\n<p class='{class}'>{}</p>\n",
        escape(&inspection.legality())
    );
    if !inspection.line.is_empty() {
        out += "<p class='soft'>Its best line on the boards that it predicts, without the rules. Red: squares that it \
                predicts wrongly.</p>\n<div class='glimpses'>";
        inspection.line.iter().for_each(|predicted_board| show(&mut out, predicted_board));
        out += "</div>\n";
    }
    out + "</details>\n"
}

fn show(out: &mut String, predicted_board: &PredictedBoard) {
    let PredictedBoard { heading, state, wrong, verdict } = predicted_board;
    let heading = escape(heading);
    let class = if predicted_board.is_right() { "soft" } else { "wrong" };
    let board = match state {
        Ok(state) => {
            let board = diagram(state, &[], &format!("Imagined after {heading}"));
            format!("<div class='layers'>{board}{}</div>", frames(wrong))
        }
        Err(why) => format!("<p>{}</p>", escape(&why.to_string())),
    };
    let _ = write!(out, "<div>{heading} <span class='{class}'>{verdict}</span>{board}</div>");
}

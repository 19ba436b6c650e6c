//! What the network alone sees at a turning point, folded up on the page: which moves it takes for legal, and the
//! boards it imagines along its own best line.

use crate::eval::look::{Glimpse, Sight};
use crate::markup::board::{diagram, frames};
use crate::markup::escape;
use std::fmt::Write as _;

/// Games on a page up to which it is told: five boards more for each turning point make a page of hundreds heavy.
pub const MOST_GAMES: usize = 20;

/// The part of the page.
#[must_use]
pub fn folded(sight: &Sight) -> String {
    let class = if sight.errs() { "wrong" } else { "soft" };
    let mut out = format!(
        "<details class='mind'><summary>What the network sees</summary>\n<p class='{class}'>{}</p>\n",
        escape(&sight.legality())
    );
    if !sight.line.is_empty() {
        out += "<p class='soft'>Its best line, as it imagines the boards: no rules are asked. Red: not so on the true \
                board.</p>\n<div class='glimpses'>";
        sight.line.iter().for_each(|glimpse| show(&mut out, glimpse));
        out += "</div>\n";
    }
    out + "</details>\n"
}

fn show(out: &mut String, glimpse: &Glimpse) {
    let Glimpse { heading, state, wrong, verdict } = glimpse;
    let heading = escape(heading);
    let class = if glimpse.is_right() { "soft" } else { "wrong" };
    let board = match state {
        Ok(state) => {
            let board = diagram(state, &[], &format!("Imagined after {heading}"));
            format!("<div class='layers'>{board}{}</div>", frames(wrong))
        }
        Err(why) => format!("<p>{}</p>", escape(&why.to_string())),
    };
    let _ = write!(out, "<div>{heading} <span class='{class}'>{verdict}</span>{board}</div>");
}

//! Turning points of a game as cards: diagram, better line, and the network beside the search.

use super::found::RootMove;
use super::judge::Glyph;
use super::moments::{self, Row};
use super::review::Review;
use super::sees::{self, NetworkView};
use super::words::{line, number, percent, sign};
use crate::eval::look::Inspection;
use crate::markup::board::{Arrow, diagram, side};
use crate::markup::escape;
use chess::action::Action;
use std::fmt::Write as _;

/// Writes all cards; `full` adds what the network sees.
pub fn all(out: &mut String, review: &Review<'_>, network_view: NetworkView<'_>, full: bool) {
    let plies = moments::find(review);
    if plies.is_empty() {
        return;
    }
    *out += "<h3>Turning points</h3>\n";
    let inspections: Vec<Option<Inspection>> =
        plies.iter().map(|ply| network_view(&review.positions.game(*ply))).collect();
    if inspections.iter().any(Option::is_some) {
        *out += "<p class='soft'>Below each move: how likely the network alone finds each result after it, from a \
                 loss at the left to a win; the line is the mean.</p>\n";
    }
    *out += "<div class='moments'>\n";
    for (ply, inspection) in plies.iter().zip(&inspections) {
        moment(out, review, *ply, inspection.as_ref(), full);
    }
    *out += "</div>\n";
}

/// A turning point: diagram, text, and network against search.
fn moment(
    out: &mut String,
    review: &Review<'_>,
    ply: usize,
    inspection: Option<&Inspection>,
    full: bool,
) {
    let (Some(judged), Some(played)) = (&review.judgements[ply], review.played(ply)) else {
        return;
    };
    let san = |action: Action| review.positions.san(ply, action);
    let mover = side(review.mover(ply));
    let best = review.better(ply).next().and_then(RootMove::action);
    let arrow = |action: Action, class| Arrow::of(review.board(ply), action, class);
    let praised = judged.glyph == Some(Glyph::Good);
    // The better move lies above: it may be the shorter one.
    let mut arrows = vec![arrow(played, if praised { "better" } else { "played" })];
    arrows.extend(best.map(|best| arrow(best, "better")));
    let name = format!("{} {}", number(review, ply), escape(&san(played)));
    let words = format!("Position before {name}");
    let _ = writeln!(
        out,
        "<article><h4><a href='#g{}' data-ply='{}'>{name}{}</a></h4>\n<p>{}</p>{}",
        review.game.number,
        ply + 1,
        sign(judged.glyph),
        if praised {
            format!("The only move that holds: {mover} keeps {}.", percent(judged.after))
        } else {
            format!(
                "{mover}’s expected score: {} → {}.",
                percent(judged.best),
                percent(judged.after)
            )
        },
        diagram(review.board(ply), &arrows, &words)
    );
    for (place, choice) in review.better(ply).enumerate() {
        let (game, line) = (review.game.number, line(review, ply, choice));
        let _ = writeln!(
            out,
            "<p class='line'><a class='key better' href='#g{game}' data-ply='{ply}' data-line='{place}'>Better:</a> \
             {line}</p>"
        );
    }
    if let Some((favourite, share)) = review.found(ply).and_then(|found| found.policy.first()) {
        let san = escape(&san(*favourite));
        let _ = writeln!(
            out,
            "<p>Before any search the network expected {san}, with {}.</p>",
            percent(*share)
        );
    }
    *out += "<table><tr><th>Move<th>Network<th>Search<th>Expected\n";
    for Row { action, expected, visited, win, key } in moments::rows(review, ply) {
        let san = escape(&san(action));
        let key = key.map_or_else(String::new, |key| format!(" <span class='soft'>{key}</span>"));
        let share = |share: Option<f32>| share.map_or_else(|| "–".to_owned(), percent);
        let _ = writeln!(
            out,
            "<tr><td>{san}{key}<td>{}<td>{}<td>{}",
            percent(expected),
            share(visited),
            share(win)
        );
        let inspected = inspection
            .into_iter()
            .flat_map(|inspection| &inspection.moves)
            .find(|inspected| inspected.action == action);
        if let Some(inspected) = inspected {
            let shape = sees::shape(&inspected.chances, inspected.value);
            let _ = writeln!(out, "<tr><td colspan='4'>{shape}");
        }
    }
    *out += "</table>";
    if let Some(inspection) = inspection.filter(|_| full) {
        *out += &sees::folded(inspection);
    }
    *out += "</article>\n";
}

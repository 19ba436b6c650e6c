//! Table of all moves of a game. Cells have no end tags, which HTML does not need: a page has thousands of them.

use super::found::RootMove;
use super::review::Review;
use super::words::{number, percent, score, sign};
use crate::markup::escape;
use chess::action::Action;
use std::fmt::Write as _;

/// Writes it, folded.
pub fn write(out: &mut String, review: &Review<'_>) {
    *out += "<details><summary>All moves</summary><div class='scroll' tabindex='0' role='region' \
             aria-label='All moves'><table class='moves'><tr><th>Move<th>Score<th>White expects\
             <th>Lost<th>Better<th>Network\n";
    for (ply, judged) in review.judgements.iter().enumerate() {
        let (Some(judged), Some(played)) = (judged, review.played(ply)) else { continue };
        let text = |action: Action| escape(&review.positions.san(ply, action));
        let name = format!("{} {}{}", number(review, ply), text(played), sign(judged.glyph));
        let (game, place) = (review.game.number, ply + 1);
        let name = format!("<a href='#g{game}' data-ply='{place}'>{name}</a>");
        let score = review.score(ply + 1).map_or_else(|| "#".to_owned(), score);
        let win = review.white_win(ply + 1).map(percent).unwrap_or_default();
        // Whole points, so that a move with 5 lost has its glyph.
        let lost = (100.0 * judged.loss()).floor();
        let lost = if lost >= 1.0 { format!("{lost:.0}") } else { String::new() };
        let better = review.better(ply).next().and_then(RootMove::action);
        let better = better.map(text).unwrap_or_default();
        let favourite = review.found(ply).and_then(|found| found.policy.first());
        let favourite = favourite
            .map(|(action, share)| {
                format!("{} <span class='soft'>{}</span>", text(*action), percent(*share))
            })
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "<tr><td>{name}<td>{score}<td>{win}<td>{lost}<td>{better}<td>{favourite}"
        );
    }
    *out += "</table></div></details>\n";
}

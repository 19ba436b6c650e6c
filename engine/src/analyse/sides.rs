//! Both players beside each other: name, rating, accuracy of the game and of its phases, average centipawn loss, glyphs.

use super::curve::class;
use super::judge::Glyph;
use super::phases::phases;
use super::review::Review;
use crate::markup::board::side;
use crate::markup::escape;
use shakmaty::{Color, Position};
use std::fmt::Write as _;
use std::ops::Range;

const GLYPHS: [Glyph; 4] = [Glyph::Good, Glyph::Inaccuracy, Glyph::Mistake, Glyph::Blunder];

/// `Name (rating)` as the tags have it; `White` or `Black` without a name. Not escaped.
#[must_use]
pub fn player(review: &Review<'_>, color: Color) -> String {
    let given = |tag: &str| {
        let value = review.game.tag(tag).map(str::trim);
        value.filter(|value| !["", "?", "-", "0"].contains(value))
    };
    let name = given(side(color)).unwrap_or(side(color));
    match given(color.fold_wb("WhiteElo", "BlackElo")) {
        Some(rating) => format!("{name} ({rating})"),
        None => name.to_owned(),
    }
}

/// Table of both players.
pub fn table(out: &mut String, review: &Review<'_>) {
    let phases = phases(&review.positions);
    *out += "<table class='sides'><tr><th></th><th>Accuracy</th>";
    for phase in &phases {
        let _ = write!(out, "<th title='{}'>{}</th>", moves(review, &phase.plies), phase.name);
    }
    *out += "<th>Average loss</th>";
    for glyph in GLYPHS {
        let (class, word, sign) = (class(glyph), glyph.word(), glyph.sign());
        let _ = write!(out, "<th class='{class}' title='{word}' aria-label='{word}'>{sign}</th>");
    }
    *out += "</tr>\n";
    let losses = review.centipawn_loss();
    let whole = 0..review.judgements.len();
    let parts: Vec<_> = std::iter::once(whole)
        .chain(phases.map(|phase| phase.plies))
        .map(|plies| review.accuracy(plies))
        .collect();
    for color in Color::ALL {
        let _ = write!(
            out,
            "<tr><td><span class='name'>{}</span> <span class='soft'>{}</span></td>",
            escape(&player(review, color)),
            side(color)
        );
        for part in &parts {
            let value = part[color].map_or_else(|| "–".to_owned(), |value| format!("{value:.0} %"));
            let _ = write!(out, "<td>{value}</td>");
        }
        let loss = losses[color].map_or_else(|| "–".to_owned(), |loss| format!("{loss:.0} cp"));
        let _ = write!(out, "<td>{loss}</td>");
        for glyph in GLYPHS {
            let own = |ply: &usize| {
                let judged = review.judgements[*ply].as_ref();
                review.mover(*ply) == color && judged.and_then(|judged| judged.glyph) == Some(glyph)
            };
            let count = (0..review.judgements.len()).filter(own).count();
            let _ = write!(out, "<td>{count}</td>");
        }
        *out += "</tr>\n";
    }
    *out += "</table>\n";
}

/// `Moves 12 to 30`.
fn moves(review: &Review<'_>, plies: &Range<usize>) -> String {
    let number = |ply: usize| review.board(ply).fullmoves();
    match plies.end.checked_sub(1).filter(|last| plies.start <= *last) {
        Some(last) => format!("Moves {} to {}", number(plies.start), number(last)),
        None => "No moves".to_owned(),
    }
}

//! Formats moves, scores and shares for the page.

use super::curve::class;
use super::found::RootMove;
use super::judge::Glyph;
use super::review::{Review, for_white};
use crate::markup::escape;
use shakmaty::{Color, Position};
use uci::Score;

/// Plies of a better line that are shown.
pub const PLIES: usize = 8;

/// `12.` or `12…`.
#[must_use]
pub fn number(review: &Review<'_>, ply: usize) -> String {
    let position = review.board(ply);
    format!("{}{}", position.fullmoves(), position.turn().fold_wb(".", "…"))
}

/// A line of the search with its score.
#[must_use]
pub fn line(review: &Review<'_>, ply: usize, choice: &RootMove) -> String {
    let mut position = review.board(ply).clone();
    let mut words = vec![number(review, ply)];
    for (index, action) in choice.line.iter().take(PLIES).enumerate() {
        if index > 0 && position.turn() == Color::White {
            words.push(format!("{}.", position.fullmoves()));
        }
        let played = action.to_move(&position).filter(|played| position.is_legal(*played));
        let Some(played) = played else { break };
        words.push(escape(&action.to_san(&position)));
        position.play_unchecked(played);
    }
    let value = for_white(review.mover(ply), choice.mate, choice.value);
    format!("{} <span class='soft'>({})</span>", words.join(" "), score(value))
}

/// A glyph in its colour; empty for an ordinary move.
#[must_use]
pub fn sign(glyph: Option<Glyph>) -> String {
    glyph.map_or_else(String::new, |glyph| {
        format!("<span class='glyph {}'>{}</span>", class(glyph), glyph.sign())
    })
}

/// `+0.35`, `#-3`.
#[must_use]
pub fn score(score: Score) -> String {
    match score {
        Score::Centipawns(score) => format!("{:+.2}", f64::from(score) / 100.0),
        Score::Mate(moves) => format!("#{moves}"),
    }
}

/// A share in percent, rounded.
#[must_use]
pub fn percent(share: f32) -> String {
    let percent = 100.0 * share;
    if percent > 0.0 && percent < 0.5 {
        "<1 %".replace('<', "&lt;")
    } else {
        format!("{percent:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_scores() {
        assert_eq!([percent(0.0), percent(0.004), percent(0.996)], ["0 %", "&lt;1 %", "100 %"]);
        assert_eq!(score(Score::Centipawns(-7)), "-0.07");
        assert_eq!(score(Score::Mate(-3)), "#-3");
    }
}

//! Data of the page's script: one game each for the board to click through, with its scores and glyphs.

use super::curve::class;
use super::judge::{Glyph, Judgement};
use super::review::Review;
use super::words;
use chess::action::Action;
use chess::epd;
use serde::Serialize;

/// A game for `page.js`: the fields of `Viewer` (viewer.js), and what this page adds.
#[derive(Serialize)]
pub struct Replay {
    /// The game's number: its section on the page.
    number: usize,
    /// Initial position.
    fen: String,
    /// Moves separated by blanks; `0000` for a null move.
    uci: String,
    san: String,
    /// One per move: CSS class and sign.
    glyphs: Vec<Option<[&'static str; 2]>>,
    /// One per move: the better move if the played one has a glyph, in UCI; else empty.
    arrows: Vec<String>,
    /// One per position: White's win probability in per mille; None without a search.
    wins: Vec<Option<u16>>,
    /// One per position: the score from White's view, or empty.
    scores: Vec<String>,
    /// One per move: what the glyph says.
    notes: Vec<String>,
}

impl Replay {
    /// The game of a review.
    #[must_use]
    pub fn new(review: &Review<'_>) -> Replay {
        let plies = 0..review.judgements.len();
        let places = 0..review.positions.count();
        let uci = |ply| {
            review.played(ply).map_or_else(null_move, |played| review.positions.uci(ply, played))
        };
        let san = |ply| match review.played(ply) {
            Some(played) => review.positions.san(ply, played),
            None => "--".to_owned(),
        };
        let glyph = |ply| marked(review, ply).map(|(_, glyph)| [class(glyph), glyph.sign()]);
        let arrow = |ply| match better(review, ply) {
            Some(better) => review.positions.uci(ply, better),
            None => String::new(),
        };
        let win = |place| review.white_win(place).map(|win| (1000.0 * win).round() as u16);
        let score = |place| review.score(place).map(words::score).unwrap_or_default();
        Replay {
            number: review.game.number,
            fen: epd::fen(review.board(0)),
            uci: plies.clone().map(uci).collect::<Vec<_>>().join(" "),
            san: plies.clone().map(san).collect::<Vec<_>>().join(" "),
            glyphs: plies.clone().map(glyph).collect(),
            arrows: plies.clone().map(arrow).collect(),
            wins: places.clone().map(win).collect(),
            scores: places.map(score).collect(),
            notes: plies.map(|ply| note(review, ply)).collect(),
        }
    }
}

fn null_move() -> String {
    "0000".to_owned()
}

fn marked<'a>(review: &'a Review<'_>, ply: usize) -> Option<(&'a Judgement, Glyph)> {
    let judged = review.judgements[ply].as_ref()?;
    Some((judged, judged.glyph?))
}

/// The better move at a ply whose move has a glyph for an error.
fn better(review: &Review<'_>, ply: usize) -> Option<Action> {
    let (judged, glyph) = marked(review, ply)?;
    let place = judged.better.first().filter(|_| glyph != Glyph::Good)?;
    review.found(ply)?.choices.get(*place)?.action()
}

/// `Blunder: 62 % → 21 % for White. Better: Nf3.` Plain text.
fn note(review: &Review<'_>, ply: usize) -> String {
    let Some((judged, glyph)) = marked(review, ply) else { return String::new() };
    let percent = |win: f32| format!("{:.0} %", 100.0 * win);
    let mover = crate::markup::board::side(review.mover(ply));
    let word = glyph.word();
    let mut text = match glyph {
        Glyph::Good => format!("{word}: {mover} keeps {}.", percent(judged.after)),
        _ => format!(
            "{word}: {mover} falls from {} to {}.",
            percent(judged.best),
            percent(judged.after)
        ),
    };
    if let Some(better) = better(review, ply) {
        text += &format!(" Better: {}.", review.positions.san(ply, better));
    }
    text
}

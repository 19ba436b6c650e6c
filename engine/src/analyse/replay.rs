//! Data of the page's script: one game each for the board to click through, with its scores and glyphs.

use super::clocks;
use super::curve::class;
use super::found::RootMove;
use super::judge::{Glyph, Judgement};
use super::lines::{self, ReplayLine};
use super::review::Review;
use super::sees::{self, Eyes};
use super::words;
use crate::eval::look::Inspection;
use chess::action::Action;
use chess::epd;
use serde::Serialize;
use shakmaty::Position;

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
    /// One per position: White's win probability in per mille; None without a search.
    wins: Vec<Option<u16>>,
    /// One per position: the score from White's view, or empty.
    scores: Vec<String>,
    /// One per move: what the glyph says.
    notes: Vec<String>,
    /// One per move: seconds left; None if the file has no clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    clocks: Option<Vec<Option<u32>>>,
    /// Better lines, and the variations of the file.
    lines: Vec<ReplayLine>,
    /// Moves with `?` and `??`, to try the better one first.
    tries: Vec<Try>,
    /// One per position: [`sees::moves`].
    sees: Vec<Option<String>>,
    /// One per position: the network's own view; None on large pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    eyes: Option<Vec<Option<Eyes>>>,
}

/// The ply, all legal moves in UCI separated by blanks, and those that the search knows with the expected score in percent, the
/// better one first.
#[derive(Serialize)]
struct Try(usize, String, Vec<String>);

impl Replay {
    /// The game of a review. `inspect` is asked for every position.
    #[must_use]
    pub fn new(
        review: &Review<'_>,
        inspect: Option<&dyn Fn(usize) -> Option<Inspection>>,
    ) -> Replay {
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
        let win = |place| review.white_win(place).map(|win| (1000.0 * win).round() as u16);
        let score = |place| review.score(place).map(words::score).unwrap_or_default();
        let left = clocks::left(review.game);
        let seconds = |left: Option<f64>| left.map(|left| left as u32);
        let eyes = |inspect: &dyn Fn(usize) -> Option<Inspection>| {
            places.clone().map(|place| inspect(place).as_ref().map(Eyes::new)).collect()
        };
        Replay {
            number: review.game.number,
            fen: epd::fen(review.board(0)),
            uci: plies.clone().map(uci).collect::<Vec<_>>().join(" "),
            san: plies.clone().map(san).collect::<Vec<_>>().join(" "),
            glyphs: plies.clone().map(glyph).collect(),
            wins: places.clone().map(win).collect(),
            scores: places.clone().map(score).collect(),
            notes: plies.clone().map(|ply| note(review, ply)).collect(),
            clocks: left
                .iter()
                .any(Option::is_some)
                .then(|| left.into_iter().take(plies.len()).map(seconds).collect()),
            lines: lines::all(review),
            tries: plies.filter_map(|ply| attempt(review, ply)).collect(),
            sees: places.clone().map(|place| sees::moves(review, place)).collect(),
            eyes: inspect.map(eyes),
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

/// A move to find a better one for.
fn attempt(review: &Review<'_>, ply: usize) -> Option<Try> {
    let (judged, glyph) = marked(review, ply)?;
    if !matches!(glyph, Glyph::Mistake | Glyph::Blunder) {
        return None;
    }
    let found = review.found(ply)?;
    let best = *judged.better.first()?;
    let mut known: Vec<&RootMove> = found
        .choices
        .iter()
        .enumerate()
        .filter(|(place, choice)| *place != best && found.knows(choice))
        .map(|(_, choice)| choice)
        .filter(|choice| choice.action() != review.played(ply))
        .collect();
    known.insert(0, found.choices.get(best)?);
    let uci = |action| review.positions.uci(ply, action);
    let known = known.into_iter().filter_map(|choice| {
        Some(format!("{} {:.0}", uci(choice.action()?), 100.0 * choice.win()))
    });
    let legal = review.board(ply).legal_moves().into_iter();
    let legal: Vec<String> = legal.map(|legal| uci(Action::new(legal))).collect();
    Some(Try(ply, legal.join(" "), known.collect()))
}

/// `Blunder: White falls from 62 % to 21 %.` Plain text.
fn note(review: &Review<'_>, ply: usize) -> String {
    let Some((judged, glyph)) = marked(review, ply) else { return String::new() };
    let percent = |win: f32| format!("{:.0} %", 100.0 * win);
    let mover = crate::markup::board::side(review.mover(ply));
    let word = glyph.word();
    match glyph {
        Glyph::Good => format!("{word}: {mover} keeps {}.", percent(judged.after)),
        _ => format!(
            "{word}: {mover} falls from {} to {}.",
            percent(judged.best),
            percent(judged.after)
        ),
    }
}

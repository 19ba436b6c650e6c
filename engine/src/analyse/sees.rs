//! The network's view of a position, for the page's script and as collapsed text: its moves beside those of the search, its
//! distribution, predicted legal moves, and predicted boards along its best line.

use super::moments::{self, Row};
use super::review::Review;
use super::words::percent;
use crate::eval::look::{BEYOND, Inspection, PredictedBoard};
use crate::markup::escape;
use chess::game::Game;
use serde::Serialize;
use shakmaty::{Position, Square};
use std::fmt::Write as _;

/// Maximum number of games on a page for which it is shown in full: it computes the network five times for each position.
pub const MOST_GAMES: usize = 20;
/// Bars of a distribution, one for each bucket of the network.
const BARS: usize = nn::net::BUCKETS;
/// Height of the highest bar: a digit of base 36.
const TOP: u32 = 35;

/// The network's view of a position; None if it is unavailable.
pub type NetworkView<'a> = &'a dyn Fn(&Game) -> Option<Inspection>;

/// A distribution and its mean as a picture, as `sight.js` draws it.
#[must_use]
pub fn shape(chances: &[f32], mean: f32) -> String {
    let Bars(first, levels, _) = Bars::new(chances, mean);
    let (mut path, mut before) = (format!("M{first} {TOP}"), 0);
    for level in levels.chars().filter_map(|digit| digit.to_digit(TOP + 1)) {
        let _ = write!(path, "v{}h1", i64::from(before) - i64::from(level));
        before = level;
    }
    format!(
        "<svg class='sees' viewBox='0 0 {BARS} {TOP}' preserveAspectRatio='none' role='img' \
         aria-label='The network expects {}'><path class='shape' d='{path}V{TOP}z'/>\
         <path class='mean' d='M{:.1} 0v{TOP}'/></svg>",
        percent(mean),
        BARS as f32 * mean
    )
}

/// Collapsed element of the page.
#[must_use]
pub fn folded(inspection: &Inspection) -> String {
    let class = if inspection.errs() { "wrong" } else { "soft" };
    let mut out = format!(
        "<details class='mind'><summary>What the network sees</summary>\n<p class='{class}'>{}</p>\n",
        escape(&inspection.legality())
    );
    if !inspection.line.is_empty() {
        out += "<p class='soft'>Its best line, on boards that it predicts itself:";
        for PredictedBoard { heading, verdict, .. } in &inspection.line {
            let _ = write!(out, " {} <i>{verdict}</i>;", escape(heading));
        }
        out.truncate(out.len() - 1);
        out += ".</p>\n";
    }
    out + "</details>\n"
}

/// The moves compared at `ply`, by `|`: standard notation, the network's share, the search's share and the expected score, in
/// percent, and `played` or `best`. None without a search.
#[must_use]
pub fn moves(review: &Review<'_>, ply: usize) -> Option<String> {
    let points = |share: Option<f32>| {
        share.map_or_else(|| "-".to_owned(), |share| format!("{:.0}", 100.0 * share))
    };
    let row = |Row { action, expected, visited, win, key }: Row| {
        let san = review.positions.san(ply, action);
        let key = key.map_or_else(String::new, |key| format!(" {key}"));
        format!("{san} {} {} {}{key}", points(Some(expected)), points(visited), points(win))
    };
    let rows: Vec<String> = moments::rows(review, ply).into_iter().map(row).collect();
    (!rows.is_empty()).then(|| rows.join("|"))
}

/// The bars of a distribution, the errors about the legal moves, and the predicted line, for `sight.js`.
#[derive(Serialize)]
pub struct Eyes(Bars, String, Vec<String>);

/// First bar that is not empty, bars as digits of base 36, mean in per mille.
#[derive(Serialize)]
struct Bars(usize, String, u16);

impl Eyes {
    /// The parts of an inspection.
    #[must_use]
    pub fn new(inspection: &Inspection) -> Eyes {
        let errors = if inspection.errs() { inspection.legality() } else { String::new() };
        let bars = Bars::new(&inspection.chances, inspection.value);
        Eyes(bars, errors, inspection.line.iter().map(dream).collect())
    }
}

impl Bars {
    fn new(chances: &[f32], mean: f32) -> Bars {
        let top = chances.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let level = |share: &f32| (TOP as f32 * share / top).round() as u32;
        let first = chances.iter().position(|share| level(share) > 0).unwrap_or(0);
        let last =
            chances.iter().rposition(|share| level(share) > 0).map_or(first, |last| last + 1);
        let shown = chances[first..last].iter().map(level);
        let digits = shown.filter_map(|level| char::from_digit(level, TOP + 1)).collect();
        Bars(first, digits, (1000.0 * mean).round() as u16)
    }
}

/// `12. Nf3|g1f3`; behind that, if the board is not right, the verdict and squares with what the network has there, or its
/// whole board where there is no true one.
fn dream(predicted: &PredictedBoard) -> String {
    let PredictedBoard { action, heading, state, wrong, verdict } = predicted;
    let mut out = format!("{heading}|{action:?}");
    if predicted.is_right() {
        return out;
    }
    let _ = write!(out, "|{verdict}");
    let Ok(state) = state else { return out };
    let board = state.board();
    let cell = |square: &Square| {
        let piece = board.piece_at(*square).map(|piece| piece.char());
        format!("{square}{}", piece.map(String::from).unwrap_or_default())
    };
    let squares: Vec<String> = wrong.iter().map(cell).collect();
    match *verdict {
        BEYOND => _ = write!(out, "|{}", board.board_fen()),
        _ if squares.is_empty() => {}
        _ => _ = write!(out, "|{}", squares.join(" ")),
    }
    out
}

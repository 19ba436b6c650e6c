//! The player at the head of the page: results, a curve over the games, accuracy in groups, kinds of errors, all games.

use super::game::PlayedGame;
use super::kinds::ErrorKind;
use super::summary::{Group, Summary};
use crate::markup::board::side;
use crate::markup::{counted, escape};
use std::fmt::Write as _;

/// Games of the moving average.
const WINDOW: usize = 10;

/// The section.
#[must_use]
pub fn write(summary: &Summary) -> String {
    let name = escape(&summary.name);
    let games = counted(summary.games.len(), "game");
    let mut out = format!(
        "<section class='player' id='player'><h2>{name} <span class='soft'>{games}</span></h2>\n"
    );
    let [won, drawn, lost] = summary.results();
    let _ = write!(out, "<p>{won} won, {drawn} drawn, {lost} lost.");
    if let (Some(accuracy), Some(loss)) =
        (mean(summary, |game| game.accuracy), mean(summary, |game| game.loss))
    {
        let _ = write!(
            out,
            " Mean accuracy of a game {accuracy:.0} %, average loss {loss:.0} centipawns."
        );
    }
    out += "</p>\n";
    curve(&mut out, summary);
    out += "<div class='groups'>";
    group(&mut out, "Phase", summary.phases.iter(), false);
    group(&mut out, "Colour", summary.colors.iter(), true);
    if summary.times.iter().any(|group| group.moves > 0) {
        group(&mut out, "Time left", summary.times.iter(), false);
    }
    kinds(&mut out, summary);
    let (openings, others) = summary.openings();
    if !openings.is_empty() {
        let title = match others {
            0 => "Opening".to_owned(),
            others => format!("Opening (and {others} more)"),
        };
        group(&mut out, &title, openings.into_iter(), true);
    }
    out += "</div>\n<p class='soft'>Errors: ? and ?? in 100 moves. Accuracy in these tables is the mean of the moves; that of a game weighs its \
            bad moves more.</p>\n";
    list(&mut out, &summary.games);
    out + "</section>\n"
}

fn mean(summary: &Summary, number: impl Fn(&PlayedGame) -> Option<f64>) -> Option<f64> {
    let numbers: Vec<f64> = summary.games.iter().filter_map(number).collect();
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{share:.0} %"))
}

/// Accuracy of each game as a dot in the colour of its result, and the mean of the last games as a line. Nothing for one game.
fn curve(out: &mut String, summary: &Summary) {
    let points: Vec<(f64, Option<f32>)> =
        summary.games.iter().filter_map(|game| Some((game.accuracy?, game.score))).collect();
    if points.len() < 2 {
        return;
    }
    let lowest = points.iter().map(|(accuracy, _)| *accuracy).fold(90.0, f64::min);
    // Down to the next ten.
    let bottom = 10.0 * (lowest / 10.0).floor();
    let height = |accuracy: f64| 100.0 * (100.0 - accuracy) / (100.0 - bottom);
    let last = points.len() - 1;
    let mut line = String::new();
    for place in 0..points.len() {
        let window = &points[(place + 1).saturating_sub(WINDOW)..=place];
        let mean = window.iter().map(|(accuracy, _)| accuracy).sum::<f64>() / window.len() as f64;
        let step = if place == 0 { "M" } else { "L" };
        let _ = write!(line, "{step}{place} {:.1}", height(mean));
    }
    *out += "<figure><svg class='games-curve' role='img' aria-label='Accuracy of each game'>";
    for accuracy in (bottom as u32..=100).step_by(10) {
        let y = height(f64::from(accuracy));
        let _ = write!(
            out,
            "<line x1='0' x2='100%' y1='{y:.1}%' y2='{y:.1}%'/><text x='-38' y='{y:.1}%' dy='4'>{accuracy} %</text>"
        );
    }
    let _ = write!(
        out,
        "<svg viewBox='0 0 {last} 100' preserveAspectRatio='none'><path class='mean' d='{line}'/>"
    );
    for (place, (accuracy, score)) in points.iter().enumerate() {
        let class = match score {
            Some(score) if *score > 0.5 => "good",
            Some(score) if *score < 0.5 => "blunder",
            _ => "drawn",
        };
        let _ = write!(out, "<path class='dot {class}' d='M{place} {:.1}h0'/>", height(*accuracy));
    }
    let _ = writeln!(
        out,
        "</svg></svg><figcaption>Accuracy of each game, in their order: won green, lost red. The line is the mean of the last \
         {WINDOW}.</figcaption></figure>"
    );
}

fn group<'a>(
    out: &mut String,
    title: &str,
    groups: impl Iterator<Item = &'a Group>,
    with_score: bool,
) {
    let counts = if with_score { "Games<th>Score" } else { "Moves" };
    let _ = write!(out, "<table><tr><th>{}<th>{counts}<th>Accuracy<th>Errors", escape(title));
    for group in groups.filter(|group| group.moves > 0) {
        let errors = group.errors().unwrap_or(0.0);
        let (name, accuracy) = (escape(&group.name), percent(group.accuracy()));
        let score = percent(group.score().map(|score| 100.0 * f64::from(score)));
        let counts = match with_score {
            true => format!("{}<td>{score}", group.games),
            false => group.moves.to_string(),
        };
        let _ = write!(out, "<tr><td>{name}<td>{counts}<td>{accuracy}<td>{errors:.1}");
    }
    *out += "</table>\n";
}

fn kinds(out: &mut String, summary: &Summary) {
    let kinds = summary.kinds();
    if kinds.is_empty() {
        return;
    }
    let errors = summary.errors();
    let _ = write!(
        out,
        "<table><tr><th>Kinds of {errors} ? and ??; a move may be of several<th>Number<th>Share"
    );
    for (kind, count) in kinds {
        let share = percent(Some(100.0 * count as f64 / errors.max(1) as f64));
        let _ = write!(out, "<tr><td>{}<td>{count}<td>{share}", ErrorKind::words(kind));
    }
    *out += "</table>\n";
}

fn list(out: &mut String, games: &[PlayedGame]) {
    *out += "<details><summary>Table of the games</summary><div class='scroll' tabindex='0' role='region' \
             aria-label='Table of the games'><table><tr><th>Game<th>Date<th>Colour<th>Opponent<th>Score<th>Opening\
             <th>Accuracy<th>Loss<th>?!<th>?<th>??";
    for game in games {
        let PlayedGame { number, date, color, opponent, score, eco, opening, counts, .. } = game;
        let [date, opponent, eco, opening] =
            [date, opponent, eco, opening].map(|text| escape(text));
        let score = match score {
            Some(score) if *score == 0.5 => "½".to_owned(),
            Some(score) => format!("{score:.0}"),
            None => "–".to_owned(),
        };
        let accuracy = percent(game.accuracy);
        let loss = game.loss.map_or_else(|| "–".to_owned(), |loss| format!("{loss:.0}"));
        let [inaccuracies, mistakes, blunders] = counts;
        let _ = write!(
            out,
            "<tr><td><a href='#g{number}'>{number}</a><td>{date}<td>{}<td>{opponent}<td>{score}<td>{eco} {opening}\
             <td>{accuracy}<td>{loss}<td>{inaccuracies}<td>{mistakes}<td>{blunders}",
            side(*color)
        );
    }
    *out += "</table></div></details>\n";
}

//! The analysis as one self-contained HTML page: per game a board to click through, a chart, the turning points with
//! diagrams, and a table of all moves. Follows the system's light or dark mode. All text of a game is escaped.

use super::curve::{self, GlyphMark};
use super::found::RootMove;
use super::judge::{Glyph, Judgement};
use super::moments::{self, Row};
use super::passes::SECOND_EFFORT;
use super::replay::Replay;
use super::review::Review;
use super::sees;
use super::sides;
use super::words::{line, number, percent, score, sign};
use crate::eval::draw::Distribution;
use crate::eval::look::Inspection;
use crate::markup::board::{Arrow, BOARD_STYLE, diagram, pieces, side};
use crate::markup::{PAGE_STYLE, escape, viewer};
use crate::play::analyst::Effort;
use chess::action::Action;
use chess::game::Game;
use shakmaty::{Color, Position};
use std::fmt::Write as _;

/// Heading of the page.
#[derive(Clone, Debug)]
pub struct Title {
    /// Main heading.
    pub heading: String,
    /// Engine, network and effort as text.
    pub by: String,
}

impl Title {
    /// The title of the page whose first games these are; perhaps they are the whole.
    #[must_use]
    pub fn new(reviews: &[Review<'_>], is_whole: bool, network: &str, effort: Effort) -> Title {
        let heading = match reviews {
            _ if !is_whole => "Analysed games".to_owned(),
            [only] => plain_names(only),
            many => format!("{} games", many.len()),
        };
        let effort = match effort {
            Effort::Nodes(nodes) => format!("{nodes} nodes"),
            Effort::Time(time) => format!("{:.1} seconds", time.as_secs_f64()),
        };
        let version = env!("CARGO_PKG_VERSION");
        Title {
            heading,
            by: format!(
                "Mavka {version}, {network}, {effort} for each position, {SECOND_EFFORT} times as much around mistakes"
            ),
        }
    }
}

/// The network's view of a position; None if it is unavailable.
pub type NetworkView<'a> = &'a dyn Fn(&Game) -> Option<Inspection>;

/// Options of a page.
#[derive(Clone, Copy)]
pub struct PageStyle<'a> {
    /// The network's view.
    pub network_view: NetworkView<'a>,
    /// Show it in full, for at most [`sees::MOST_GAMES`] games.
    pub full: bool,
}

/// Beginning of the page.
#[must_use]
pub fn head(title: &Title) -> String {
    let (heading, by) = (escape(&title.heading), escape(&title.by));
    format!(
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>\n\
         <meta name='viewport' content='width=device-width, initial-scale=1'>\n\
         <title>{heading}</title>\n<style>\n{PAGE_STYLE}{BOARD_STYLE}{}{}</style></head><body>\n{}\
         <h1>{heading}</h1>\n<p class='soft'>{by}</p>\n",
        viewer::STYLE,
        include_str!("page.css"),
        pieces()
    )
}

/// End of the page.
#[must_use]
pub fn end() -> String {
    let (viewer, page) = (viewer::SCRIPT, include_str!("page.js"));
    format!("<script>\n{viewer}{page}</script></body></html>\n")
}

/// Games of the page, after a list of them.
#[must_use]
pub fn games(reviews: &[Review<'_>], style: PageStyle<'_>) -> String {
    let mut out = String::new();
    if reviews.len() > 1 {
        out += "<ol>\n";
        for review in reviews {
            let (number, names) = (review.game.number, names(review));
            let result = escape(&review.game.result);
            let _ = writeln!(
                out,
                "<li value='{number}'><a href='#g{number}'>{names}</a> <span class='soft'>{result}</span></li>"
            );
        }
        out += "</ol>\n";
    }
    reviews.iter().for_each(|review| game(&mut out, review, style));
    let analysed = reviews.iter().filter(|review| review.judged() > 0);
    let replays: Vec<Replay> = analysed.map(Replay::new).collect();
    let first = reviews.first().map_or(0, |review| review.game.number);
    out + &viewer::data_element(&format!("replays-{first}"), &replays)
}

fn game(out: &mut String, review: &Review<'_>, style: PageStyle<'_>) {
    let number = review.game.number;
    let (names, result) = (names(review), escape(&review.game.result));
    let facts: Vec<String> = ["Event", "Site", "Date", "Opening"]
        .into_iter()
        .filter_map(|name| review.game.tag(name))
        .filter(|value| !["", "?", "-", "????.??.??"].contains(value))
        .map(escape)
        .collect();
    let _ = writeln!(
        out,
        "<section id='g{number}'><h2>{names} <span class='soft'>{result}</span></h2>\n\
         <p class='soft'>{}</p>",
        facts.join(" · ")
    );
    if review.judged() == 0 {
        *out += "<p>Nothing of this game is analysed.</p></section>\n";
        return;
    }
    sides::table(out, review);
    let _ = writeln!(out, "<div class='viewer replay' hidden>{}</div>", viewer::ELEMENTS);
    plot(out, review);
    let plies = moments::find(review);
    if !plies.is_empty() {
        *out += "<h3>Turning points</h3>\n";
        let inspections: Vec<Option<Inspection>> =
            plies.iter().map(|ply| (style.network_view)(&review.positions.game(*ply))).collect();
        if inspections.iter().any(Option::is_some) {
            *out += "<p class='soft'>Below each move: how likely the network alone finds each result after it, from a \
                     loss at the left to a win; the line is the mean.</p>\n";
        }
        *out += "<div class='moments'>\n";
        for (ply, inspection) in plies.iter().zip(&inspections) {
            moment(out, review, *ply, inspection.as_ref(), style.full);
        }
        *out += "</div>\n";
    }
    moves(out, review);
    *out += "</section>\n";
}

fn names(review: &Review<'_>) -> String {
    escape(&plain_names(review))
}

fn plain_names(review: &Review<'_>) -> String {
    let [white, black] = Color::ALL.map(|color| sides::player(review, color));
    format!("{white} – {black}")
}

fn plot(out: &mut String, review: &Review<'_>) {
    let plies = review.judgements.len();
    let wins: Vec<f32> = (0..=plies).map_while(|place| review.white_win(place)).collect();
    let glyph = |(ply, judged): (usize, &Option<Judgement>)| {
        Some(GlyphMark { place: ply + 1, glyph: judged.as_ref()?.glyph? })
    };
    let marks: Vec<GlyphMark> = review.judgements.iter().enumerate().filter_map(glyph).collect();
    let _ = write!(
        out,
        "<figure><div class='plot'>{}<div class='cursor' hidden></div></div><div class='axis' aria-hidden='true'>",
        curve::draw(&wins, plies, &marks)
    );
    // A few labels at round move numbers.
    let step =
        [5, 10, 20, 50].into_iter().find(|step| plies as u32 / (2 * step) <= 8).unwrap_or(100);
    for ply in 0..plies {
        let position = review.board(ply);
        let number = position.fullmoves().get();
        let round = number.is_multiple_of(step) && position.turn() == Color::White;
        // Leave room for the label at the right edge.
        if ply == 0 || round && ply > plies / 20 && ply < plies - plies / 40 {
            let left = 100.0 * ply as f64 / plies as f64;
            let _ = write!(out, "<span style='left:{left:.1}%'>{number}</span>");
        }
    }
    *out += "</div><figcaption>Expected score by move, a draw counted half: White's share is light, Black's dark. Dots \
             are moves with a glyph. A click shows the position.</figcaption></figure>\n";
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
    let better: Vec<&RootMove> = choices(review, ply, judged);
    let best = better.first().and_then(|choice| choice.action());
    let arrow = |action: Action, class| Arrow { from: action.origin(), to: action.target(), class };
    let mut arrows: Vec<Arrow> = best.map(|best| arrow(best, "better")).into_iter().collect();
    let praised = judged.glyph == Some(Glyph::Good);
    arrows.push(arrow(played, if praised { "better" } else { "played" }));
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
    for choice in better {
        let line = line(review, ply, choice);
        let _ = writeln!(out, "<p class='line'><span class='key better'>Better:</span> {line}</p>");
    }
    if let Some((favourite, share)) = review.found(ply).and_then(|found| found.policy.first()) {
        let san = escape(&san(*favourite));
        let _ = writeln!(
            out,
            "<p>Before any search the network expected {san}, with {}.</p>",
            percent(*share)
        );
    }
    *out += "<table><tr><th>Move</th><th>Network</th><th>Search</th><th>Expected</th></tr>\n";
    for Row { action, expected, visited, win, played } in moments::rows(review, ply) {
        let san = escape(&san(action));
        let key = match (played, Some(action) == best) {
            (true, _) => " <span class='soft'>played</span>",
            (_, true) => " <span class='soft'>best</span>",
            _ => "",
        };
        let share = |share: Option<f32>| share.map_or_else(|| "–".to_owned(), percent);
        let _ = writeln!(
            out,
            "<tr><td>{san}{key}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            percent(expected),
            share(visited),
            share(win)
        );
        let inspected = inspection
            .into_iter()
            .flat_map(|inspection| &inspection.moves)
            .find(|inspected| inspected.action == action);
        if let Some(inspected) = inspected {
            let (chances, mean) = (inspected.chances.as_slice(), inspected.value);
            let bars = Distribution { chances, mean, width: 320.0, height: 20.0 }.svg();
            let _ = writeln!(
                out,
                "<tr><td colspan='4'><svg class='sees' viewBox='0 -20 320 20' preserveAspectRatio='none' \
                 role='img' aria-label='The network expects {}'>{bars}</svg></td></tr>",
                percent(inspected.value)
            );
        }
    }
    *out += "</table>";
    if let Some(inspection) = inspection.filter(|_| full) {
        *out += &sees::folded(inspection);
    }
    *out += "</article>\n";
}

fn choices<'a>(review: &Review<'a>, ply: usize, judged: &Judgement) -> Vec<&'a RootMove> {
    let found = review.found(ply);
    judged.better.iter().filter_map(|place| found?.choices.get(*place)).collect()
}

/// Table of all moves.
fn moves(out: &mut String, review: &Review<'_>) {
    *out += "<details><summary>All moves</summary><table class='moves'><tr><th>Move</th><th>Score</th>\
             <th>White expects</th><th>Lost</th><th>Better</th><th>Network</th></tr>\n";
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
        let better = choices(review, ply, judged).first().and_then(|choice| choice.action());
        let better = better.map(text).unwrap_or_default();
        let favourite = review.found(ply).and_then(|found| found.policy.first());
        let favourite = favourite
            .map(|(action, share)| {
                format!("{} <span class='soft'>{}</span>", text(*action), percent(*share))
            })
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "<tr><td>{name}</td><td>{score}</td><td>{win}</td><td>{lost}</td><td>{better}</td><td>{favourite}</td></tr>"
        );
    }
    *out += "</table></details>\n";
}

//! The analysis as one self-contained HTML page: per game a board to click through, charts, the turning points with
//! diagrams, and a table of all moves. Follows the system's light or dark mode. All text of a game is escaped, and the
//! page's policy lets no script and no style run but its own.

use super::cards;
use super::clocks;
use super::curve::{self, GlyphMark};
use super::judge::Judgement;
use super::move_table;
use super::openings;
use super::passes::SECOND_EFFORT;
use super::replay::Replay;
use super::review::Review;
use super::sees::NetworkView;
use super::sides;
use crate::markup::board::{BOARD_STYLE, pieces};
use crate::markup::{PAGE_STYLE, escape, policy, viewer};
use crate::play::analyst::Effort;
use shakmaty::{Color, Position};
use std::fmt::Write as _;
use std::sync::LazyLock;

/// Style sheet of the page.
static STYLE: LazyLock<String> = LazyLock::new(|| {
    let sheets = [PAGE_STYLE, BOARD_STYLE, viewer::STYLE, include_str!("page.css")];
    viewer::compact(&sheets.concat())
});
/// Program of the page.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let own = [include_str!("sight.js"), include_str!("learn.js"), include_str!("page.js")];
    viewer::compact(&(viewer::SCRIPT.to_owned() + &own.concat()))
});

/// Line of the page behind which the section of a player stands.
pub const PLAYER_MARK: &str = "<!-- player -->";

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

/// Options of a page.
#[derive(Clone, Copy)]
pub struct PageStyle<'a> {
    /// The network's view.
    pub network_view: NetworkView<'a>,
    /// Show it in full and of every position, for at most [`MOST_GAMES`](super::sees::MOST_GAMES) games.
    pub full: bool,
}

/// Beginning of the page.
#[must_use]
pub fn head(title: &Title) -> String {
    let (heading, by) = (escape(&title.heading), escape(&title.by));
    format!(
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>\n{}\
         <meta name='viewport' content='width=device-width, initial-scale=1'>\n\
         <title>{heading}</title>\n<style>{}</style></head><body>\n{}\
         <h1>{heading}</h1>\n<p class='soft'>{by}</p>\n{PLAYER_MARK}\n",
        policy::of(&[&*SCRIPT], &[&*STYLE]),
        *STYLE,
        pieces()
    )
}

/// End of the page.
#[must_use]
pub fn end() -> String {
    format!("<script>{}</script></body></html>\n", *SCRIPT)
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
    let replay = |review: &Review<'_>| {
        let inspect = |place| (style.network_view)(&review.positions.game(place));
        Replay::new(review, style.full.then_some(&inspect))
    };
    let replays: Vec<Replay> = analysed.map(replay).collect();
    let first = reviews.first().map_or(0, |review| review.game.number);
    out + &viewer::data_element(&format!("replays-{first}"), &replays)
}

fn game(out: &mut String, review: &Review<'_>, style: PageStyle<'_>) {
    let number = review.game.number;
    let (names, result) = (names(review), escape(&review.game.result));
    let _ = writeln!(
        out,
        "<section id='g{number}'><h2>{names} <span class='soft'>{result}</span></h2>\n\
         <p class='soft'>{}</p>",
        facts(review).join(" · ")
    );
    if review.judged() == 0 {
        *out += "<p>Nothing of this game is analysed.</p></section>\n";
        return;
    }
    sides::table(out, review);
    let _ = writeln!(
        out,
        "<div class='viewer replay' hidden>{}{}</div>",
        viewer::ELEMENTS.trim_end(),
        include_str!("study.html").trim_end()
    );
    plot(out, review);
    cards::all(out, review, style.network_view, style.full);
    move_table::write(out, review);
    *out += "</section>\n";
}

/// Event, site, date and opening, as far as the file or the position says them. Escaped.
fn facts(review: &Review<'_>) -> Vec<String> {
    let tag = |name: &str| {
        let value = review.game.tag(name).map(str::trim);
        value.filter(|value| !["", "?", "-", "????.??.??"].contains(value))
    };
    let site = tag("Site").map(|site| match address(site) {
        Some(shown) => {
            format!("<a href='{}' rel='noopener noreferrer'>{}</a>", escape(site), escape(shown))
        }
        None => escape(site),
    });
    let known = openings::of(&review.positions).filter(|_| tag("Opening").is_none());
    let eco = tag("ECO").or(known.map(|opening| opening.eco.as_str()));
    let name = tag("Opening").or(known.map(|opening| opening.name.as_str()));
    let words: Vec<&str> = [eco, name].into_iter().flatten().collect();
    let opening = (!words.is_empty()).then(|| escape(&words.join(" ")));
    let [event, date] = ["Event", "Date"].map(|name| tag(name).map(escape));
    [event, site, date, opening].into_iter().flatten().collect()
}

/// An `http` or `https` address without the scheme, as a link shows it. None for anything else.
fn address(text: &str) -> Option<&str> {
    let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme))?;
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    (!rest.is_empty() && rest.chars().all(is_plain)).then_some(rest)
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
    let chart = curve::draw(&wins, plies, &marks);
    let first = review.board(0).turn();
    let clocks = clocks::draw(&clocks::left(review.game), clocks::base(review.game), first, plies);
    let words = match clocks {
        Some(_) => " Below it is the time on both clocks, White's line light, Black's dark.",
        None => "",
    };
    let _ = write!(
        out,
        "<figure><div class='plot'>{chart}{}<div class='cursor' hidden></div></div>\
         <svg class='axis' aria-hidden='true'>",
        clocks.unwrap_or_default()
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
            // Where the curve has White's move of this number.
            let left = 100.0 * if ply == 0 { 0.0 } else { (ply + 1) as f64 } / plies as f64;
            let _ = write!(out, "<text x='{left:.1}%' y='15'>{number}</text>");
        }
    }
    let _ = writeln!(
        out,
        "</svg><figcaption>Expected score by move, a draw counted half: White's share is light, Black's dark. Dots are \
         moves with a glyph. A click shows the position.{words}</figcaption></figure>"
    );
}

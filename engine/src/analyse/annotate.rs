//! The annotated PGN: the game as it was, with score, glyph and better line where there is something to
//! say. Scores are written as lichess writes them (`[%eval 0.35]`, `[%eval #-3]`), for White, after the move.
//!
//! What the game's author wrote stays: comments, clocks, glyphs and variations. Only an `[%eval]` of
//! somebody else is replaced, and a better line that is there already is not added again.

use super::found::Choice;
use super::game::{Line, PgnGame, PgnMove};
use super::judge::Glyph;
use super::review::{Review, for_white};
use crate::chess::game::Game;
use crate::markup::pgn::tag_pair;
use shakmaty::{Chess, Color, Position};
use uci::Score;

/// Glyphs that judge a move; a move has one of them at most.
const MOVE_GLYPHS: std::ops::RangeInclusive<u8> = 1..=6;

/// One game as PGN, with an empty line after it.
#[must_use]
pub fn write(review: &Review<'_>, annotator: &str) -> String {
    let PgnGame { tags, start, result, .. } = review.game;
    let mut out = String::new();
    let mut tag = |name: &str, value: &str| out += &(tag_pair(name, value) + "\n");
    tags.iter().for_each(|(name, value)| tag(name, value));
    if review.judged() > 0 && review.game.tag("Annotator").is_none() {
        tag("Annotator", annotator);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    let mut words = Vec::new();
    write_line(&mut words, Turn::at(start.position()), &annotated(review));
    words.push(result.clone());
    out + &words.join(" ") + "\n\n"
}

/// The game's own line with everything that was found.
fn annotated(review: &Review<'_>) -> Line {
    let mut line = review.game.line.clone();
    for (ply, made) in line.moves.iter_mut().enumerate().take(review.judgements.len()) {
        let score = review.score(ply + 1);
        if score.is_some() {
            made.comments.iter_mut().for_each(|comment| *comment = without_eval(comment));
            made.comments.retain(|comment| !comment.is_empty());
        }
        let mut said: Vec<String> = score.map(eval).into_iter().collect();
        said.extend(judge(review, ply, made));
        if said.is_empty() {
            continue;
        }
        // Clocks stand behind the score, as lichess has it, and words last.
        let commands = made.comments.first().filter(|first| first.starts_with("[%")).cloned();
        if let Some(commands) = commands {
            made.comments.remove(0);
            said.insert(usize::from(score.is_some()), commands);
        }
        made.comments.insert(0, said.join(" "));
    }
    line
}

/// Adds glyph and better lines to a move; answers what is to be said of it.
fn judge(review: &Review<'_>, ply: usize, made: &mut PgnMove) -> Option<String> {
    let judgement = review.judgements[ply].as_ref()?;
    let mut said = None;
    let position = &review.positions[ply];
    let better = |place: &usize| review.found(ply).and_then(|found| found.choices.get(*place));
    if let Some(glyph) = judgement.glyph {
        if !made.nags.iter().any(|nag| MOVE_GLYPHS.contains(nag)) {
            made.nags.insert(0, glyph.nag());
        }
        let best = judgement.better.first().and_then(better).and_then(Choice::action);
        let words = match best.filter(|_| glyph != Glyph::Good) {
            Some(best) => format!("{}. {} was best.", glyph.word(), position.san(best)),
            None => format!("{}.", glyph.word()),
        };
        // They may be there from an earlier analysis.
        made.comments.iter_mut().for_each(|comment| {
            *comment = comment.replace(&words, "").trim().to_owned();
        });
        made.comments.retain(|comment| !comment.is_empty());
        said = Some(words);
    }
    for choice in judgement.better.iter().filter_map(better) {
        let line = variation(position, choice);
        let first = line.moves.first().map(|made| made.san.clone());
        let known = made.variations.iter().filter_map(|known| known.moves.first());
        if first.is_some() && !known.clone().any(|known| Some(&known.san) == first.as_ref()) {
            made.variations.push(line);
        }
    }
    said
}

/// A line of the search with its score; it ends where the game would.
fn variation(position: &Game, choice: &Choice) -> Line {
    let mut line = Line::default();
    let mut game = position.clone();
    for action in &choice.line {
        let san = game.san(*action);
        let Some(played) = action.to_move(game.position()) else { break };
        if game.play(*action).is_err() {
            break;
        }
        let (nags, comments, variations) = (Vec::new(), Vec::new(), Vec::new());
        line.moves.push(PgnMove { played: Some(played), san, nags, comments, variations });
    }
    if let Some(first) = line.moves.first_mut() {
        let turn = position.position().turn();
        first.comments.push(eval(for_white(turn, choice.mate, choice.value)));
    }
    line
}

/// `[%eval 0.35]`, `[%eval #-3]`.
fn eval(score: Score) -> String {
    match score {
        Score::Centipawns(score) => format!("[%eval {:.2}]", f64::from(score) / 100.0),
        Score::Mate(moves) => format!("[%eval #{moves}]"),
    }
}

/// A comment less its `[%eval …]`.
fn without_eval(comment: &str) -> String {
    let mut rest = comment.to_owned();
    while let Some(begin) = rest.find("[%eval ") {
        let Some(length) = rest[begin..].find(']') else { break };
        let after = rest[begin + length + 1..].trim_start().to_owned();
        rest.truncate(begin);
        rest += &after;
    }
    rest.trim().to_owned()
}

/// Whose move it is, and which.
#[derive(Clone, Copy)]
struct Turn {
    number: u32,
    color: Color,
}

impl Turn {
    fn at(position: &Chess) -> Turn {
        Turn { number: position.fullmoves().get(), color: position.turn() }
    }

    fn next(self) -> Turn {
        Turn { number: self.number + self.color.fold_wb(0, 1), color: !self.color }
    }
}

/// Appends the words of a line that begins at `turn`.
fn write_line(words: &mut Vec<String>, mut turn: Turn, line: &Line) {
    let comment = |words: &mut Vec<String>, text: &String| words.push(format!("{{ {text} }}"));
    line.comments.iter().for_each(|text| comment(words, text));
    let mut number_due = true;
    for made in &line.moves {
        if number_due || turn.color == Color::White {
            words.push(format!("{}{}", turn.number, turn.color.fold_wb(".", "...")));
        }
        words.push(made.san.clone());
        words.extend(made.nags.iter().map(|nag| format!("${nag}")));
        made.comments.iter().for_each(|text| comment(words, text));
        for variation in &made.variations {
            let begin = words.len();
            write_line(words, turn, variation);
            if let Some(first) = words.get_mut(begin) {
                first.insert_str(0, "( ");
                words.push(")".to_owned());
            }
        }
        number_due = !(made.comments.is_empty() && made.variations.is_empty());
        turn = turn.next();
    }
}

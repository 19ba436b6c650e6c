//! Annotated PGN: scores, glyphs and better variations are added to the game. Scores use lichess's notation (`[%eval
//! 0.35]`, `[%eval #-3]`): for White, after the move.
//!
//! The game's own comments, clocks, glyphs and variations are kept. Only an `[%eval]` of another program is replaced,
//! and an existing variation is not added again.

use super::found::{RootMove, over};
use super::judge::Glyph;
use super::review::{Review, for_white};
use crate::markup::pgn::tag_pair;
use crate::pgn::{Line, PgnGame, PgnMove};
use shakmaty::{Chess, Color, Position};
use uci::Score;

/// Result of an unfinished game.
const OPEN: &str = "*";
/// Glyphs that judge a move; a move has at most one.
const MOVE_GLYPHS: std::ops::RangeInclusive<u8> = 1..=6;

/// One game as PGN, followed by a blank line.
#[must_use]
pub fn write(review: &Review<'_>, annotator: &str) -> String {
    let PgnGame { tags, start, .. } = review.game;
    let result = result(review);
    let mut out = String::new();
    let mut tag = |name: &str, value: &str| out += &(tag_pair(name, value) + "\n");
    for (name, value) in tags {
        let is_open = name.eq_ignore_ascii_case("Result") && value == OPEN;
        tag(name, if is_open { &result } else { value });
    }
    if review.judged() > 0 && review.game.tag("Annotator").is_none() {
        tag("Annotator", annotator);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    let mut words = Vec::new();
    write_line(&mut words, MoveNumber::at(start.position()), &annotated(review));
    words.push(result);
    out + &words.join(" ") + "\n\n"
}

/// The game's result, or that of its last position where the file has none.
fn result(review: &Review<'_>) -> String {
    let last = review.board(review.positions.plies());
    let ended = match over(last).filter(|_| review.game.result == OPEN && review.game.cut.is_none())
    {
        Some(ending) => ending.winner().map_or("1/2-1/2", |winner| winner.fold_wb("1-0", "0-1")),
        None => &review.game.result,
    };
    ended.to_owned()
}

/// The game's main line with all annotations.
fn annotated(review: &Review<'_>) -> Line {
    let mut line = review.game.line.clone();
    for (ply, node) in line.moves.iter_mut().enumerate().take(review.judgements.len()) {
        let score = review.score(ply + 1);
        if score.is_some() {
            node.comments.iter_mut().for_each(|comment| *comment = without_eval(comment));
            node.comments.retain(|comment| !comment.is_empty());
        }
        let mut notes: Vec<String> = score.map(eval).into_iter().collect();
        notes.extend(judge(review, ply, node));
        if notes.is_empty() {
            continue;
        }
        // Order as in lichess: score, clock, text.
        let commands = node.comments.first().filter(|first| first.starts_with("[%")).cloned();
        if let Some(commands) = commands {
            node.comments.remove(0);
            notes.insert(usize::from(score.is_some()), commands);
        }
        node.comments.insert(0, notes.join(" "));
    }
    line
}

/// Adds glyph and better variations to a move; returns its comment.
fn judge(review: &Review<'_>, ply: usize, node: &mut PgnMove) -> Option<String> {
    let judgement = review.judgements[ply].as_ref()?;
    let mut notes = None;
    if let Some(glyph) = judgement.glyph {
        if !node.nags.iter().any(|nag| MOVE_GLYPHS.contains(nag)) {
            node.nags.insert(0, glyph.nag());
        }
        let best = review.better(ply).next().and_then(RootMove::action);
        let words = match best.filter(|_| glyph != Glyph::Good) {
            Some(best) => {
                format!("{}. {} was best.", glyph.word(), review.positions.san(ply, best))
            }
            None => format!("{}.", glyph.word()),
        };
        // An earlier analysis may have added them.
        node.comments.iter_mut().for_each(|comment| {
            *comment = comment.replace(&words, "").trim().to_owned();
        });
        node.comments.retain(|comment| !comment.is_empty());
        notes = Some(words);
    }
    for choice in review.better(ply) {
        let line = variation(review.board(ply), choice);
        let first = line.moves.first().map(|node| node.san.clone());
        let known = node.variations.iter().filter_map(|known| known.moves.first());
        if first.is_some() && !known.clone().any(|known| Some(&known.san) == first.as_ref()) {
            node.variations.push(line);
        }
    }
    notes
}

/// A line of the search with its score, up to the end of the game.
fn variation(board: &Chess, choice: &RootMove) -> Line {
    let mut line = Line::default();
    let mut position = board.clone();
    for action in &choice.line {
        let played = action.to_move(&position).filter(|played| position.is_legal(*played));
        let Some(played) = played else { break };
        let san = action.to_san(&position);
        position.play_unchecked(played);
        let (nags, comments, variations) = (Vec::new(), Vec::new(), Vec::new());
        line.moves.push(PgnMove { played: Some(played), san, nags, comments, variations });
    }
    if let Some(first) = line.moves.first_mut() {
        first.comments.push(eval(for_white(board.turn(), choice.mate, choice.value)));
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

/// A comment without its `[%eval …]`.
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

/// Move number and side to move.
#[derive(Clone, Copy)]
struct MoveNumber {
    number: u32,
    color: Color,
}

impl MoveNumber {
    fn at(position: &Chess) -> MoveNumber {
        MoveNumber { number: position.fullmoves().get(), color: position.turn() }
    }

    fn next(self) -> MoveNumber {
        MoveNumber { number: self.number + self.color.fold_wb(0, 1), color: !self.color }
    }
}

/// Appends the tokens of a line that starts at `turn`.
fn write_line(words: &mut Vec<String>, mut turn: MoveNumber, line: &Line) {
    let comment = |words: &mut Vec<String>, text: &String| words.push(format!("{{ {text} }}"));
    line.comments.iter().for_each(|text| comment(words, text));
    let mut number_due = true;
    for node in &line.moves {
        if number_due || turn.color == Color::White {
            words.push(format!("{}{}", turn.number, turn.color.fold_wb(".", "...")));
        }
        words.push(node.san.clone());
        words.extend(node.nags.iter().map(|nag| format!("${nag}")));
        node.comments.iter().for_each(|text| comment(words, text));
        for variation in &node.variations {
            let begin = words.len();
            write_line(words, turn, variation);
            if let Some(first) = words.get_mut(begin) {
                first.insert_str(0, "( ");
                words.push(")".to_owned());
            }
        }
        number_due = !(node.comments.is_empty() && node.variations.is_empty());
        turn = turn.next();
    }
}

//! A game as PGN in export format.

use super::game::Line;
use crate::markup::pgn::tag_pair;
use shakmaty::{Chess, Color, Position};

/// Longest line of the moves, in characters (PGN standard, section 8.2.1).
const WIDTH: usize = 80;

/// Tags, moves and result of a game that begins at `start`, followed by an empty line.
#[must_use]
pub fn write_game(tags: &[(String, String)], start: &Chess, line: &Line, result: &str) -> String {
    let mut out = String::new();
    tags.iter().for_each(|(name, value)| out += &(tag_pair(name, value) + "\n"));
    out.push('\n');
    let mut words = Vec::new();
    write_line(&mut words, start.fullmoves().get(), start.turn(), line);
    words.push(result.to_owned());
    wrap(&mut out, &words);
    out + "\n"
}

/// The number before a move: `12.`, `12...`.
#[must_use]
pub fn move_number(position: &Chess) -> String {
    numbered(position.fullmoves().get(), position.turn())
}

fn numbered(number: u32, color: Color) -> String {
    format!("{number}{}", color.fold_wb(".", "..."))
}

/// Appends the words of a line whose first move has this number and color.
fn write_line(words: &mut Vec<String>, mut number: u32, mut color: Color, line: &Line) {
    line.comments.iter().for_each(|text| comment(words, text));
    let mut number_due = true;
    for made in &line.moves {
        if number_due || color.is_white() {
            words.push(numbered(number, color));
        }
        words.push(made.san.clone());
        words.extend(made.nags.iter().map(|nag| format!("${nag}")));
        made.comments.iter().for_each(|text| comment(words, text));
        for variation in &made.variations {
            words.push("(".to_owned());
            write_line(words, number, color, variation);
            words.push(")".to_owned());
        }
        number_due = !(made.comments.is_empty() && made.variations.is_empty());
        number += color.fold_wb(0, 1);
        color = !color;
    }
}

/// PGN has no escape for a brace in a comment.
fn comment(words: &mut Vec<String>, text: &str) {
    let text = format!("{{ {} }}", text.replace(['{', '}'], ""));
    words.extend(text.split_whitespace().map(str::to_owned));
}

/// Appends `words` in lines of at most 80 characters.
pub fn wrap(out: &mut String, words: &[String]) {
    let mut width = 0;
    for word in words {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            out.push('\n');
            width = 0;
        }
        if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::{PgnEntry, PgnGame, read_games};

    fn only(text: &str) -> PgnGame {
        match &read_games(text, 1)[..] {
            [PgnEntry::Game(game)] => (**game).clone(),
            other => panic!("{text}: {} games", other.len()),
        }
    }

    #[test]
    fn a_written_game_reads_back_with_all_that_stands_in_it() {
        let moves = "{ before } 1. e4 $1 { [%clk 0:05:00] } ( 1. d4 d5 ( 1... Nf6 { Indian } 2. c4 ) ) 1... e5 \
                     2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 1/2-1/2";
        for start in ["", "[FEN \"4k3/8/8/8/8/8/4p3/4K2R b K - 0 9\"]\n"] {
            let moves = if start.is_empty() { moves } else { "9... Kd7 10. Rh7+ *" };
            let game = only(&format!("[White \"A \\\"B\\\"\"]\n{start}\n{moves}\n"));
            let text = write_game(&game.tags, game.start.position(), &game.line, &game.result);
            assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
            let read = only(&text);
            assert_eq!((&read.line, &read.tags), (&game.line, &game.tags), "{text}");
            assert_eq!((read.result, read.lost), (game.result, Vec::new()), "{text}");
        }
    }
}

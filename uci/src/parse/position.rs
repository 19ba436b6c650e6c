//! Parses the arguments of `position`: a start, and the moves played from it.
//!
//! It checks shapes only. Any text can stand in a FEN field, and a move need not be legal: the engine, which
//! knows chess, refuses what is wrong, and must therefore see it, including a word among the moves that is
//! none. Only words between a start and its moves are dropped, each with a note.

use super::words::{Skipped, Words, as_move, quote};
use crate::command::{Command, StartPosition};

/// Fields a FEN must have, and the two optional counters after them.
const FIELDS: std::ops::RangeInclusive<usize> = 4..=6;

/// None, with a note, if the line has no start.
pub(super) fn read(mut words: Words, notes: &mut Vec<String>) -> Option<Command> {
    let mut skipped = Skipped::default();
    let start = words.find_map(|word| {
        if word.eq_ignore_ascii_case("startpos") {
            Some(false)
        } else if word.eq_ignore_ascii_case("fen") {
            Some(true)
        } else {
            skipped.push(word);
            None
        }
    });
    let Some(is_fen) = start else {
        notes.push(
            "position: expected `startpos` or `fen`; the position stays as it was".to_owned(),
        );
        return None;
    };
    let start =
        if is_fen { StartPosition::Fen(fen(&mut words, notes)) } else { StartPosition::Startpos };
    to_moves(&mut words, &mut skipped, notes);
    skipped.note("position", notes);
    let moves = moves(words);
    Some(Command::Position { start, moves })
}

/// The fields up to `moves`. A word with a letter is no counter, so it ends a FEN of four fields or five.
fn fen(words: &mut Words, notes: &mut Vec<String>) -> String {
    let mut fields = Vec::new();
    while let Some(word) = words.peek() {
        let is_field = match fields.len() {
            0..4 => !word.eq_ignore_ascii_case("moves"),
            4..6 => is_counter(word),
            _ => false,
        };
        if !is_field {
            break;
        }
        fields.push(word);
        words.next();
    }
    if !FIELDS.contains(&fields.len()) {
        notes.push(format!("position: a FEN has four to six fields, not {}", fields.len()));
    }
    fields.join(" ")
}

/// Whether a word behind the four fields of a position can be one of its two counters: a number, or a sign such as `-`.
#[must_use]
pub fn is_counter(word: &str) -> bool {
    as_move(word).is_none() && !word.contains(char::is_alphabetic)
}

/// Advances to the first move: after the word `moves`, or to the first move-shaped word where it is missing.
fn to_moves(words: &mut Words, skipped: &mut Skipped, notes: &mut Vec<String>) {
    let is_announced = words.clone().any(|word| word.eq_ignore_ascii_case("moves"));
    while let Some(word) = words.peek() {
        if is_announced && word.eq_ignore_ascii_case("moves") {
            words.next();
            return;
        }
        if !is_announced && as_move(word).is_some() {
            notes.push(format!("position: expected `moves` before {}", quote(word)));
            return;
        }
        skipped.push(word);
        words.next();
    }
}

/// All remaining words, promotions in lower case. A shortened list would be another game, and the engine would
/// answer for a position that is not on the board.
fn moves(words: Words) -> Vec<String> {
    words.map(|word| as_move(word).unwrap_or_else(|| word.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEN: &str = "3r2k1/p5n1/1pq1p2p/2p3p1/2P1P1n1/1P1P2pP/PN1Q2K1/5R2 w - - 0 27";

    fn noted(text: &str) -> (StartPosition, Vec<String>, Vec<String>) {
        let mut notes = Vec::new();
        match read(Words::new(text), &mut notes) {
            Some(Command::Position { start, moves }) => (start, moves, notes),
            other => panic!("{text}: {other:?} {notes:?}"),
        }
    }

    #[track_caller]
    fn clear(text: &str) -> (StartPosition, Vec<String>) {
        let (start, moves, notes) = noted(text);
        assert!(notes.is_empty(), "{text}: {notes:?}");
        (start, moves)
    }

    fn fen(text: &str) -> StartPosition {
        StartPosition::Fen(text.to_owned())
    }

    #[test]
    fn startpos_with_and_without_moves() {
        assert_eq!(clear("startpos"), (StartPosition::Startpos, vec![]));
        assert_eq!(clear("startpos moves"), (StartPosition::Startpos, vec![]));
        let moves = vec!["e2e4".to_owned(), "e7e5".to_owned()];
        assert_eq!(clear("startpos moves e2e4 e7e5"), (StartPosition::Startpos, moves.clone()));
        assert_eq!(clear("STARTPOS Moves e2e4  e7e5"), (StartPosition::Startpos, moves));
    }

    #[test]
    fn fens_have_four_five_or_six_fields() {
        for fields in 4..=6 {
            let text = FEN.split(' ').take(fields).collect::<Vec<_>>().join(" ");
            assert_eq!(clear(&format!("fen {text}")), (fen(&text), vec![]));
            let moves = vec!["d2h6".to_owned()];
            assert_eq!(clear(&format!("fen {text} moves d2h6")), (fen(&text), moves));
        }
    }

    #[test]
    fn blanks_between_the_fields_of_a_fen_become_one() {
        assert_eq!(
            clear("fen 8/8/8/8/8/8/8/K1k5   w  -  -   moves a1a2").0,
            fen("8/8/8/8/8/8/8/K1k5 w - -")
        );
    }

    #[test]
    fn shredder_castling_and_en_passant_are_fields() {
        let text = "bnrbnkrq/pppppppp/8/8/4P3/8/PPPP1PPP/BNRBNKRQ b GCgc e3 0 1";
        assert_eq!(clear(&format!("fen {text} moves c7c5")).0, fen(text));
    }

    #[test]
    fn fens_with_too_few_fields_reach_the_engine_with_a_note() {
        let (start, moves, notes) = noted("fen 8/8/8/8/8/8/8/K1k5 w moves a1a2");
        assert_eq!((start, moves), (fen("8/8/8/8/8/8/8/K1k5 w"), vec!["a1a2".to_owned()]));
        assert_eq!(notes, ["position: a FEN has four to six fields, not 2"]);
        assert_eq!(noted("fen").0, fen(""));
        assert_eq!(noted("fen moves e2e4").0, fen(""));
    }

    #[test]
    fn words_behind_a_fen_are_skipped_and_noted() {
        let (start, moves, notes) = noted(&format!("fen {FEN} joho 3 moves d2h6"));
        assert_eq!((start, moves), (fen(FEN), vec!["d2h6".to_owned()]));
        assert_eq!(notes, ["position: skipped `joho`, `3`"]);
        let (start, _, notes) = noted("fen 8/8/8/8/8/8/8/K1k5 w - - bm Ka2;");
        assert_eq!(start, fen("8/8/8/8/8/8/8/K1k5 w - -"));
        assert_eq!(notes, ["position: skipped `bm`, `Ka2;`"]);
    }

    #[test]
    fn null_moves_are_moves() {
        assert_eq!(clear("startpos moves e2e4 0000 d2d4").1, ["e2e4", "0000", "d2d4"]);
    }

    #[test]
    fn illegal_moves_of_the_right_shape_pass() {
        assert_eq!(clear("startpos moves e2e5 a1a1 e1h1").1, ["e2e5", "a1a1", "e1h1"]);
    }

    #[test]
    fn a_word_among_the_moves_that_is_none_reaches_the_engine() {
        let (_, moves) = clear("startpos moves e2e4 e7e9 g1f3 moves Nf3 e7e8Q");
        assert_eq!(moves, ["e2e4", "e7e9", "g1f3", "moves", "Nf3", "e7e8q"]);
    }

    #[test]
    fn no_move_of_a_long_game_is_lost() {
        let game = "g1f3 g8f6 f3g1 f6g8 ".repeat(1500);
        assert_eq!(clear(&format!("startpos moves {game}")).1.len(), 6000);
        assert_eq!(clear(&format!("fen {FEN} moves {game}")).1.len(), 6000);
    }

    #[test]
    fn missing_moves_keyword_is_noted_and_the_moves_are_taken() {
        for (text, start) in [
            ("startpos e2e4 e7e5".to_owned(), StartPosition::Startpos),
            (format!("fen {FEN} e2e4 e7e5"), fen(FEN)),
            ("fen 8/8/8/8/8/8/8/K1k5 w - - e2e4 e7e5".to_owned(), fen("8/8/8/8/8/8/8/K1k5 w - -")),
            ("fen 8/8/8/8/8/8/8/K1k5 w - - 0000 e7e5".to_owned(), fen("8/8/8/8/8/8/8/K1k5 w - -")),
        ] {
            let (got, moves, notes) = noted(&text);
            assert_eq!((got, moves.len()), (start, 2), "{text}");
            assert_eq!(notes, [format!("position: expected `moves` before `{}`", moves[0])]);
        }
    }

    #[test]
    fn unknown_words_before_the_start_and_before_moves_are_skipped() {
        let (start, moves, notes) = noted("joho startpos e2e4 foo moves d2d4");
        assert_eq!((start, moves), (StartPosition::Startpos, vec!["d2d4".to_owned()]));
        assert_eq!(notes, ["position: skipped `joho`, `e2e4`, `foo`"]);
    }

    #[test]
    fn without_a_start_there_is_no_position() {
        for text in ["", "joho", "moves e2e4"] {
            let mut notes = Vec::new();
            assert_eq!(read(Words::new(text), &mut notes), None);
            assert_eq!(
                notes,
                ["position: expected `startpos` or `fen`; the position stays as it was"]
            );
        }
    }
}

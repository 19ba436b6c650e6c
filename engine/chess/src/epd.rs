//! Parses lines of EPD and FEN files into position and operations.
//!
//! The caller interprets them; [`super::game::Game::from_fen`] validates positions.

use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode};

/// A line: position and operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Four fields, and the two counters: those behind them, or of the operations `hmvc` and `fmvn`.
    pub fen: String,
    /// Text after the position.
    operations: &'a str,
}

/// Numbered lines of `text`, from 1, without blank lines and comments (`#`).
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Splits a line. None if it has fewer than four fields.
#[must_use]
pub fn split(line: &str) -> Option<Record<'_>> {
    let mut rest = line.trim();
    let mut fields = Vec::new();
    while fields.len() < 6 && !rest.is_empty() {
        let (field, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        // Some files end the position with a semicolon.
        let bare = field.trim_end_matches(';');
        if fields.len() >= 4 && bare.parse::<u32>().is_err() {
            break;
        }
        fields.push(bare);
        rest = after.trim_start();
        if fields.len() >= 4 && bare != field {
            break;
        }
    }
    let mut record =
        (fields.len() >= 4).then(|| Record { fen: fields.join(" "), operations: rest })?;
    if fields.len() == 4 {
        let counter = |wanted| record.operations().find(|(name, _)| *name == wanted);
        let [halfmoves, fullmoves] =
            ["hmvc", "fmvn"].map(|name| counter(name).map(|(_, value)| value));
        if halfmoves.is_some() || fullmoves.is_some() {
            let counters = format!(" {} {}", halfmoves.unwrap_or("0"), fullmoves.unwrap_or("1"));
            record.fen += &counters;
        }
    }
    Some(record)
}

impl<'a> Record<'a> {
    /// Name and value of each operation. A semicolon inside quotes is part of the value.
    pub fn operations(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mut quoted = false;
        let parts = self.operations.split(move |letter| {
            quoted ^= letter == '"';
            letter == ';' && !quoted
        });
        parts.map(str::trim).filter(|operation| !operation.is_empty()).map(|operation| {
            let (name, value) = operation.split_once(' ').unwrap_or((operation, ""));
            (name, value.trim().trim_matches('"'))
        })
    }
}

/// `position` as FEN, with an en-passant square only where a capture there is legal.
#[must_use]
pub fn fen(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOARD: &str = "8/7p/5k2/5p2/p1p2P2/Pr1pPK2/1P1R3P/8 b - -";

    #[test]
    fn the_position_ends_where_the_operations_begin() {
        let fen = |rest: &str| split(&format!("{BOARD}{rest}")).map(|record| record.fen).unwrap();
        assert_eq!(fen(""), BOARD);
        assert_eq!(fen(";"), BOARD);
        assert_eq!(fen(" bm Rxb2; id \"x\";"), BOARD);
        assert_eq!(fen(" 3 40"), format!("{BOARD} 3 40"));
        assert_eq!(fen(" 3 40 ; remark"), format!("{BOARD} 3 40"));
        assert_eq!(fen(" 3 40; bm Rxb2"), format!("{BOARD} 3 40"));
        assert_eq!(split("8/8/8/8/8/8/8/8 w -"), None);
    }

    #[test]
    fn counters_may_be_operations() {
        let fen = |rest: &str| split(&format!("{BOARD}{rest}")).map(|record| record.fen).unwrap();
        assert_eq!(fen(" hmvc 2; fmvn 4;"), format!("{BOARD} 2 4"));
        assert_eq!(fen(" bm Rxb2; fmvn 40; id \"hmvc 7;\";"), format!("{BOARD} 0 40"));
        assert_eq!(fen(" hmvc 3; bm Rxb2"), format!("{BOARD} 3 1"));
        assert_eq!(fen(" 5 6; hmvc 2; fmvn 4;"), format!("{BOARD} 5 6"));
        assert_eq!(fen(" hmvc x;"), format!("{BOARD} x 1"), "for the reader of FENs to name");
    }

    #[test]
    fn operations_are_split_outside_quotes() {
        let line = format!("{BOARD} bm Rxb2; id \"WAC.002; hard\"; c0");
        let record = split(&line).unwrap();
        let operations: Vec<_> = record.operations().collect();
        assert_eq!(operations, [("bm", "Rxb2"), ("id", "WAC.002; hard"), ("c0", "")]);
    }

    #[test]
    fn blank_lines_and_comments_count_only_as_numbers() {
        let found: Vec<_> = lines("# a\n\n one \n#\ntwo").collect();
        assert_eq!(found, [(3, "one"), (5, "two")]);
    }
}

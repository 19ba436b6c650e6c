//! Names of openings by position: the list of lichess-org/chess-openings (CC0 1.0), its five files one after the other.

use crate::pgn::Positions;
use chess::ending;
use nn::unpack::Unpacked;
use shakmaty::san::San;
use shakmaty::{CastlingMode, Chess, Position};
use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

/// Rows of ECO code, name and moves, separated by tabs.
static PACKED: &[u8] = include_bytes!("../../../assets/openings.tsv.zst");

/// Name and ECO code by position.
static OPENINGS: LazyLock<HashMap<u64, Opening>> = LazyLock::new(|| {
    let mut text = String::new();
    // It is part of the executable; a test reads every row.
    let unpacked = Unpacked::new(PACKED, "openings");
    let _ = unpacked.and_then(|mut unpacked| unpacked.read_to_string(&mut text));
    text.lines().filter_map(row).collect()
});

/// An opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// `B03`.
    pub eco: String,
    /// `Alekhine Defense: Four Pawns Attack`.
    pub name: String,
}

fn row(row: &str) -> Option<(u64, Opening)> {
    let [eco, name, moves] = row.split('\t').collect::<Vec<_>>().try_into().ok()?;
    let mut position = Chess::default();
    for word in moves.split(' ').filter(|word| !word.ends_with('.')) {
        let san: San = word.parse().ok()?;
        position.play_unchecked(san.to_move(&position).ok()?);
    }
    let opening = Opening { eco: eco.to_owned(), name: name.to_owned() };
    Some((ending::key(&position), opening))
}

/// The last named position of a game of standard chess from its usual beginning; None for other games.
#[must_use]
pub fn of(positions: &Positions) -> Option<&'static Opening> {
    let is_usual =
        positions.mode() == CastlingMode::Standard && *positions.board(0) == Chess::default();
    let keys = positions.keys().iter().rev().filter(|_| is_usual);
    keys.filter_map(|key| OPENINGS.get(key)).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::{PgnEntry, read_games};

    fn opening(text: &str) -> Option<String> {
        let Some(PgnEntry::Game(game)) = read_games(text, 1).into_iter().next() else {
            panic!("{text} is no game")
        };
        of(&Positions::of(&game)).map(|opening| format!("{} {}", opening.eco, opening.name))
    }

    #[test]
    fn every_row_is_read() {
        let mut text = String::new();
        Unpacked::new(PACKED, "openings").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text.lines().filter_map(row).count(), text.lines().count());
        assert!(OPENINGS.len() > 3500, "{}", OPENINGS.len());
        assert!(PACKED.len() < 150_000);
    }

    #[test]
    fn the_last_named_position_counts_by_any_order_of_moves() {
        let alekhine = "B03 Alekhine Defense: Exchange Variation";
        let moves = "1. e4 Nf6 2. e5 Nd5 3. d4 d6 4. c4 Nb6 5. exd6 cxd6 6. a4 a5 *";
        assert_eq!(opening(moves).as_deref(), Some(alekhine));
        let usual = opening("1. d4 d5 2. c4 e6 *");
        assert_eq!(usual.as_deref(), Some("D30 Queen's Gambit Declined"));
        assert_eq!(opening("1. c4 e6 2. d4 d5 *"), usual);
        assert_eq!(opening("*"), None);
    }

    #[test]
    fn other_games_have_no_opening() {
        assert_eq!(opening("[Variant \"Chess960\"]\n\n1. e4 e5 *"), None);
        let fen = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2";
        assert_eq!(opening(&format!("[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n2. Nf3 *")), None);
    }
}

//! A game of a PGN file as a tree: moves, variations, comments, glyphs, all that an annotated copy must give back.

use chess::game::{Game, GameError};
use chess::quote::quote;
use shakmaty::Move;
use std::fmt;

/// One game.
#[derive(Clone, Debug)]
pub struct PgnGame {
    /// Its place among the games of all files, from 1.
    pub number: usize,
    /// Name and value, in order.
    pub tags: Vec<(String, String)>,
    /// Where it begins.
    pub start: Game,
    /// The moves played.
    pub line: Line,
    /// `1-0`, `0-1`, `1/2-1/2` or `*`.
    pub result: String,
    /// Unreadable text, one sentence each with the line in the file.
    pub lost: Vec<String>,
    /// The sentence of `lost` that says where the game itself was cut: not all of its moves were read.
    pub cut: Option<String>,
}

/// Moves one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Line {
    /// Comments before the first move.
    pub comments: Vec<String>,
    /// The moves.
    pub moves: Vec<PgnMove>,
}

/// A move and what stands with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PgnMove {
    /// None for a null move.
    pub played: Option<Move>,
    /// In standard notation, with its sign of check.
    pub san: String,
    /// Numeric annotation glyphs.
    pub nags: Vec<u8>,
    /// Comments behind the move, without braces.
    pub comments: Vec<String>,
    /// Other continuations from the position before this move.
    pub variations: Vec<Line>,
}

impl PgnGame {
    /// A tag's value.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&str> {
        let found = self.tags.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Why none of a game's moves can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Another game than chess.
    Variant(String),
    /// The position in the tag FEN.
    Start(GameError),
    /// No tags, no moves, no result.
    NoGame,
    /// Too much text for one game.
    TooLarge,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Variant(name) => write!(f, "{} is another game than chess", quote(name)),
            Unreadable::Start(why) => why.fmt(f),
            Unreadable::TooLarge => {
                f.write_str("it has more than 16 MiB of text; only its tags are kept")
            }
            Unreadable::NoGame => f.write_str("it has neither tags nor moves"),
        }
    }
}

impl std::error::Error for Unreadable {}

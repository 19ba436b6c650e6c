//! A PGN game as a tree of moves, variations, comments and glyphs: all that an annotated copy must preserve.

use crate::chess::action::Action;
use crate::chess::game::{Game, GameError};
use crate::errors::{quote, shorten};
use shakmaty::Move;
use std::fmt;

/// Maximum length of an invalid token in a message, in characters.
const MAX_TOKEN: usize = 40;

/// One game.
#[derive(Clone, Debug)]
pub struct PgnGame {
    /// Number among the games of all files, from 1.
    pub number: usize,
    /// Tag pairs in order.
    pub tags: Vec<(String, String)>,
    /// Initial position.
    pub start: Game,
    /// Main line.
    pub line: Line,
    /// `1-0`, `0-1`, `1/2-1/2` or `*`.
    pub result: String,
    /// Losses in reading, one sentence each.
    pub lost: Vec<String>,
}

/// A sequence of moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Comments before the first move.
    pub comments: Vec<String>,
    /// Moves in order.
    pub moves: Vec<PgnMove>,
}

/// A move with its annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PgnMove {
    /// None for a null move, which only variations may have.
    pub played: Option<Move>,
    /// Standard notation with check sign.
    pub san: String,
    /// Numeric annotation glyphs.
    pub nags: Vec<u8>,
    /// Comments after the move, without braces.
    pub comments: Vec<String>,
    /// Alternatives to this move.
    pub variations: Vec<Line>,
}

impl PgnGame {
    /// A tag's value.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&str> {
        let found = self.tags.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Positions of the main line, the initial one first.
    #[must_use]
    pub fn positions(&self) -> Vec<Game> {
        let mut positions = vec![self.start.clone()];
        for node in self.line.moves.iter().filter_map(|node| node.played) {
            let mut next = positions[positions.len() - 1].clone();
            // Reading has checked that they are legal.
            if next.play(Action::new(node)).is_err() {
                break;
            }
            positions.push(next);
        }
        positions
    }
}

/// Why a game is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PgnError {
    /// Not chess.
    Variant(String),
    /// Invalid FEN tag.
    Start(GameError),
    /// Illegal move in the main line.
    Move {
        /// Text of the move.
        san: String,
        /// `12.` or `12...`.
        number: String,
        /// FEN of the position.
        fen: String,
    },
    /// A comment without its closing brace.
    OpenComment,
    /// Variations nested too deeply.
    Nesting,
    /// A token that is neither move nor number, glyph or result.
    Word(String),
    /// No moves and no tags.
    Nothing,
    /// Error of the PGN reader.
    Syntax(String),
}

impl fmt::Display for PgnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PgnError::Variant(name) => write!(f, "{} is another game than chess", quote(name)),
            PgnError::Start(why) => why.fmt(f),
            PgnError::Move { san, number, fen } => {
                write!(f, "{number} {} is not legal in `{fen}`", shorten(san, MAX_TOKEN))
            }
            PgnError::OpenComment => f.write_str("a comment is never closed"),
            PgnError::Nesting => f.write_str("its variations are nested too deeply"),
            PgnError::Word(word) => {
                write!(f, "`{}` is no move", shorten(word, MAX_TOKEN))
            }
            PgnError::Nothing => f.write_str("it has neither tags nor moves"),
            PgnError::Syntax(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for PgnError {}

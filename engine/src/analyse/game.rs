//! A game of a PGN file as a tree: moves, variations, comments, glyphs, all that an annotated copy must
//! give back.

use crate::chess::action::Action;
use crate::chess::game::{Game, GameError};
use crate::errors::{quote, shorten};
use shakmaty::Move;
use std::fmt;

/// Longest part of a refused word that a message repeats, in characters.
const LONGEST_WORD: usize = 40;

/// One game.
#[derive(Clone, Debug)]
pub struct PgnGame {
    /// Its place among the games of all files, from 1.
    pub number: usize,
    /// Name and value, in order.
    pub tags: Vec<(String, String)>,
    /// Where it begins.
    pub start: Game,
    /// What was played.
    pub line: Line,
    /// `1-0`, `0-1`, `1/2-1/2` or `*`.
    pub result: String,
    /// What of it could not be kept, one sentence each.
    pub lost: Vec<String>,
}

/// Moves one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Comments before the first move.
    pub comments: Vec<String>,
    /// The moves.
    pub moves: Vec<PgnMove>,
}

/// A move and what stands with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PgnMove {
    /// None for a null move, which only variations may have.
    pub played: Option<Move>,
    /// In standard notation, with its sign of check.
    pub san: String,
    /// Numeric annotation glyphs.
    pub nags: Vec<u8>,
    /// Comments behind the move, without braces.
    pub comments: Vec<String>,
    /// Other ways to go on from the position before this move.
    pub variations: Vec<Line>,
}

impl PgnGame {
    /// A tag's value.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&str> {
        let found = self.tags.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The positions of the game itself, the first one's before any move.
    #[must_use]
    pub fn positions(&self) -> Vec<Game> {
        let mut positions = vec![self.start.clone()];
        for made in self.line.moves.iter().filter_map(|made| made.played) {
            let mut next = positions[positions.len() - 1].clone();
            // They were played when the game was read.
            if next.play(Action::new(made)).is_err() {
                break;
            }
            positions.push(next);
        }
        positions
    }
}

/// Why a game is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Another game than chess.
    Variant(String),
    /// The position in the tag FEN.
    Start(GameError),
    /// A move of the game itself that is not legal.
    Move {
        /// As it stands there.
        san: String,
        /// `12.` or `12...`.
        number: String,
        /// The position.
        fen: String,
    },
    /// A comment without its closing brace.
    OpenComment,
    /// Variations inside variations beyond any sense.
    Nesting,
    /// A word that is neither move nor number, glyph or result.
    Word(String),
    /// No moves and no tags.
    Nothing,
    /// What the PGN reader says.
    Syntax(String),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Variant(name) => write!(f, "{} is another game than chess", quote(name)),
            Damage::Start(why) => why.fmt(f),
            Damage::Move { san, number, fen } => {
                write!(f, "{number} {} is not legal in `{fen}`", shorten(san, LONGEST_WORD))
            }
            Damage::OpenComment => f.write_str("a comment is never closed"),
            Damage::Nesting => f.write_str("its variations are nested too deeply"),
            Damage::Word(word) => {
                write!(f, "`{}` is no move", shorten(word, LONGEST_WORD))
            }
            Damage::Nothing => f.write_str("it has neither tags nor moves"),
            Damage::Syntax(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Damage {}

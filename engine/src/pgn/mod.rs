//! Games in PGN, in the spellings that programs and people use. Nothing is lost without a [`PgnGame::lost`] line: a move
//! that cannot be read cuts its line there, and the rest stays as a comment.
//!
//! [`text`] opens files, `lines` decodes them line by line, `split` cuts the lines into games, `tags` and `tokens` read a game's
//! two parts, `start` its first position, `spelling` finds the legal move that a word means, `draft` builds the [`game`], and
//! [`read`] hands out one after the other; [`positions`] plays it through, [`mod@write`] writes one.

mod draft;
pub mod game;
mod lines;
pub mod positions;
pub mod read;
mod spelling;
mod split;
mod start;
mod tags;
#[cfg(test)]
mod tests;
pub mod text;
mod tokens;
pub mod write;

pub use game::{Line, PgnGame, PgnMove, Unreadable};
pub use positions::Positions;
pub use read::{PgnEntry, PgnGames, legal_move, open_games, read_games, typed_move};

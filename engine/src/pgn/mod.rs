//! Games in PGN, in the spellings that programs and people use. Nothing is lost without a [`PgnGame::lost`] line: a move
//! that cannot be read cuts its line there, and the rest stays as a comment.
//!
//! [`text`] turns bytes into characters, `split` cuts them into games, `tags` and `tokens` read a game's two parts,
//! `spelling` finds the legal move that a word means, and [`read`] builds the [`game`].

pub mod game;
pub mod positions;
pub mod read;
mod spelling;
mod split;
mod tags;
pub mod text;
mod tokens;

pub use game::{Line, PgnGame, PgnMove, Unreadable};
pub use positions::Positions;
pub use read::{Entry, legal_move, read_games};

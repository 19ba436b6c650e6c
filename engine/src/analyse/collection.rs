//! The games of one or more files, and those that are copied because none of their moves can be read.

use crate::errors::FileError;
use crate::pgn::text::{decode, read_packed};
use crate::pgn::{Entry, PgnGame, Unreadable, read_games};
use crate::shard::Shard;
use std::path::Path;

/// The games of a collection.
#[derive(Default)]
pub struct Collection {
    /// Games that can be played through, in order.
    pub games: Vec<PgnGame>,
    /// The others.
    pub unreadable: Vec<Unread>,
}

/// A game none of whose moves can be read; it is copied.
pub struct Unread {
    /// As [`PgnGame::number`].
    pub number: usize,
    /// Its lines.
    pub raw: String,
    /// What is wrong with it.
    pub why: Unreadable,
}

impl Collection {
    /// Adds the games of a file, `-` for standard input; plain, or compressed by gzip or zstd.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn add_file(&mut self, path: &Path) -> Result<(), FileError> {
        let bytes = read_packed(path).map_err(FileError::of(path))?;
        let before = self.games.len();
        self.add(&decode(&bytes));
        let lost = self.games[before..].iter_mut().flat_map(|game| &mut game.lost);
        lost.for_each(|lost| *lost = format!("{} {lost}", path.display()));
        Ok(())
    }

    /// Keeps one of several parts, which in order are the whole again.
    pub fn keep(&mut self, shard: Shard) {
        let all: Vec<usize> = (1..=self.games.len() + self.unreadable.len()).collect();
        let kept = shard.slice(&all);
        self.games.retain(|game| kept.contains(&game.number));
        self.unreadable.retain(|game| kept.contains(&game.number));
    }

    /// Adds the games of a text.
    pub fn add(&mut self, text: &str) {
        let first = self.games.len() + self.unreadable.len() + 1;
        for entry in read_games(text, first) {
            match entry {
                Entry::Game(game) => self.games.push(*game),
                Entry::Unreadable { number, raw, why } => {
                    self.unreadable.push(Unread { number, raw, why });
                }
            }
        }
    }
}

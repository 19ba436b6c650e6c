//! The games of one or more files, and those that are copied because none of their moves can be read.

use crate::pgn::{Entry, PgnGame, Unreadable, open_games, read_games};
use crate::process::errors::FileError;
use crate::process::shard::Shard;
use nn::unpack::is_damage;
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
        let first = self.games.len() + self.unreadable.len() + 1;
        let games = open_games(path, first).map_err(FileError::of(path))?;
        for entry in games {
            match entry {
                Ok(entry) => self.push(entry),
                Err(why) if is_damage(&why) => {
                    log::warn!("{}: {why}; the games before are read", path.display());
                }
                Err(why) => return Err(FileError::of(path)(why)),
            }
        }
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
        read_games(text, first).into_iter().for_each(|entry| self.push(entry));
    }

    fn push(&mut self, entry: Entry) {
        match entry {
            Entry::Game(game) => self.games.push(*game),
            Entry::Unreadable { number, raw, why } => {
                self.unreadable.push(Unread { number, raw, why });
            }
        }
    }
}

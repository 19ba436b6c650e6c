//! One player over all games of an analysis, read back from the annotated games: [`game`] has what the player did in one, whose
//! errors [`kinds`] names, [`summary`] adds them up, [`section`] shows them on the page, [`table`] as CSV.

pub mod game;
pub mod kinds;
pub mod section;
pub mod summary;
pub mod table;

use crate::pgn::{PgnEntry, open_games};
use crate::process::errors::FileError;
use game::{PlayedGame, is_named};
use nn::unpack::is_damage;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use summary::Summary;

/// Names that are suggested.
const SUGGESTED: usize = 5;

/// The games of the player among those of an annotated file.
///
/// # Errors
/// The file cannot be read.
pub fn read(annotated: &Path, name: &str) -> Result<Summary, FileError> {
    let mut summary = Summary::new(name);
    for entry in open_games(annotated, 1).map_err(FileError::of(annotated))? {
        if let PgnEntry::Game(game) = entry.map_err(FileError::of(annotated))? {
            PlayedGame::of(&game, name).into_iter().for_each(|game| summary.add(game));
        }
    }
    Ok(summary)
}

/// Whether the files have a game of the player; if not, the names of most games. Reads up to the first such game.
///
/// # Errors
/// A file cannot be read.
pub fn find(files: &[PathBuf], name: &str) -> Result<Result<(), Vec<String>>, FileError> {
    let mut players: HashMap<String, usize> = HashMap::new();
    for file in files {
        for entry in open_games(file, 1).map_err(FileError::of(file))? {
            let game = match entry {
                Ok(PgnEntry::Game(game)) => game,
                Ok(PgnEntry::Unreadable { .. }) => continue,
                // The games before it are analysed.
                Err(why) if is_damage(&why) => break,
                Err(why) => return Err(FileError::of(file)(why)),
            };
            for tag in ["White", "Black"].into_iter().filter_map(|tag| game.tag(tag)) {
                if is_named(Some(tag), name) {
                    return Ok(Ok(()));
                }
                *players.entry(tag.to_owned()).or_default() += 1;
            }
        }
    }
    let mut players: Vec<(String, usize)> = players.into_iter().collect();
    players.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(Err(players.into_iter().take(SUGGESTED).map(|(name, _)| name).collect()))
}

//! Analysis of a collection: search missing positions, write the annotated games.

use super::annotate;
use super::collection::Collection;
use super::cost::Cost;
use super::error::AnalyseError;
use super::journal::{Journal, Origin};
use super::passes::{AnalysisProgress, Passes};
use super::review::{Review, Rules};
use crate::pgn::PgnGame;
use crate::play::analyst::{Analyst, Effort};
use crate::process::errors::FileError;
use crate::process::files::write_whole;
use std::path::{Path, PathBuf};

/// Parameters of an analysis.
pub struct AnalysisTask<'a> {
    /// Limits of the first search of a position.
    pub effort: Effort,
    /// How moves are judged.
    pub rules: Rules,
    /// Positions searched at once, at least one.
    pub workers: usize,
    /// Options of the search, as text.
    pub settings: String,
    /// Output file; the journal is beside it.
    pub out: &'a Path,
    /// Called before the first search.
    pub announce: &'a dyn Fn(&Cost),
    /// Polled; true stops the analysis and keeps its results.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Searches all positions missing in the journal, suspected mistakes twice, and writes the annotated games, as far as
/// searched if stopped. Blocks; shows a progress bar on stderr. Returns the journal: delete it once all outputs are
/// written.
///
/// # Errors
/// A file cannot be read or written, or the network failed; finished searches are in the journal.
pub fn run(
    collection: &Collection,
    analyst: &Analyst,
    task: &AnalysisTask<'_>,
) -> Result<(AnalysisProgress, Journal), AnalyseError> {
    let games = &collection.games;
    let origin = Origin {
        engine: env!("CARGO_PKG_VERSION").to_owned(),
        network: analyst.network().to_owned(),
        // The glyphs decide which positions are searched again.
        search: format!("{:?}, {:?}, {}", task.effort, task.rules, task.settings),
    };
    let mut journal = Journal::open(&journal_path(task.out), &origin)?;
    let &AnalysisTask { effort, rules, workers, stop, announce, .. } = task;
    let passes = Passes { analyst, effort, rules, workers, stop };
    let done = passes.run(games, announce, &mut journal)?;
    let mut text = String::new();
    let annotator = format!("Mavka {}", env!("CARGO_PKG_VERSION"));
    let mut copied = collection.unreadable.iter().peekable();
    for game in games {
        while let Some(other) = copied.next_if(|other| other.number < game.number) {
            text += &other.raw;
        }
        text += &annotate::write(&reviewed(game, &journal, task.rules), &annotator);
    }
    copied.for_each(|other| text += &other.raw);
    write_whole(task.out, &text).map_err(FileError::of(task.out))?;
    Ok((done, journal))
}

/// A game by the longest searches of the journal. Glyphs rest on second searches alone.
#[must_use]
pub fn reviewed<'a>(game: &'a PgnGame, journal: &'a Journal, rules: Rules) -> Review<'a> {
    Review::new(game, &|identity| journal.best(identity), rules).without_unsure_glyphs()
}

/// Path of the journal of an output.
#[must_use]
pub fn journal_path(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

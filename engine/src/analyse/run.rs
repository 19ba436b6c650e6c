//! Analysis of a collection, batch by batch: search missing positions, write the annotated games.
//!
//! Outputs grow beside their places, and the journal has their lengths at the end of the last finished batch: a run that is
//! resumed after a kill cuts them off there, reads past the games before, and writes the same bytes as a run that was left alone.

use super::annotate;
use super::collection::{Batch, Batches, Tally};
use super::cost::Cost;
use super::error::AnalyseError;
use super::growing::GrowingFile;
use super::html::{self, PageStyle, Title};
use super::journal::{Journal, JournalError, JournalMark, Origin};
use super::passes::{AnalysisProgress, PassRunner};
use super::player;
use super::review::{Review, Rules};
use super::sees::{MOST_GAMES, NetworkView};
use crate::pgn::PgnGame;
use crate::play::analyst::{Analyst, Effort};
use crate::process::errors::FileError;
use crate::process::files::part_of;
use crate::process::interrupt::while_reading;
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

/// Parameters of an analysis.
#[derive(Clone, Copy)]
pub struct AnalysisTask<'a> {
    /// Limits of the first search of a position.
    pub effort: Effort,
    /// How moves are judged.
    pub rules: Rules,
    /// Positions searched at once, at least one.
    pub workers: usize,
    /// Options of the search, as text.
    pub settings: &'a str,
    /// Output file; the journal is beside it.
    pub out: &'a Path,
    /// The page, and what the network sees for it.
    pub html: Option<(&'a Path, NetworkView<'a>)>,
    /// The player whose section begins the page, and whose games are a CSV.
    pub player: Option<PlayerTask<'a>>,
    /// Called before the first search.
    pub announce: &'a dyn Fn(&Cost),
    /// Polled; true stops the analysis and keeps its results.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Outputs about one player.
#[derive(Clone, Copy, Debug)]
pub struct PlayerTask<'a> {
    /// The name in the tags.
    pub name: &'a str,
    /// A row for each game.
    pub csv: Option<&'a Path>,
}

/// Games that are written.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisOutcome {
    /// All of them.
    pub tally: Tally,
    /// The searches of the last batch.
    pub last: AnalysisProgress,
    /// Stopped: the games are written as far as searched, and more may follow them.
    pub stopped: bool,
}

/// Searches all positions missing in the journal, suspected mistakes twice, and writes the annotated games. Memory does not grow
/// with their number. Once stopped, it writes the games of the batch under way as far as searched. Blocks; shows a progress bar on
/// stderr.
///
/// # Errors
/// A file cannot be read or written, or the network failed; finished searches are in the journal.
pub fn run(
    batches: Batches<'_>,
    analyst: &Analyst,
    task: &AnalysisTask<'_>,
) -> Result<AnalysisOutcome, AnalyseError> {
    let &AnalysisTask { effort, rules, workers, stop, .. } = task;
    let path = journal_path(task.out);
    let origin = Origin {
        engine: env!("CARGO_PKG_VERSION").to_owned(),
        network: analyst.network().to_owned(),
        // The glyphs decide which positions are searched again.
        search: format!("{effort:?}, {rules:?}, {}", task.settings),
    };
    let mut batches = batches.peekable();
    let is_empty = |first: &Result<Batch, _>| match first {
        Ok(batch) => batch.is_last && batch.games.is_empty(),
        Err(_) => true,
    };
    if while_reading(|| batches.peek().is_none_or(is_empty)) {
        if let Some(batch) = batches.next().transpose()? {
            batch.warn("cannot be read");
        }
        return Err(AnalyseError::NoGame);
    }
    let mut journal = Journal::open(&path, &origin)?;
    let mark = journal.mark().clone();
    let unfit = |what| JournalError::Unfit(path.clone(), what);
    if !while_reading(|| skip(&mut batches, mark.tally))? {
        return Err(unfit("other games").into());
    }
    let files: Vec<&Path> = [task.out].into_iter().chain(task.html.map(|(path, _)| path)).collect();
    if (1..files.len()).contains(&mark.lengths.len()) {
        return Err(unfit("an analysis without --html").into());
    }
    let lengths = mark.lengths.iter().copied().chain(std::iter::repeat(0));
    let opened = files.into_iter().zip(lengths).map(|(path, kept)| GrowingFile::open(path, kept));
    let mut outputs = opened.collect::<Result<Vec<_>, _>>().map_err(JournalError::from)?;

    let passes = PassRunner { analyst, effort, rules, workers, stop };
    let mut outcome =
        AnalysisOutcome { tally: mark.tally, last: AnalysisProgress::default(), stopped: false };
    let mut is_first = true;
    while !outcome.stopped
        && let Some(batch) = batches.next().transpose()?
    {
        batch.warn("is only copied");
        let more = !batch.is_last;
        let announce = |cost| {
            if is_first {
                (task.announce)(&Cost { more, ..cost });
            }
        };
        outcome.last = passes.run(&batch.games, &announce, &mut journal)?;
        let begins = outcome.tally.all() == 0;
        let texts = texts(&batch, &journal, task, (analyst.network(), begins));
        for (output, text) in outputs.iter_mut().zip(texts) {
            output.append(&text)?;
        }
        outcome.tally = batch.tally;
        outcome.stopped = !outcome.last.is_complete() || more && stop();
        if more && !outcome.stopped {
            let lengths = outputs.iter().map(GrowingFile::length).collect::<Result<_, _>>()?;
            journal.set_mark(JournalMark { tally: batch.tally, lengths })?;
        }
        is_first = false;
    }
    for (output, end) in outputs.iter_mut().zip([String::new(), html::end()]) {
        output.append(&end)?;
    }
    let mut outputs = outputs.into_iter();
    // Where the analysis was stopped it is cut off at a length that knows of no player.
    let player = task.player.filter(|_| !outcome.stopped);
    outputs.next().map_or(Ok(()), GrowingFile::finish)?;
    match player {
        Some(player) => write_player(player, task.out, outputs.next())?,
        None => outputs.try_for_each(GrowingFile::finish)?,
    }
    if !outcome.stopped {
        journal.delete()?;
    }
    Ok(outcome)
}

/// Writes the outputs about a player, from the annotated games.
fn write_player(
    PlayerTask { name, csv }: PlayerTask<'_>,
    annotated: &Path,
    page: Option<GrowingFile>,
) -> Result<(), FileError> {
    let summary = player::read(annotated, name)?;
    if let Some(path) = csv {
        let part = part_of(path);
        fs::write(&part, player::table::csv(&summary)).map_err(FileError::of(&part))?;
        fs::rename(&part, path).map_err(FileError::of(path))?;
    }
    let section = || player::section::write(&summary);
    page.map_or(Ok(()), |page| page.finish_with(html::PLAYER_MARK, &section()))
}

/// Reads past the games that are written. False if the collection has others.
fn skip(batches: &mut Peekable<Batches<'_>>, written: Tally) -> Result<bool, AnalyseError> {
    let mut tally = Tally::default();
    while tally.all() < written.all() {
        match batches.next().transpose()? {
            Some(batch) => tally = batch.tally,
            None => break,
        }
    }
    Ok(tally == written)
}

/// The texts that a batch adds to each output.
fn texts(
    batch: &Batch,
    journal: &Journal,
    task: &AnalysisTask<'_>,
    (network, begins): (&str, bool),
) -> Vec<String> {
    let review = |game| reviewed(game, journal, task.rules);
    let reviews: Vec<Review<'_>> = batch.games.iter().map(review).collect();
    let annotator = format!("Mavka {}", env!("CARGO_PKG_VERSION"));
    let mut games = String::new();
    let mut copied = batch.unreadable.iter().peekable();
    for review in &reviews {
        while let Some(other) = copied.next_if(|other| other.number < review.game.number) {
            games += &other.raw;
        }
        games += &annotate::write(review, &annotator);
    }
    copied.for_each(|other| games += &other.raw);
    let page = task.html.map(|(_, network_view)| {
        let is_whole = begins && batch.is_last;
        let full = is_whole && reviews.len() <= MOST_GAMES;
        let title = Title::new(&reviews, is_whole, network, task.effort);
        let head = if begins { html::head(&title) } else { String::new() };
        head + &html::games(&reviews, PageStyle { network_view, full })
    });
    [games].into_iter().chain(page).collect()
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

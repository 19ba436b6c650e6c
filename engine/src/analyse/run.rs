//! Analysis of a collection: read, search missing positions, write.

use super::annotate;
use super::found::{PositionResult, SearchRequest, identity, over};
use super::journal::{Journal, JournalError, Origin, Pass};
use super::judge::{Judgement, MISTAKE};
use super::review::Review;
use crate::chess::game::Game;
use crate::errors::{FileError, wraps};
use crate::files::write_whole;
use crate::pgn::text::{decode, read_packed};
use crate::pgn::{Entry, PgnGame, Unreadable, read_games};
use crate::play::analyst::{Analyst, Effort};
use crate::progress::progress;
use nn::EvalError;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// Effort of the second search as a multiple of the first.
const SECOND_EFFORT: u32 = 5;

/// Parameters of an analysis.
pub struct AnalysisTask<'a> {
    /// Limits of each search.
    pub effort: Effort,
    /// Maximum number of better lines per move.
    pub lines: usize,
    /// Other parameters of the search: options, threads.
    pub settings: String,
    /// Output file; the journal is beside it.
    pub out: &'a Path,
    /// Polled; true stops the analysis and keeps its results.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnalysisProgress {
    /// Searched positions.
    pub searched: usize,
    /// All positions.
    pub positions: usize,
}

impl AnalysisProgress {
    /// Whether all positions are searched.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.searched == self.positions
    }
}

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
    pub fn add_file(&mut self, path: &Path) -> Result<(), AnalyseError> {
        let bytes = read_packed(path).map_err(FileError::of(path))?;
        let before = self.games.len();
        self.add(&decode(&bytes));
        let lost = self.games[before..].iter_mut().flat_map(|game| &mut game.lost);
        lost.for_each(|lost| *lost = format!("{} {lost}", path.display()));
        Ok(())
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

/// Searches all positions missing in the journal, suspected mistakes twice, and writes the annotated games, as far as
/// searched if stopped. Blocks; shows a progress bar on stderr. Returns the journal: delete it once all outputs are
/// written.
///
/// # Errors
/// A file cannot be read or written, or the network failed; finished searches are in the journal.
pub fn run(
    collection: &Collection,
    analyst: &mut Analyst,
    task: &AnalysisTask<'_>,
) -> Result<(AnalysisProgress, Journal), AnalyseError> {
    let games = &collection.games;
    let origin = Origin {
        engine: env!("CARGO_PKG_VERSION").to_owned(),
        network: analyst.network().to_owned(),
        search: format!("{:?}, {} lines, {}", task.effort, task.lines, task.settings),
    };
    let mut journal = Journal::open(&journal_path(task.out), &origin)?;
    let done = search_all(games, analyst, task, &mut journal)?;
    let mut text = String::new();
    let annotator = format!("Mavka {}", env!("CARGO_PKG_VERSION"));
    let mut copied = collection.unreadable.iter().peekable();
    for game in games {
        while let Some(other) = copied.next_if(|other| other.number < game.number) {
            text += &other.raw;
        }
        text += &annotate::write(&Review::new(game, &journal, task.lines), &annotator);
    }
    copied.for_each(|other| text += &other.raw);
    write_whole(task.out, &text).map_err(FileError::of(task.out))?;
    Ok((done, journal))
}

fn search_all(
    games: &[PgnGame],
    analyst: &mut Analyst,
    task: &AnalysisTask<'_>,
    journal: &mut Journal,
) -> Result<AnalysisProgress, AnalyseError> {
    let everything = games
        .iter()
        .flat_map(|game| game.positions().into_iter().map(|position| (game.number, position)));
    let first = PassRun { pass: Pass::First, effort: task.effort, task };
    let done = first.search(everything, analyst, journal)?;
    if !done.is_complete() {
        return Ok(done);
    }
    let suspects = suspects(games, journal, task.lines);
    let second = PassRun { pass: Pass::Second, effort: task.effort.times(SECOND_EFFORT), task };
    let second_done = second.search(suspects, analyst, journal)?;
    let (searched, positions) =
        (done.searched + second_done.searched, done.positions + second_done.positions);
    Ok(AnalysisProgress { searched, positions })
}

/// Positions before and after suspected mistakes, with their games' numbers.
fn suspects(games: &[PgnGame], journal: &Journal, lines: usize) -> Vec<(usize, Game)> {
    let mut out = Vec::new();
    for game in games {
        let Review { positions, judgements, .. } = Review::at_first(game, journal, lines);
        let lost = |judged: &Option<Judgement>| {
            judged.as_ref().is_some_and(|judged| judged.loss() >= MISTAKE)
        };
        let is_wanted = |place: usize| {
            judgements.get(place).is_some_and(lost)
                || place > 0 && judgements.get(place - 1).is_some_and(lost)
        };
        let places = positions.into_iter().enumerate().filter(|(place, _)| is_wanted(*place));
        out.extend(places.map(|(_, position)| (game.number, position)));
    }
    out
}

/// One pass over the positions.
struct PassRun<'a> {
    pass: Pass,
    effort: Effort,
    task: &'a AnalysisTask<'a>,
}

impl PassRun<'_> {
    /// Searches the positions that the journal lacks for this pass.
    fn search(
        &self,
        positions: impl IntoIterator<Item = (usize, Game)>,
        analyst: &mut Analyst,
        journal: &mut Journal,
    ) -> Result<AnalysisProgress, AnalyseError> {
        let mut inspected = HashSet::new();
        let mut open = Vec::new();
        for (number, position) in positions {
            let identity = identity(&position);
            if over(&position).is_none() && inspected.insert(identity) {
                let known = journal.get(identity, self.pass).is_some();
                open.extend((!known).then_some((number, identity, position)));
            }
        }
        let positions = inspected.len();
        let mut searched = positions - open.len();
        let bar = progress(positions);
        bar.set_position(searched as u64);
        // Excludes results of earlier runs from the speed.
        bar.reset_eta();
        let words = match self.pass {
            Pass::First => "positions",
            Pass::Second => "looked at again",
        };
        for (number, identity, position) in open {
            bar.set_message(format!("{words}, game {number}"));
            let request = SearchRequest {
                game: &position,
                effort: self.effort,
                lines: self.task.lines,
                checks: self.pass == Pass::Second,
            };
            let Some(found) = PositionResult::search(analyst, &request, self.task.stop)? else {
                break;
            };
            journal.add(identity, self.pass, found)?;
            searched += 1;
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(AnalysisProgress { searched, positions })
    }
}

/// Path of the journal of an output.
#[must_use]
pub fn journal_path(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

/// Error that ended an analysis.
#[derive(Debug)]
pub enum AnalyseError {
    /// A file cannot be read or written.
    File(FileError),
    /// The journal cannot be used.
    Journal(JournalError),
    /// The network failed.
    Network(EvalError),
}

impl fmt::Display for AnalyseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnalyseError::File(why) => why.fmt(f),
            AnalyseError::Journal(why) => why.fmt(f),
            AnalyseError::Network(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for AnalyseError {}

wraps! { AnalyseError: File(FileError), Journal(JournalError), Network(EvalError) }

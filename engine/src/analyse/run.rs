//! The way through a collection: read, search every position that is not known yet, write what came of it.

use super::found::{Found, Question, identity, over};
use super::game::{Damage, PgnGame};
use super::journal::{Journal, JournalError, Look, Origin};
use super::judge::{Judgement, MISTAKE};
use super::review::Review;
use super::{annotate, read, split};
use crate::chess::game::Game;
use crate::errors::{FileError, wraps};
use crate::files::write_whole;
use crate::play::analyst::{Analyst, Effort};
use crate::progress::progress;
use nn::EvalError;
use nn::files::{MAX_TEXT, read_limited};
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

/// How much longer the second look takes, at the positions before and after a move that seems to be a mistake.
const AGAIN: u32 = 5;

/// What is to be done.
pub struct Task<'a> {
    /// What each search may cost.
    pub effort: Effort,
    /// Better lines to show beside a move.
    pub lines: usize,
    /// What the search depends on besides: options, threads.
    pub settings: String,
    /// The annotated games; the journal lies beside it.
    pub out: &'a Path,
    /// Polled all the time; true ends the analysis with what there is.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// How far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Positions known.
    pub searched: usize,
    /// Positions in all.
    pub positions: usize,
}

impl Done {
    /// Nothing is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.searched == self.positions
    }
}

/// The games of a collection.
#[derive(Default)]
pub struct Collection {
    /// Those that can be analysed, in order.
    pub games: Vec<PgnGame>,
    /// The others: number and what is wrong.
    pub damaged: Vec<(usize, Damage)>,
}

impl Collection {
    /// Adds the games of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn add_file(&mut self, path: &Path) -> Result<(), AnalyseError> {
        let bytes = File::open(path).and_then(|file| read_limited(file, MAX_TEXT));
        let bytes = bytes.map_err(FileError::of(path))?;
        self.add(&split::decode(&bytes));
        Ok(())
    }

    /// Adds the games of a text.
    pub fn add(&mut self, text: &str) {
        for chunk in split::split(text) {
            let number = self.games.len() + self.damaged.len() + 1;
            match read::read(number, &chunk) {
                Ok(game) => self.games.push(game),
                Err(damage) => self.damaged.push((number, damage)),
            }
        }
    }
}

/// Searches what the journal of `task` does not know yet, what seems to be a mistake twice, and writes the
/// annotated games, complete or, when it is stopped, as far as it came. Blocks; a bar on stderr tells how
/// long. The journal comes back; whoever has written everything deletes it.
///
/// # Errors
/// A file cannot be read or written, or the network failed; what was searched is in the journal.
pub fn run(
    games: &[PgnGame],
    analyst: &mut Analyst,
    task: &Task<'_>,
) -> Result<(Done, Journal), AnalyseError> {
    let origin = Origin {
        engine: env!("CARGO_PKG_VERSION").to_owned(),
        network: analyst.network().to_owned(),
        search: format!("{:?}, {} lines, {}", task.effort, task.lines, task.settings),
    };
    let mut journal = Journal::open(&journal_path(task.out), &origin)?;
    let done = search_all(games, analyst, task, &mut journal)?;
    let mut text = String::new();
    let annotator = format!("Mavka {}", env!("CARGO_PKG_VERSION"));
    for game in games {
        text += &annotate::write(&Review::new(game, &journal, task.lines), &annotator);
    }
    write_whole(task.out, &text).map_err(FileError::of(task.out))?;
    Ok((done, journal))
}

fn search_all(
    games: &[PgnGame],
    analyst: &mut Analyst,
    task: &Task<'_>,
    journal: &mut Journal,
) -> Result<Done, AnalyseError> {
    let everything = games
        .iter()
        .flat_map(|game| game.positions().into_iter().map(|position| (game.number, position)));
    let first = Looking { look: Look::First, effort: task.effort, task };
    let done = first.search(everything, analyst, journal)?;
    if !done.is_complete() {
        return Ok(done);
    }
    let doubtful = doubtful(games, journal, task.lines);
    let second = Looking { look: Look::Second, effort: task.effort.times(AGAIN), task };
    let again = second.search(doubtful, analyst, journal)?;
    let (searched, positions) = (done.searched + again.searched, done.positions + again.positions);
    Ok(Done { searched, positions })
}

/// Positions before and after the moves that seem to be mistakes, with their games' numbers.
fn doubtful(games: &[PgnGame], journal: &Journal, lines: usize) -> Vec<(usize, Game)> {
    let mut out = Vec::new();
    for game in games {
        let Review { positions, judgements, .. } = Review::at_first(game, journal, lines);
        let lost = |judged: &Option<Judgement>| {
            judged.as_ref().is_some_and(|judged| judged.loss() >= MISTAKE)
        };
        let wanted = |place: usize| {
            judgements.get(place).is_some_and(lost)
                || place > 0 && judgements.get(place - 1).is_some_and(lost)
        };
        let places = positions.into_iter().enumerate().filter(|(place, _)| wanted(*place));
        out.extend(places.map(|(_, position)| (game.number, position)));
    }
    out
}

/// One way through the positions.
struct Looking<'a> {
    look: Look,
    effort: Effort,
    task: &'a Task<'a>,
}

impl Looking<'_> {
    /// Searches those of the positions that the journal does not know from this look.
    fn search(
        &self,
        positions: impl IntoIterator<Item = (usize, Game)>,
        analyst: &mut Analyst,
        journal: &mut Journal,
    ) -> Result<Done, AnalyseError> {
        let mut seen = HashSet::new();
        let mut open = Vec::new();
        for (number, position) in positions {
            let identity = identity(&position);
            if over(&position).is_none() && seen.insert(identity) {
                let known = journal.get(identity, self.look).is_some();
                open.extend((!known).then_some((number, identity, position)));
            }
        }
        let positions = seen.len();
        let mut searched = positions - open.len();
        let bar = progress(positions);
        bar.set_position(searched as u64);
        // What an earlier run has done says nothing of this one's speed.
        bar.reset_eta();
        let words = match self.look {
            Look::First => "positions",
            Look::Second => "looked at again",
        };
        for (number, identity, position) in open {
            bar.set_message(format!("{words}, game {number}"));
            let question = Question {
                game: &position,
                effort: self.effort,
                lines: self.task.lines,
                checks: self.look == Look::Second,
            };
            let Some(found) = Found::search(analyst, &question, self.task.stop)? else { break };
            journal.add(identity, self.look, found)?;
            searched += 1;
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(Done { searched, positions })
    }
}

/// Beside the output.
#[must_use]
pub fn journal_path(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

/// Why an analysis ended early.
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

//! Journal of finished searches, beside the output: one line per position, written immediately, so that a kill loses
//! at most the searches under way. The next run resumes from it.
//!
//! The first line names engine, network, settings, and the games whose analysis is written: their results are dropped. A truncated
//! last line is dropped; a file that is no journal is never written to.

use super::collection::Tally;
use super::found::PositionResult;
use crate::process::errors::{FileError, wraps};
use crate::process::files::{JournalFile, OpenError, is_cut_journal, whole_lines};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Version of the format.
const VERSION: u32 = 3;
/// Prefix of every journal.
const BEGINNING: &str = "{\"mavka analyse journal\":";

/// Configuration that results depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The engine's version.
    pub engine: String,
    /// Name of the network.
    pub network: String,
    /// Limits and options of the search, as text.
    pub search: String,
}

/// Games whose analysis is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalMark {
    /// The games.
    pub tally: Tally,
    /// Length of each output at their end, in bytes.
    pub lengths: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    #[serde(rename = "mavka analyse journal")]
    version: u32,
    #[serde(flatten)]
    origin: Origin,
    written: JournalMark,
}

/// First or second search of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchPass {
    /// Every position gets it.
    #[default]
    First,
    /// Longer; before and after a move that has a glyph.
    Second,
}

impl SearchPass {
    fn is_first(&self) -> bool {
        *self == SearchPass::First
    }
}

#[derive(Serialize, Deserialize)]
struct JournalEntry {
    /// See [`super::found::identity`].
    position: u64,
    #[serde(rename = "look", default, skip_serializing_if = "SearchPass::is_first")]
    pass: SearchPass,
    found: PositionResult,
}

type Results = HashMap<(u64, SearchPass), PositionResult>;

/// Searched positions and the file that stores them.
pub struct Journal {
    file: JournalFile,
    known: Results,
    /// Before any result.
    header: Header,
}

/// Why there is no journal.
#[derive(Debug)]
pub enum JournalError {
    /// The file cannot be opened, or another process writes to it.
    Open(OpenError),
    /// The file cannot be read or written.
    File(FileError),
    /// The file is no journal.
    NoJournal(PathBuf),
    /// The file, and another difference from this run.
    Unfit(PathBuf, &'static str),
    /// Journal of another configuration.
    Other {
        /// The file.
        path: PathBuf,
        /// Origin in the file.
        found: Box<Origin>,
        /// Origin of this run.
        wanted: Box<Origin>,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalError::Open(why) => why.fmt(f),
            JournalError::File(why) => why.fmt(f),
            JournalError::NoJournal(path) => {
                write!(f, "{} is no journal of an analysis; choose another --out", path.display())
            }
            JournalError::Unfit(path, what) => {
                let path = path.display();
                write!(f, "{path} is of {what}; delete it to begin anew, or choose another --out")
            }
            JournalError::Other { path, found, wanted } => {
                let pairs = [
                    ("engine", &found.engine, &wanted.engine),
                    ("network", &found.network, &wanted.network),
                    ("settings", &found.search, &wanted.search),
                ];
                write!(f, "{} is of another analysis", path.display())?;
                for (name, theirs, ours) in pairs.iter().filter(|(_, theirs, ours)| theirs != ours)
                {
                    write!(f, " ({name} `{theirs}`, now `{ours}`)")?;
                }
                f.write_str("; delete it to begin anew, or choose another --out")
            }
        }
    }
}

impl std::error::Error for JournalError {}

wraps! { JournalError: Open(OpenError), File(FileError) }

impl Journal {
    /// Opens or creates the journal at `path`. No other process may write to it until it is dropped.
    ///
    /// # Errors
    /// The file cannot be used, is in use, or belongs to another configuration.
    pub fn open(path: &Path, origin: &Origin) -> Result<Journal, JournalError> {
        let mut file = JournalFile::open(path)?;
        let bytes = file.read()?;
        let (written, known, whole) = read(path, &bytes, origin)?;
        file.truncate(whole, bytes.len())?;
        let header = Header { version: VERSION, origin: origin.clone(), written };
        if whole == 0 {
            file.append(&header)?;
        }
        Ok(Journal { file, known, header })
    }

    /// Games whose analysis is written.
    #[must_use]
    pub fn mark(&self) -> &JournalMark {
        &self.header.written
    }

    /// More games are written: drops all results.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_mark(&mut self, mark: JournalMark) -> Result<(), JournalError> {
        self.header.written = mark;
        self.known.clear();
        Ok(self.file.restart(&self.header)?)
    }

    /// The result of one search of a position.
    #[must_use]
    pub fn get(&self, position: u64, pass: SearchPass) -> Option<&PositionResult> {
        self.known.get(&(position, pass))
    }

    /// The result of the longest search of a position, and whether that was the second one.
    #[must_use]
    pub fn best(&self, position: u64) -> Option<(&PositionResult, bool)> {
        let second = self.get(position, SearchPass::Second).map(|found| (found, true));
        second.or_else(|| self.get(position, SearchPass::First).map(|found| (found, false)))
    }

    /// Number of results of this pass.
    #[must_use]
    pub fn count(&self, pass: SearchPass) -> usize {
        self.known.keys().filter(|(_, known)| *known == pass).count()
    }

    /// Stores a result.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(
        &mut self,
        position: u64,
        pass: SearchPass,
        found: PositionResult,
    ) -> Result<(), JournalError> {
        let entry = JournalEntry { position, pass, found };
        self.file.append(&entry)?;
        self.known.insert((position, pass), entry.found);
        Ok(())
    }

    /// Deletes the file: the analysis is complete.
    ///
    /// # Errors
    /// The system refuses.
    pub fn delete(self) -> Result<(), JournalError> {
        Ok(self.file.delete()?)
    }
}

/// Mark and positions of a journal, and the length of its intact prefix in bytes.
fn read(
    path: &Path,
    bytes: &[u8],
    origin: &Origin,
) -> Result<(JournalMark, Results, usize), JournalError> {
    let (mut written, mut known) = (JournalMark::default(), HashMap::new());
    let mut whole = 0;
    for line in whole_lines(bytes) {
        if whole == 0 {
            let header = serde_json::from_slice::<Header>(line)
                .ok()
                .filter(|header| header.version == VERSION)
                .ok_or_else(|| JournalError::NoJournal(path.to_owned()))?;
            if header.origin != *origin {
                return Err(JournalError::Other {
                    path: path.to_owned(),
                    found: Box::new(header.origin),
                    wanted: Box::new(origin.clone()),
                });
            }
            written = header.written;
        } else {
            // Everything after a damaged line is searched again.
            let Ok(entry) = serde_json::from_slice::<JournalEntry>(line) else { break };
            known.insert((entry.position, entry.pass), entry.found);
        }
        whole += line.len();
    }
    if whole == 0 && !is_cut_journal(bytes, BEGINNING) {
        return Err(JournalError::NoJournal(path.to_owned()));
    }
    Ok((written, known, whole))
}

#[cfg(test)]
mod tests {
    use super::super::found::RootMove;
    use super::*;
    use chess::action::Action;
    use std::fs;

    fn found(value: f32) -> PositionResult {
        let line = vec![Action::from(796), Action::from(3364)];
        let choice = RootMove { line, visits: 12, value, mate: Some(-4) };
        PositionResult {
            choices: vec![choice],
            policy: vec![(Action::from(796), 0.1)],
            playouts: 13,
            exact: false,
        }
    }

    fn origin() -> Origin {
        let (engine, network) = ("0.1".to_owned(), "hashed".to_owned());
        Origin { engine, network: format!("{network} Möwe"), search: "nodes 100".to_owned() }
    }

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("mavka-journal-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_journal_cut_anywhere_loses_at_most_one_position() {
        let path = path("cut");
        let _ = fs::remove_file(&path);
        let values = [0.1, 1.0 / 3.0, f32::MIN_POSITIVE, 0.999_999_94];
        let mut journal = Journal::open(&path, &origin()).unwrap();
        // Two positions, searched twice each.
        let key =
            |place: usize| (place as u64 / 2, [SearchPass::First, SearchPass::Second][place % 2]);
        for (place, value) in values.into_iter().enumerate() {
            let (position, pass) = key(place);
            journal.add(position, pass, found(value)).unwrap();
        }
        assert_eq!(journal.best(0), Some((&found(values[1]), true)));
        drop(journal);
        let text = fs::read(&path).unwrap();
        for length in 0..=text.len() {
            fs::write(&path, &text[..length]).unwrap();
            let lines = text[..length].iter().filter(|byte| **byte == b'\n').count();
            let mut journal = Journal::open(&path, &origin()).unwrap();
            assert_eq!(journal.known.len(), lines.saturating_sub(1), "cut at {length}");
            for (place, value) in values.into_iter().enumerate().take(journal.known.len()) {
                let (position, pass) = key(place);
                assert_eq!(journal.get(position, pass), Some(&found(value)));
            }
            journal.add(9, SearchPass::First, found(0.5)).unwrap();
            drop(journal);
            assert_eq!(
                Journal::open(&path, &origin()).unwrap().best(9),
                Some((&found(0.5), false))
            );
        }
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn two_runs_do_not_write_to_one_journal() {
        let path = path("two");
        let _ = fs::remove_file(&path);
        let first = Journal::open(&path, &origin()).unwrap();
        let why = Journal::open(&path, &origin()).err().map(|why| why.to_string());
        assert!(why.is_some_and(|why| why.contains("another process")), "one writer at a time");
        drop(first);
        Journal::open(&path, &origin()).unwrap().delete().unwrap();
    }

    #[test]
    fn other_files_are_left_alone() {
        let path = path("other");
        let other = Origin { search: "nodes 200".to_owned(), ..origin() };
        for text in ["1. e4 e5 *", "{}\n", "1. e4 e5 *\n"] {
            fs::write(&path, text).unwrap();
            let opened = Journal::open(&path, &origin());
            assert!(matches!(opened, Err(JournalError::NoJournal(_))), "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_file(&path).unwrap();
        drop(Journal::open(&path, &other).unwrap());
        let why = Journal::open(&path, &origin()).err().unwrap().to_string();
        assert!(why.contains("`nodes 200`, now `nodes 100`") && !why.contains("network"), "{why}");
        Journal::open(&path, &other).unwrap().delete().unwrap();
        assert!(!path.exists());
    }
}

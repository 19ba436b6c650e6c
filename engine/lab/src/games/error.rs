//! Why a run of self-play ends.

use super::record::RecordError;
use crate::plots::PlotError;
use engine::process::errors::FileError;
use engine::process::files::{OpenError, OutputError, whole_lines};
use games::net::UnfitNetwork;
use nn::files::{MAX_TEXT, read_regular};
use nn::parameter_file::CheckpointError;
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why self-play, training or measurement ended early.
#[derive(Debug)]
pub enum LearnError {
    /// A file cannot be read or written.
    File(FileError),
    /// The folder is in use, or a file of it is the user's own.
    Open(OpenError),
    /// The folder holds files of the user.
    Folder(OutputError),
    /// A file of parameters is damaged.
    Parameters(PathBuf, CheckpointError),
    /// A file of games is damaged.
    Games(PathBuf, RecordError),
    /// Another file of a run is damaged.
    Damaged(PathBuf, String),
    /// The network plays another game.
    Unfit(PathBuf, UnfitNetwork),
    /// A search found no move: the network's answers are not finite.
    NoMove(PathBuf),
    /// No solver knows this game on a board of this size.
    NoSolver(&'static str, String),
    /// The folder belongs to a run with other settings.
    Settings {
        /// The file of the settings.
        path: PathBuf,
        /// The difference.
        what: String,
    },
    /// The curve cannot be drawn.
    Plot(PlotError),
}

impl LearnError {
    pub(super) fn parameters(path: &Path) -> impl Fn(CheckpointError) -> LearnError + use<> {
        let path = path.to_owned();
        move |why| LearnError::Parameters(path.clone(), why)
    }
}

/// The text of a file of a run. A FIFO in its place is not waited for.
///
/// # Errors
/// The file cannot be read, is no regular one, or no text.
pub(super) fn read_own_text(path: &Path) -> Result<String, LearnError> {
    let bytes = read_regular(path, MAX_TEXT).map_err(FileError::of(path))?;
    String::from_utf8(bytes).map_err(|why| LearnError::Damaged(path.to_owned(), why.to_string()))
}

/// The value of each whole line of a journal.
///
/// # Errors
/// Names the first line that is none.
pub(super) fn read_lines<T: DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
) -> Result<Vec<T>, LearnError> {
    let value = |(at, line): (usize, &[u8])| {
        serde_json::from_slice(line).map_err(|why| {
            LearnError::Damaged(path.to_owned(), format!("line {} cannot be read ({why})", at + 1))
        })
    };
    whole_lines(bytes).enumerate().map(value).collect()
}

impl fmt::Display for LearnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LearnError::File(why) => why.fmt(f),
            LearnError::Open(why) => why.fmt(f),
            LearnError::Folder(why) => why.fmt(f),
            LearnError::Parameters(path, why) => write!(f, "{}: {why}", path.display()),
            LearnError::Games(path, why) => {
                write!(
                    f,
                    "{}: {why}; delete the file to continue without its games",
                    path.display()
                )
            }
            LearnError::Damaged(path, what) => {
                write!(f, "{}: {what}; repair the file, or delete it", path.display())
            }
            LearnError::NoMove(path) => write!(
                f,
                "{}: the network's answers are not finite; delete state.safetensors to begin anew",
                path.display()
            ),
            LearnError::NoSolver(game, size) => {
                write!(f, "no solver knows {game} on {size}, expected a smaller board")
            }
            LearnError::Unfit(path, why) => write!(f, "{}: {why}", path.display()),
            LearnError::Settings { path, what } => write!(
                f,
                "{}: {what}; continue with the settings of this folder, or choose another one",
                path.display()
            ),
            LearnError::Plot(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for LearnError {}

impl From<FileError> for LearnError {
    fn from(why: FileError) -> LearnError {
        LearnError::File(why)
    }
}

impl From<OpenError> for LearnError {
    fn from(why: OpenError) -> LearnError {
        LearnError::Open(why)
    }
}

impl From<PlotError> for LearnError {
    fn from(why: PlotError) -> LearnError {
        LearnError::Plot(why)
    }
}

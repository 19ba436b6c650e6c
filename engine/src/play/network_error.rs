//! Why a network could not be used, in words for whoever named it.

use crate::conventional::regress::average::BadList;
use crate::conventional::regress::model::BadModel;
use nn::EvalError;
use nn::checkpoint::CheckpointError;
use std::fmt;
use std::path::PathBuf;

/// Why a network could not be used.
#[derive(Debug)]
pub enum NetworkError {
    /// The file is no network: missing, cut short, of another kind.
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: CheckpointError,
    },
    /// The file begins as a regressor's and goes on otherwise.
    Regressor {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: BadModel,
    },
    /// The file's name ends in .toml, and it lists no regressors that could be averaged.
    Average {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: BadList,
    },
    /// A built-in network is damaged.
    Bundled(CheckpointError),
    /// The device that was asked for is not there or does not compute; what computes instead.
    Backend(String),
    /// The device is there, but the network does not run on it: too little memory, say.
    Device(EvalError),
    /// It answers nothing that can be used, or broke down.
    Failed(String),
}

impl NetworkError {
    /// Nothing is wrong with the network itself: on the CPU it will do.
    #[must_use]
    pub fn is_of_device(&self) -> bool {
        matches!(self, NetworkError::Backend(_) | NetworkError::Device(_))
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::File { path, why } => {
                write!(f, "cannot use network `{}`: {why}", path.display())
            }
            NetworkError::Regressor { path, why } => {
                write!(f, "cannot use network `{}`: {why}", path.display())
            }
            NetworkError::Average { path, why } => {
                write!(f, "cannot use network `{}`: {why}", path.display())
            }
            NetworkError::Bundled(why) => write!(f, "cannot use the built-in network: {why}"),
            NetworkError::Backend(note) | NetworkError::Failed(note) => f.write_str(note),
            NetworkError::Device(why) => {
                write!(f, "the network does not run on the GPU ({why}); using the CPU")
            }
        }
    }
}

impl std::error::Error for NetworkError {}

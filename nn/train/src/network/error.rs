//! Errors of a training run.

use super::step::StepError;
use crate::data::DataError;
use nn::checkpoint::CheckpointError;
use std::fmt;
use std::path::PathBuf;

/// Why a run stopped early.
#[derive(Debug)]
pub enum TrainError {
    /// Invalid configuration.
    Config(String),
    /// A data file is damaged or missing.
    Data(DataError),
    /// A network or state file is damaged.
    Checkpoint(PathBuf, CheckpointError),
    /// Another file cannot be read or written.
    Io(PathBuf, std::io::Error),
    /// The device failed to compute a gradient.
    Step(StepError),
    /// The loss or the gradient is not finite.
    Diverged {
        /// Which of them.
        what: &'static str,
        /// The first such step, counted from 0.
        step: u64,
    },
    /// The folder holds a run of another network.
    OtherNetwork(PathBuf),
    /// The folder holds a run that excluded other positions.
    OtherExclusion(PathBuf),
    /// The mixer thread ended without an error.
    MixerDied,
    /// Another process trains in this folder.
    Busy(PathBuf),
}

impl fmt::Display for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrainError::Config(what) => write!(f, "training configuration: {what}"),
            TrainError::Data(error) => write!(f, "{error}"),
            TrainError::Checkpoint(path, error) => write!(f, "{}: {error}", path.display()),
            TrainError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            TrainError::Step(error) => write!(f, "{error}"),
            TrainError::Diverged { what, step } => {
                write!(f, "the {what} is not finite at step {step}; lower the learning rate")
            }
            TrainError::OtherNetwork(path) => {
                write!(
                    f,
                    "{}: a run of another network configuration; choose another folder",
                    path.display()
                )
            }
            TrainError::OtherExclusion(path) => {
                write!(
                    f,
                    "{}: a run that excluded other positions; name the same files or choose another folder",
                    path.display()
                )
            }
            TrainError::MixerDied => {
                f.write_str("the thread that mixes the examples has died; the data did not end")
            }
            TrainError::Busy(folder) => {
                write!(
                    f,
                    "{}: another process trains here; stop it or choose another folder",
                    folder.display()
                )
            }
        }
    }
}

impl std::error::Error for TrainError {}

impl From<DataError> for TrainError {
    fn from(error: DataError) -> Self {
        TrainError::Data(error)
    }
}

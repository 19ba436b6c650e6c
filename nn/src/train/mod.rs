//! Training: targets and losses, the optimiser, one step on a device, and the run around them.

mod budget;
pub mod burn;
pub mod config;
pub mod cpu;
mod error;
pub mod loss;
mod loss_csv;
mod muon;
pub mod optimizer;
pub mod run;
pub mod schedule;
mod state;
pub mod step;
mod watch;

pub use budget::{Budget, measure};
pub use burn::BurnStep;
pub use config::RunConfig;
pub use cpu::{CpuStep, StepTimes};
pub use error::TrainError;
pub use loss::{Loss, LossConfig, LossSums};
pub use optimizer::{Optimizer, OptimizerConfig};
pub use run::{Session, run};
pub use schedule::Schedule;
pub use step::{Step, StepError};
pub use watch::{Progress, Watcher};

//! Training: targets and losses, the optimiser, one step on a device, and the run around them.

pub mod burn;
pub mod cpu_step;
pub mod loss;
pub mod optimizer;
pub mod run;
pub mod schedule;
pub mod step;

pub use burn::BurnStep;
pub use cpu_step::CpuStep;
pub use loss::{Loss, LossConfig, LossSums};
pub use optimizer::{Optimizer, OptimizerConfig};
pub use run::{Progress, RunConfig, Session, TrainError, Watcher, run};
pub use schedule::Schedule;
pub use step::{Step, StepError};

//! Training: targets and losses, optimisers, one step on a device, and the run around them.

#[cfg(test)]
mod autodiff;
mod budget;
pub(crate) mod config;
pub(crate) mod cpu;
mod error;
mod learns;
pub(crate) mod loss;
mod loss_csv;
mod muon;
pub(crate) mod optimizer;
mod players;
pub(crate) mod run;
pub(crate) mod schedule;
mod state;
pub(crate) mod step;
mod teacher;
mod watch;

pub use budget::{Budget, measure};
pub use config::{RunConfig, TeamConfig};
pub use cpu::CpuStep;
pub use learns::Learns;
pub use loss::{Buckets, Loss};
pub use optimizer::{Optimizer, OptimizerConfig};
pub use players::{BOARD, Rewards, of_move, place};
pub use run::{Session, run};
pub use schedule::Schedule;
pub use step::Step;
pub(crate) use step::StepError;
pub use watch::{Progress, Watcher};

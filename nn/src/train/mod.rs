//! Training: targets and losses, the optimiser, one step on a device, and the run around them.

pub mod buckets;
pub mod cpu_step;
pub mod loss;
pub mod optimizer;

pub use cpu_step::CpuStep;
pub use loss::{LossConfig, LossSums};
pub use optimizer::{Optimizer, OptimizerConfig};

//! The network: value function, policy and world model in one (paper 000). No search.
#![deny(unsafe_code)]

pub mod assess;
pub mod burn_eval;
pub mod cached;
pub mod checkpoint;
pub mod cpu;
pub mod data;
pub mod device;
pub mod encode;
pub mod evaluator;
pub mod fake;
pub mod imagine;
pub mod infer;
pub mod metrics;
pub mod net;
pub mod precision;
pub mod rng;
pub mod standby;
pub mod train;
pub mod transition;

pub use evaluator::{EvalError, Evaluation, Evaluator, Query};
pub use precision::Arithmetic;
pub use transition::{Imagined, Refusal, Step, Transition};

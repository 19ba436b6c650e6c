//! The network: value function, policy and world model in one (paper 000). No search.
#![deny(unsafe_code)]

pub mod assess;
pub mod checkpoint;
pub mod cpu;
pub mod data;
pub mod device;
pub mod encode;
pub mod evaluator;
pub mod metrics;
pub mod net;
mod numeric;
pub mod precision;
pub mod rng;
pub mod train;

pub use evaluator::{EvalError, Evaluation, Evaluator, Imagined, Query, Refusal, Step, Transition};
pub use precision::Arithmetic;

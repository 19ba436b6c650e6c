//! The network: value function, policy and world model in one (paper 000). No search.

pub mod data;
pub mod encode;
pub mod evaluator;
pub mod fake;

pub use evaluator::{EvalError, Evaluation, Evaluator, Query};

//! The regressors of paper 002 (section "Zero lookahead engines"): small networks that guess from a board how
//! likely its side to move is to win, and nothing else. [`samples`] takes boards and labels from our games;
//! [`board`] and [`features`] write a board as numbers in the paper's ways; [`layers`] and [`network`] are the
//! network, which [`study`] trains; [`model`] is a trained one as a file, [`average`] several as one.
//! [`successors`] makes either an [`nn::Evaluator`]: named as `WeightsFile`, with `Search action-value`, it is
//! the paper's player without lookahead.

pub mod average;
pub mod board;
pub(crate) mod confusion;
pub mod features;
mod giraffe;
pub mod layers;
pub mod model;
pub mod network;
pub mod samples;
pub mod study;
pub mod successors;

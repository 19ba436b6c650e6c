//! Regressors of paper 002 (section "Zero lookahead engines"): small networks that estimate the win probability of a
//! board's side to move. [`samples`] takes boards and labels from our games; [`board`] and [`features`] encode a board
//! in the paper's ways; [`layers`] and [`network`] are the network, which [`study`] trains; [`model`] is its file
//! format, [`average`] an ensemble. [`successors`] makes either an [`nn::Evaluator`]: as `WeightsFile`, with `Search
//! action-value`, it is the paper's player without lookahead.

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

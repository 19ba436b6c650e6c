//! The regressors of paper 002 (section "Zero lookahead engines"): small networks that guess from a board how
//! likely its side to move is to win, and nothing else. [`samples`] takes boards and labels from our games,
//! [`features`] writes a board as numbers in the paper's ways, [`mlp`] is the network and its training, [`model`]
//! a trained one as a file and as an [`nn::Evaluator`]: named as `WeightsFile`, with `Search action-value`,
//! it is the paper's player without lookahead.

pub mod features;
pub mod mlp;
pub mod model;
pub mod samples;
pub mod study;

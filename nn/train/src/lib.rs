//! Training of the networks in `nn`. The laboratory uses it, the product does not.
//!
//! # Rooms
//! From the ground up; a room imports only rooms above it in this list.
//!
//! - [`data`]: labelled games and the stream of examples.
//! - [`metrics`] compares answers with labels; [`assess`] measures an evaluator on examples.
//! - [`network`] trains the large network: targets and losses, optimisers, the run.
//! - [`writer`] trains the decoder of the internal search.
//! - [`nnue`] trains the alpha-beta search's network.
#![forbid(unsafe_code)]

pub mod assess;
pub mod data;
pub mod metrics;
pub mod network;
pub mod nnue;
pub mod writer;

//! An efficiently updatable neural network (NNUE; Nasu 2018, "Efficiently updatable neural networks"): a small
//! value network for alpha-beta searches, which evaluate a million positions a second where the large network
//! evaluates a few thousand.
//!
//! ```text
//! 8 king buckets × 768 pieces on squares ── rows ──► [1024] of each side ── squared, clipped ──► [2048] ── output bucket ──► logit
//! ```
//! A side sees the board from its own edge, mirrored so that its king stands on the files a to d; the king
//! bucket selects the piece's row. `layout` defines the parameters, `features` the row of a piece on a square,
//! `quantised` computes in integers for play, `train` fits the parameters.

mod features;
pub mod gradient;
mod layout;
mod panel;
mod quantised;
pub mod run;
pub mod samples;
mod steps;
pub mod train;

pub use features::{Sample, sees_quiet};
pub use layout::Parameters;
pub use quantised::{Accumulators, Nnue};

/// King buckets.
const ZONES: usize = 8;
/// Pieces of both sides on every square, by king bucket.
const INPUTS: usize = ZONES * PLACES;
/// Pieces of both sides on every square.
const PLACES: usize = 2 * 6 * 64;
/// Hidden channels of each side.
const HIDDEN: usize = 1024;
/// Channels per training pass: the weights of one king bucket per side stay in L2, and threads share the
/// panels.
const PANEL: usize = 128;
const PANELS: usize = HIDDEN / PANEL;
/// Output buckets, by number of pieces.
const BUCKETS: usize = 8;

/// Output bucket of a board with `pieces` pieces.
fn bucket(pieces: usize) -> usize {
    pieces.saturating_sub(1).min(31) * BUCKETS / 32
}

//! An efficiently updatable neural network (NNUE; Nasu 2018, "Efficiently updatable neural networks"): a small
//! value network for alpha-beta searches, which evaluate a million positions a second where the large network
//! evaluates a few thousand.
//!
//! ```text
//! 8 king buckets × 768 pieces on squares ── rows ──► [1024] of each side ── squared, clipped ──► [2048] ── output bucket ──► logit
//! ```
//! A side sees the board from its own edge, mirrored so that its king stands on the files a to d; the king
//! bucket selects the piece's row. `layout` defines the parameters, `features` the row of a piece on a square,
//! `quantised` computes in integers for play. The crate `train` fits the parameters.

mod features;
mod layout;
mod quantised;

pub use features::View;
pub use layout::{Layout, Parameters};
pub use quantised::{Accumulators, Nnue};

/// King buckets.
const ZONES: usize = 8;
/// Pieces of both sides on every square, by king bucket.
pub const INPUTS: usize = ZONES * PLACES;
/// Pieces of both sides on every square.
pub const PLACES: usize = 2 * 6 * 64;
/// Hidden channels of each side.
pub const HIDDEN: usize = 1024;
/// Output buckets, by number of pieces.
pub const BUCKETS: usize = 8;

/// Output bucket of a board with `pieces` pieces.
#[must_use]
pub fn bucket(pieces: usize) -> usize {
    pieces.saturating_sub(1).min(31) * BUCKETS / 32
}

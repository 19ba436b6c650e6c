//! A small network that is updated from board to board instead of being computed anew (Nasu 2018, "Efficiently
//! updatable neural networks", as chess programs have them): what an alpha-beta search asks a million times a
//! second, where the large network answers a few thousand times. It knows values alone.
//!
//! ```text
//! 8 zones of the king × 768 pieces on squares ── rows ──► [1024] of each side ── squared, clipped ──► [2048] ── by pieces left ──► logit
//! ```
//! A side sees the board from its own edge, mirrored so that its king stands on the files a to d, and in which zone of these it stands decides
//! what a piece means. `layout` says which
//! parameters there are, `features` which row a piece on a square has, `quantised` computes in whole numbers for play,
//! `train` fits the parameters.

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

/// Parts of the board that a king may stand in.
const ZONES: usize = 8;
/// Pieces of both sides on every square, for each zone of the king that looks at them.
const INPUTS: usize = ZONES * PLACES;
/// Pieces of both sides on every square.
const PLACES: usize = 2 * 6 * 64;
/// Hidden channels of each side.
const HIDDEN: usize = 1024;
/// Channels that training goes through at a time: what they weigh where the kings stand in one zone each stays in the second-level
/// cache, and threads share the panels out.
const PANEL: usize = 128;
const PANELS: usize = HIDDEN / PANEL;
/// Last layers, by the number of pieces on the board.
const BUCKETS: usize = 8;

/// Which last layer judges a board with so many pieces.
fn bucket(pieces: usize) -> usize {
    pieces.saturating_sub(1).min(31) * BUCKETS / 32
}

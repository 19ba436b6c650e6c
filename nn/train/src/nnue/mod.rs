//! Training of the alpha-beta search's network ([`alphabeta::nnue`]): `sample` is a position in compact form, [`samples`] its
//! files, `steps` and `panel` compute many samples at once, [`gradient`] their error and its slope, [`train`] one step,
//! [`run`] a whole training.

pub mod gradient;
mod panel;
pub mod run;
mod sample;
pub mod samples;
mod steps;
pub mod train;

pub use sample::{Sample, sees_quiet};

use alphabeta::nnue::HIDDEN;

/// Channels per training pass: the weights of one king bucket per side stay in L2, and threads share the
/// panels.
const PANEL: usize = 128;
const PANELS: usize = HIDDEN / PANEL;

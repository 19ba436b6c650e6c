//! Learning Connect Four and Hex from nothing (paper 004): self-play, training, measurement against exact results.
//!
//! | file | about |
//! |---|---|
//! | `sample`, `losses`, `gradient` | batches of labelled positions; losses and gradient of the network |
//! | `twin` | the same in burn, the reference of the tests |
//! | `record` | games as lines of JSON |
//! | `selfplay` | games of the network against itself |
//! | `trainer` | optimiser, averaged weights, the state file |
//! | `exam` | positions with exact results |
//! | `learn` | generations: self-play, training, measurement |
//! | `progress` | the curve of a run |
//! | `measure` | a network against exact results |

mod error;
pub mod exam;
mod gradient;
pub mod learn;
mod losses;
pub mod measure;
mod progress;
mod record;
mod sample;
mod selfplay;
#[cfg(test)]
mod tests;
mod trainer;
#[cfg(test)]
mod twin;

pub use error::LearnError;

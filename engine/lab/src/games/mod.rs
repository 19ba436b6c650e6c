//! Learning Connect Four and Hex from nothing (paper 004): self-play, training, measurement against exact results.
//!
//! | file | about |
//! |---|---|
//! | `sample`, `losses`, `gradient` | batches of labelled positions; losses and gradient of the network |
//! | `twin` | the same in burn, the reference of the tests |
//! | `record` | games as lines of JSON |
//! | `cached` | opinions of a network, each asked for once |
//! | `selfplay` | games of the network against itself |
//! | `trainer` | optimiser, averaged weights, the state file |
//! | `exact`, `exam` | exact results; positions that have them |
//! | `teacher` | games of the solver, with exact labels |
//! | `settings` | the settings of a run |
//! | `learn` | generations: self-play, training, measurement |
//! | `progress`, `reference` | the curve of a run; its Elo |
//! | `team` | several players in one network that learn to differ (paper 003) |
//! | `learned` | the network as the rules of the search |
//! | `openings` | the values of all first moves, exact and by a search |
//! | `measure` | a network against exact results; games of two players |
//! | `league` | paper 000's columns: one network with and without search, and plain tree search |

pub mod cached;
mod error;
mod exact;
pub mod exam;
mod gradient;
pub mod league;
pub mod learn;
mod learned;
mod losses;
pub mod measure;
mod openings;
mod progress;
mod record;
mod reference;
mod sample;
mod selfplay;
pub mod settings;
mod teacher;
pub mod team;
#[cfg(test)]
mod tests;
mod trainer;
#[cfg(test)]
mod twin;

pub use error::LearnError;

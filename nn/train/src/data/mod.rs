//! Training data: readers of the two label formats and the stream of mixed, shuffled examples.
//!
//! `record` defines a game; `read` and `write` its bytes; `chunks` appends to a file; `relabelled` has a second label
//! for each position; `sample` draws positions
//! from a game; `build` turns one into an [`Example`] with the labels of `label`; `filter` excludes test suites
//! and duplicates; `mix` shuffles the examples of several files and replaces some by their `mirror` images;
//! `validation` has the held-out games; `random_positions` and `boards` generate positions that no file holds.

pub mod boards;
mod build;
pub mod chunks;
pub(crate) mod error;
pub(crate) mod example;
pub(crate) mod filter;
pub(crate) mod kinds;
pub mod label;
mod mirror;
pub mod mix;
mod random_positions;
pub(crate) mod read;
pub mod record;
pub mod relabelled;
pub(crate) mod sample;
#[cfg(test)]
pub(crate) mod testing;
pub mod validation;
pub mod write;

pub use error::DataError;
pub use example::{Example, Source, TeacherTargets, Terminal};
pub(crate) use filter::KeySet;
pub use filter::{exclude_from_files, position_key};
pub use kinds::Kinds;
pub(crate) use mix::spawn;
pub use mix::{MixConfig, MixSource, Mixer};
pub use read::FileReader;
pub use record::{Format, Game, GameResult};
pub use validation::{HeldOut, Labelled, ValidationSet, Variant};
pub use write::{FileWriter, GameWriter};

//! Training data: readers of the two label formats and the stream of mixed, shuffled examples.
//!
//! `record` reads whole games, `sample` draws positions from a game, `build` turns one into an
//! [`Example`], `mix` shuffles those of several files, `filter` keeps suites and repetitions out.

mod build;
pub mod error;
pub mod example;
pub mod filter;
pub mod label;
pub mod mix;
pub mod record;
pub mod rng;
pub mod sample;

pub use error::DataError;
pub use example::{Example, Source, Terminal};
pub use filter::{KeySet, exclude_from_files, position_key};
pub use mix::{MixConfig, MixSource, Mixer, spawn};
pub use sample::Kinds;

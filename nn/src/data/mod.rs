//! Training data: readers of the two label formats and the stream of mixed, shuffled examples.

pub mod example;

pub use example::{Example, Source, Terminal};

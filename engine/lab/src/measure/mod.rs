//! Measurements: puzzles, the network's accuracy and imagination, the internal search, options, the stream of training data. Each file returns or prints figures; none of them plays for a GUI.

pub(crate) mod accuracy;
pub(crate) mod data;
pub(crate) mod error;
pub(crate) mod imagination;
pub(crate) mod internal;
pub(crate) mod puzzles;
pub(crate) mod tune;

pub(crate) use error::MeasureError;

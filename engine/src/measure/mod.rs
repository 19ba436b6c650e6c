//! What measures: move counts, speeds, signatures, puzzles, the network's accuracy and imagination, the
//! stream of training data. Each file returns or prints figures; none of them plays for a GUI.

pub mod accuracy;
mod bars;
pub mod bench;
pub(crate) mod chart;
pub mod data;
pub mod error;
pub mod eval;
pub mod evalbench;
pub mod imagination;
pub mod loss_curve;
pub mod perft;
pub mod puzzles;
pub mod sight;
mod stages;
mod timing;
pub mod training;
pub mod treebench;
pub mod tune;

pub use error::{MeasureError, PlotError};

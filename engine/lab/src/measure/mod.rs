//! What measures: speeds, puzzles, the network's accuracy and imagination, the
//! stream of training data. Each file returns or prints figures; none of them plays for a GUI.

pub(crate) mod accuracy;
mod bars;
pub(crate) mod chart;
pub(crate) mod confusion;
pub(crate) mod data;
pub(crate) mod error;
pub(crate) mod evalbench;
pub(crate) mod imagination;
pub(crate) mod internal;
pub(crate) mod loss_curve;
pub(crate) mod puzzles;
mod stages;
pub(crate) mod svg;
mod timing;
pub(crate) mod training;
pub(crate) mod treebench;
pub(crate) mod tune;

pub(crate) use error::MeasureError;

//! Pictures of measurements, as SVG files.

mod bars;
pub(crate) mod boards;
mod chart;
mod error;
pub(crate) mod labels;
pub(crate) mod loss_curve;
pub(crate) mod style;
pub(crate) mod svg;

pub(crate) use bars::Bars;
pub(crate) use chart::{Curve, Picture};
pub(crate) use error::{FiguresError, PlotError};

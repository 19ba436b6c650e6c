//! Histogram of win probabilities as SVG, one line per source.

use super::counts::{BINS, ExampleCounts, SOURCES};
use crate::plots::PlotError;
use crate::plots::svg;
use plotters::prelude::*;
use std::path::Path;

/// Draws the picture.
///
/// # Errors
/// No win probability is known, or the file cannot be written.
pub fn draw(counts: &ExampleCounts, path: &Path) -> Result<(), PlotError> {
    let lines: Vec<_> = SOURCES
        .iter()
        .enumerate()
        .filter_map(|(source, name)| Some((source, *name, counts.shares(source)?)))
        .collect();
    let Some(highest) = lines.iter().flat_map(|(.., shares)| *shares).reduce(f64::max) else {
        return Err(PlotError::Empty("no win probability is known: nothing to plot"));
    };

    svg::write(path, (800, 500), |canvas| {
        let mut chart = ChartBuilder::on(canvas)
            .caption("Examples by win probability", ("sans-serif", 20))
            .margin(15)
            .x_label_area_size(40)
            .y_label_area_size(50)
            .build_cartesian_2d(0.0..1.0, 0.0..highest * 1.05)?;
        chart
            .configure_mesh()
            .x_desc("win probability of the side to move")
            .y_desc("share")
            .y_label_formatter(&|share| format!("{:.0} %", 100.0 * share))
            .draw()?;
        for (source, name, shares) in lines {
            let color = Palette99::pick(source).stroke_width(2);
            // Step curve: both edges of each bin at its height.
            let steps = shares.into_iter().enumerate().flat_map(|(bin, share)| {
                [bin, bin + 1].map(|edge| (edge as f64 / BINS as f64, share))
            });
            chart
                .draw_series(LineSeries::new(steps, color))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color));
        }
        chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
        Ok(())
    })
}

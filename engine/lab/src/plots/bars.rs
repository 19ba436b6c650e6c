//! Two bars for each stage, in microseconds a position, as an SVG.

use crate::plots::PlotError;
use crate::plots::style;
use crate::plots::svg::{self, Canvas, DrawError};
use plotters::prelude::*;
use std::path::Path;

/// A picture of bars.
pub(crate) struct Bars {
    pub title: String,
    /// Meaning of the first and the second bar of a row.
    pub labels: [&'static str; 2],
    /// From top to bottom: a name and two times in seconds.
    pub rows: Vec<(String, [f64; 2])>,
}

impl Bars {
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn draw(&self, path: &Path) -> Result<(), PlotError> {
        svg::write(path, (800, 500), |canvas| self.paint(canvas))
    }

    fn paint(&self, canvas: &Canvas<'_>) -> Result<(), DrawError> {
        let count = self.rows.len();
        let most = self.rows.iter().flat_map(|(_, pair)| *pair).fold(1e-6, f64::max);
        let mut chart = style::chart(canvas, &self.title, 150)
            .build_cartesian_2d(0.0..1e6 * most * 1.05, (0..count).into_segmented())?;
        let name = |place: &SegmentValue<usize>| match place {
            SegmentValue::CenterOf(i) if *i < count => self.rows[count - 1 - i].0.clone(),
            _ => String::new(),
        };
        let mut mesh = chart.configure_mesh();
        style::mesh(&mut mesh);
        mesh.disable_y_mesh()
            .x_desc("microseconds a position")
            .y_labels(count)
            .y_label_formatter(&name)
            .draw()?;
        for (number, (top, bottom)) in [(3, 17), (17, 3)].into_iter().enumerate() {
            let style = style::series(number).filled();
            let bars = self.rows.iter().rev().enumerate().map(|(i, (_, pair))| {
                let ends = [
                    (0.0, SegmentValue::Exact(i)),
                    (1e6 * pair[number], SegmentValue::Exact(i + 1)),
                ];
                let mut bar = Rectangle::new(ends, style);
                bar.set_margin(top, bottom, 0, 0);
                bar
            });
            chart
                .draw_series(bars)?
                .label(self.labels[number])
                .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 14, y + 4)], style));
        }
        style::legend(&mut chart, SeriesLabelPosition::LowerRight)
    }
}

//! Reliability diagram: predicted win probability against the observed mean. Left against the labels' win
//! probabilities, right against game results.

use crate::plots::PlotError;
use crate::plots::style;
use crate::plots::svg::{self, Canvas, DrawError};
use plotters::prelude::*;
use std::path::Path;
use train::metrics::{Calibration, Metrics};

/// Minimum predictions per point.
const MIN_PREDICTIONS: u64 = 10;

/// A named line.
struct AccuracyCurve<'a> {
    name: &'a str,
    points: Vec<(f64, f64)>,
}

/// Draws the named sets.
///
/// # Errors
/// Nothing to draw, or the file cannot be written.
pub(super) fn draw(sets: &[(String, Metrics)], path: &Path) -> Result<(), PlotError> {
    let value = curves(sets, |metrics| &metrics.value_calibration);
    let result = curves(sets, |metrics| &metrics.result_calibration);
    if value.is_empty() && result.is_empty() {
        return Err(PlotError::Empty("too few predictions to plot"));
    }
    svg::write(path, (1200, 620), |canvas| {
        let (left, right) = canvas.split_horizontally(600);
        panel(&left, "predicted and labelled win probability", "labelled", &value)?;
        panel(&right, "predicted win probability and result", "result", &result)?;
        Ok(())
    })
}

fn curves(sets: &[(String, Metrics)], of: fn(&Metrics) -> &Calibration) -> Vec<AccuracyCurve<'_>> {
    let all =
        sets.iter().map(|(name, metrics)| AccuracyCurve { name, points: points(of(metrics)) });
    all.filter(|curve| !curve.points.is_empty()).collect()
}

fn points(calibration: &Calibration) -> Vec<(f64, f64)> {
    let reliable =
        calibration.bins.iter().filter(|(predicted, _)| predicted.count() >= MIN_PREDICTIONS);
    reliable.filter_map(|(predicted, came)| Some((predicted.get()?, came.get()?))).collect()
}

fn panel(
    area: &Canvas<'_>,
    title: &str,
    outcome: &str,
    curves: &[AccuracyCurve<'_>],
) -> Result<(), DrawError> {
    let mut chart = style::chart(area, title, 60).build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
    let mut mesh = chart.configure_mesh();
    style::mesh(&mut mesh);
    mesh.x_desc("predicted").y_desc(outcome).draw()?;
    chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], style::SOFT.mix(0.5)))?;
    for (number, AccuracyCurve { name, points }) in curves.iter().enumerate() {
        let colour = style::series(number);
        let line = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(points.iter().copied(), line))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], line));
        chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
    }
    style::legend(&mut chart, SeriesLabelPosition::UpperLeft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_holds_a_line_for_each_set() {
        let path = std::env::temp_dir().join(format!("mavka-reliable-{}.svg", std::process::id()));
        let mut metrics = Metrics::default();
        assert!(draw(&[("empty".to_owned(), metrics)], &path).is_err());
        assert!(!path.exists());
        for _ in 0..MIN_PREDICTIONS {
            metrics.value_calibration.add(0.25, 0.5);
        }
        metrics.value_calibration.add(0.75, 0.5);
        assert_eq!(points(&metrics.value_calibration), [(0.25, 0.5)], "one is too few");
        draw(&[("games & lines".to_owned(), metrics)], &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let _ = std::fs::remove_file(&path);
        assert!(text.contains("<svg") && text.contains("games &amp; lines"), "{text}");
        assert!(text.contains("predicted") && text.contains("<circle"));
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error() {
        let mut metrics = Metrics::default();
        (0..MIN_PREDICTIONS).for_each(|_| metrics.value_calibration.add(0.5, 0.5));
        let path = std::env::temp_dir().join("mavka-no-such-folder").join("plot.svg");
        assert!(draw(&[(String::new(), metrics)], &path).is_err());
    }
}

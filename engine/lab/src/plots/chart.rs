//! A picture of curves over a common axis, as SVG: what the benchmarks have to show.

use super::labels::ticks;
use crate::plots::PlotError;
use crate::plots::style;
use crate::plots::svg;
use plotters::prelude::*;
use std::path::Path;

/// One line with a mark at each of its points (x, y).
pub(crate) struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Curves with words on their axes; y begins at 0.
pub(crate) struct Picture {
    pub title: String,
    pub x: String,
    pub y: String,
    pub curves: Vec<Curve>,
}

impl Picture {
    /// Writes the picture.
    ///
    /// # Errors
    /// There is no finite point, or the file cannot be written.
    pub fn draw(&self, path: &Path) -> Result<(), PlotError> {
        let points = || self.curves.iter().flat_map(|curve| curve.points.iter().copied());
        let most = |of: fn((f64, f64)) -> f64| {
            points().map(of).filter(|x| x.is_finite()).reduce(f64::max).filter(|most| *most > 0.0)
        };
        let (Some(right), Some(top)) = (most(|point| point.0), most(|point| point.1)) else {
            return Err(PlotError::Empty("nothing was measured: there is nothing to plot"));
        };

        svg::write(path, (800, 500), |canvas| {
            let mut chart = style::chart(canvas, &self.title, 70)
                .build_cartesian_2d(0.0..right * 1.03, 0.0..top * 1.1)?;
            let mut mesh = chart.configure_mesh();
            style::mesh(&mut mesh);
            mesh.x_label_formatter(&|x| ticks(*x, right))
                .y_label_formatter(&|y| ticks(*y, top))
                .x_desc(&self.x)
                .y_desc(&self.y)
                .draw()?;
            for (number, curve) in self.curves.iter().enumerate() {
                let color = style::series(number);
                let line = color.stroke_width(2);
                chart
                    .draw_series(LineSeries::new(curve.points.iter().copied(), line).point_size(3))?
                    .label(&curve.name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], line));
            }
            let place = self.freest(right * 1.03, top * 1.1);
            style::legend(&mut chart, place)
        })
    }

    /// Where the names of the curves hide the fewest points of a chart up to `right` and `top`.
    fn freest(&self, right: f64, top: f64) -> SeriesLabelPosition {
        let letters = self.curves.iter().map(|curve| curve.name.chars().count()).max();
        let (wide, high) =
            (0.08 + 0.011 * letters.unwrap_or(0) as f64, 0.06 * self.curves.len() as f64);
        let corners = [
            (SeriesLabelPosition::LowerRight, 1.0 - wide, 0.0),
            (SeriesLabelPosition::UpperRight, 1.0 - wide, 1.0 - high),
            (SeriesLabelPosition::MiddleRight, 1.0 - wide, 0.5 - high / 2.0),
            (SeriesLabelPosition::UpperLeft, 0.0, 1.0 - high),
            (SeriesLabelPosition::LowerLeft, 0.0, 0.0),
        ];
        let hidden = |left: f64, foot: f64| {
            let points = self.curves.iter().flat_map(|curve| &curve.points);
            let is_under = |(x, y): &&(f64, f64)| {
                (left..=left + wide).contains(&(x / right))
                    && (foot..=foot + high).contains(&(y / top))
            };
            points.filter(is_under).count()
        };
        let freest = corners.into_iter().min_by_key(|(_, left, foot)| hidden(*left, *foot));
        freest.map_or(SeriesLabelPosition::LowerRight, |(place, ..)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(points: &[(f64, f64)]) -> Picture {
        let curve = Curve { name: "one & only".to_owned(), points: points.to_vec() };
        Picture { title: "t".into(), x: "across".into(), y: "up".into(), curves: vec![curve] }
    }

    #[test]
    fn names_stand_where_no_curve_is() {
        let place = |points: &[(f64, f64)]| format!("{:?}", picture(points).freest(1.0, 1.0));
        assert_eq!(place(&[(0.1, 0.1), (0.95, 0.95)]), "LowerRight");
        assert_eq!(place(&[(0.95, 0.02)]), "UpperRight");
        assert_eq!(place(&[(0.95, 0.02), (0.95, 0.98)]), "MiddleRight");
    }

    #[test]
    fn curves_are_drawn_and_nothing_is_an_error() {
        let name = format!("mavka-curves-{}.svg", std::process::id());
        let path = std::env::temp_dir().join(name);
        assert!(picture(&[]).draw(&path).is_err() && !path.exists());
        assert!(picture(&[(1.0, f64::NAN)]).draw(&path).is_err() && !path.exists());
        picture(&[(1.0, 2.0), (2.0, 3.0)]).draw(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let _ = std::fs::remove_file(&path);
        assert!(text.contains("across") && text.contains("up") && text.contains("one &amp; only"));
    }
}

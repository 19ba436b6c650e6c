//! Plot of solved puzzles against rating as SVG, one point per band.

use super::score::{BAND, Group, Score};
use crate::plots::PlotError;
use crate::plots::style;
use crate::plots::svg;
use plotters::prelude::*;
use std::path::Path;

/// Writes the picture.
///
/// # Errors
/// The puzzles are not rated, or the file cannot be written.
pub fn draw(score: &Score, title: &str, path: &Path) -> Result<(), PlotError> {
    let points = points(score);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Err(PlotError::Empty("only rated puzzles can be plotted"));
    };
    let range = first.rating.saturating_sub(BAND)..last.rating + BAND;

    svg::write(path, (800, 500), |canvas| {
        let mut chart = style::chart(canvas, title, 60).build_cartesian_2d(range, 0.0..1.0)?;
        let mut mesh = chart.configure_mesh();
        style::mesh(&mut mesh);
        mesh.x_desc("rating")
            .y_desc("solved")
            .y_label_formatter(&|share| format!("{:.0} %", 100.0 * share))
            .draw()?;
        let colour = style::series(0);
        let line = points.iter().map(|point| (point.rating, point.share));
        chart.draw_series(LineSeries::new(line, &colour))?;
        chart.draw_series(
            points.iter().map(|point| Circle::new((point.rating, point.share), 4, colour.filled())),
        )?;
        let bars = points.iter().map(|point| {
            PathElement::new(
                [(point.rating, point.low), (point.rating, point.high)],
                colour.stroke_width(1),
            )
        });
        chart.draw_series(bars)?;
        Ok(())
    })
}

struct RatingBand {
    /// Centre of the band.
    rating: u32,
    share: f64,
    low: f64,
    high: f64,
}

fn points(score: &Score) -> Vec<RatingBand> {
    let rated = score.groups.iter().filter_map(|(group, count)| match group {
        Group::Band(low) => Some((low + BAND / 2, count)),
        Group::Mate(_) | Group::Theme(_) => None,
    });
    rated
        .map(|(rating, count)| {
            let (low, high) = count.interval();
            RatingBand { rating, share: count.share(), low, high }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::score::Count;
    use super::*;

    #[test]
    fn unrated_puzzles_have_no_picture() {
        let path = Path::new("never-written.svg");
        assert!(draw(&Score::default(), "nothing", path).is_err());
        assert!(!path.exists());
    }

    #[test]
    fn one_point_a_band() {
        let mut score = Score::default();
        let count = Count { tried: 10, solved: 8, first: 9, points: 8.0 };
        score.groups.insert(Group::Band(1000), count);
        score.groups.insert(Group::Theme("x".to_owned()), count);
        let points = points(&score);
        assert_eq!(points.len(), 1);
        assert_eq!((points[0].rating, points[0].share), (1100, 0.8));
        let path = std::env::temp_dir().join(format!("mavka-plot-{}.svg", std::process::id()));
        draw(&score, "a & b", &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let _ = std::fs::remove_file(&path);
        assert!(text.contains("<svg") && text.contains("rating"));
    }
}

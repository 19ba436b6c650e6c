//! Every contestant's difference from player 0 alone, with its interval, as SVG.

use super::tally::{Contestant, Estimate, TeamTally, contestants};
use super::task::ContestantResult;
use crate::plots::PlotError;
use crate::plots::labels::percent;
use crate::plots::svg;
use plotters::prelude::*;
use std::path::Path;

/// Colours of the budgets.
const COLOURS: [RGBColor; 2] = [BLUE, RED];

/// Draws the picture.
///
/// # Errors
/// There is no puzzle, or the file cannot be written.
pub fn draw(tally: &TeamTally, title: &str, path: &Path) -> Result<(), PlotError> {
    if tally.puzzles.is_empty() {
        return Err(PlotError::Empty("nothing was tried: nothing to plot"));
    }
    let rows: Vec<(Contestant, Estimate)> = contestants(tally.players)
        .into_iter()
        .enumerate()
        .skip(1)
        .map(|(at, contestant)| (contestant, tally.difference(at, ContestantResult::solved)))
        .collect();
    let per_budget = rows.len() / COLOURS.len();
    let most = rows.iter().map(|(_, e)| e.high.abs().max(e.low.abs())).fold(0.01, f64::max) * 1.1;
    svg::write(path, (800, 500), |canvas| {
        let mut chart = ChartBuilder::on(canvas)
            .caption(title, ("sans-serif", 20))
            .margin(15)
            .x_label_area_size(40)
            .y_label_area_size(80)
            .build_cartesian_2d(-most..most, -0.5..per_budget as f64 - 0.5)?;
        let name = |place: &f64| {
            let at = per_budget as f64 - 1.0 - place;
            let row = rows.get(at.round() as usize).filter(|_| (at - at.round()).abs() < 1e-6);
            row.map(|(contestant, _)| contestant.name.clone()).unwrap_or_default()
        };
        chart
            .configure_mesh()
            .disable_y_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc("solved, less player 0 alone with all playouts (points)")
            .x_label_formatter(&|share| percent(*share, 2.0 * most))
            .y_labels(2 * per_budget)
            .y_label_formatter(&name)
            .draw()?;
        chart.draw_series([PathElement::new([(0.0, -0.5), (0.0, per_budget as f64)], BLACK)])?;
        for (budget, colour) in COLOURS.into_iter().enumerate() {
            let points = rows.iter().filter(|(row, _)| row.budget == Some(budget)).enumerate();
            let height = |at: usize| (per_budget - 1 - at) as f64 + 0.15 - 0.3 * budget as f64;
            let points: Vec<(f64, Estimate)> =
                points.map(|(at, (_, e))| (height(at), *e)).collect();
            chart
                .draw_series(
                    points.iter().map(|(y, e)| Circle::new((e.mean, *y), 4, colour.filled())),
                )?
                .label(["the playouts shared", "all playouts each"][budget])
                .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
            chart.draw_series(points.iter().map(|(y, e)| {
                PathElement::new([(e.low, *y), (e.high, *y)], colour.stroke_width(2))
            }))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()?;
        Ok(())
    })
}

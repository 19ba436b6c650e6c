//! Every contestant's difference from player 0 alone, with its interval, as SVG.

use super::tally::{Contestant, Estimate, TeamTally, contestants};
use super::task::ContestantResult;
use crate::plots::PlotError;
use crate::plots::labels::percent;
use crate::plots::style;
use crate::plots::svg;
use plotters::prelude::*;
use std::path::Path;

/// The budgets.
const BUDGETS: [&str; 2] = ["the playouts shared", "all playouts each"];

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
    let per_budget = rows.len() / BUDGETS.len();
    let most = rows.iter().map(|(_, e)| e.high.abs().max(e.low.abs())).fold(0.01, f64::max) * 1.1;
    svg::write(path, (800, 500), |canvas| {
        let mut chart = style::chart(canvas, title, 90)
            .build_cartesian_2d(-most..most, -0.5..per_budget as f64 - 0.5)?;
        let name = |place: &f64| {
            let at = per_budget as f64 - 1.0 - place;
            let row = rows.get(at.round() as usize).filter(|_| (at - at.round()).abs() < 1e-6);
            row.map(|(contestant, _)| contestant.name.clone()).unwrap_or_default()
        };
        let mut mesh = chart.configure_mesh();
        style::mesh(&mut mesh);
        mesh.disable_y_mesh()
            .x_desc("solved, less player 0 alone with all playouts (points)")
            .x_label_formatter(&|share| percent(*share, 2.0 * most))
            .y_labels(2 * per_budget)
            .y_label_formatter(&name)
            .draw()?;
        chart.draw_series([PathElement::new(
            [(0.0, -0.5), (0.0, per_budget as f64)],
            style::SOFT,
        )])?;
        for (budget, name) in BUDGETS.into_iter().enumerate() {
            let colour = style::series(budget);
            let points = rows.iter().filter(|(row, _)| row.budget == Some(budget)).enumerate();
            let height = |at: usize| (per_budget - 1 - at) as f64 + 0.15 - 0.3 * budget as f64;
            let points: Vec<(f64, Estimate)> =
                points.map(|(at, (_, e))| (height(at), *e)).collect();
            chart
                .draw_series(
                    points.iter().map(|(y, e)| Circle::new((e.mean, *y), 4, colour.filled())),
                )?
                .label(name)
                .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
            chart.draw_series(points.iter().map(|(y, e)| {
                PathElement::new([(e.low, *y), (e.high, *y)], colour.stroke_width(2))
            }))?;
        }
        style::legend(&mut chart, SeriesLabelPosition::LowerRight)
    })
}

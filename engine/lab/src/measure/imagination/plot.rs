//! Plot of accuracy by number of predicted plies, along games and inside searches.

use super::counts::{Counts, Depth, RightShare};
use crate::plots::PlotError;
use crate::plots::labels::{percent, ticks};
use crate::plots::style;
use crate::plots::svg::{self, Canvas, DrawError};
use plotters::prelude::*;
use std::path::Path;

/// Width of the names beside the charts, in pixels.
const LEGEND: u32 = 280;
/// Depths with fewer states say nothing.
const FEWEST: u64 = 10;

/// The share of a depth that is drawn.
type DepthShare = fn(&Depth) -> RightShare;

/// Writes the picture: a panel for states, one for legal moves, one for ends of the game.
///
/// # Errors
/// There is nothing to draw, or the file cannot be written.
pub(super) fn draw(curves: &[(String, Counts)], path: &Path) -> Result<(), PlotError> {
    let panels: [(&str, DepthShare); 3] = [
        ("state exactly right", |depth| depth.state),
        ("legal moves exactly right", |depth| depth.legal),
        ("end of the game right", |depth| depth.end),
    ];
    let points = |counts: &Counts, of: DepthShare| -> Vec<(f64, f64)> {
        let rows = counts.depths.iter().enumerate();
        rows.filter(|(_, depth)| of(depth).of >= FEWEST)
            .filter_map(|(at, depth)| Some(((at + 1) as f64, of(depth).get()?)))
            .collect()
    };
    let deepest = curves.iter().map(|(_, counts)| counts.depth()).max().unwrap_or(0) as f64;
    let all: Vec<_> = panels
        .iter()
        .map(|(title, of)| {
            let lines = curves.iter().map(|(_, counts)| points(counts, *of));
            (*title, lines.collect::<Vec<_>>())
        })
        .collect();
    if all.iter().all(|(_, lines)| lines.iter().all(Vec::is_empty)) {
        return Err(PlotError::Empty("too few states to plot"));
    }
    svg::write(path, (1500 + LEGEND, 500), |canvas| {
        let (charts, names) = canvas.split_horizontally(1500);
        for (place, (title, lines)) in charts.split_evenly((1, 3)).iter().zip(&all) {
            panel(place, title, deepest, lines)?;
        }
        for (number, (name, _)) in curves.iter().enumerate() {
            let height = 60 + 24 * i32::try_from(number).unwrap_or(0);
            names.draw(&PathElement::new([(0, height), (20, height)], line(number)))?;
            names.draw(&Text::new(name.as_str(), (28, height - 6), style::font(16, style::INK)))?;
        }
        Ok(())
    })
}

fn panel(
    area: &Canvas<'_>,
    title: &str,
    deepest: f64,
    lines: &[Vec<(f64, f64)>],
) -> Result<(), DrawError> {
    let points = lines.iter().flatten();
    let lowest = points.map(|(_, share)| *share).fold(1.0, f64::min);
    let bottom = lowest - 0.05 * (1.01 - lowest);
    let mut chart =
        style::chart(area, title, 70).build_cartesian_2d(0.5..deepest + 0.5, bottom..1.0)?;
    // A short axis has ticks between the plies.
    let whole =
        |ply: f64| if ply.fract().abs() < 1e-6 { ticks(ply, deepest) } else { String::new() };
    let mut mesh = chart.configure_mesh();
    style::mesh(&mut mesh);
    mesh.x_desc("imagined plies")
        .x_label_formatter(&|ply| whole(*ply))
        .y_label_formatter(&|share| percent(*share, 1.0 - bottom))
        .draw()?;
    for (number, points) in lines.iter().enumerate() {
        let line = line(number);
        chart.draw_series(LineSeries::new(points.iter().copied(), line))?;
        let dots = points.iter().map(|&point| Circle::new(point, 3, line.color.filled()));
        chart.draw_series(dots)?;
    }
    Ok(())
}

/// Colour and width of a curve.
fn line(number: usize) -> ShapeStyle {
    style::series(number).stroke_width(2)
}

//! The boards of a team's players as a picture: which cells each of them has more often than the team's mean, and which less (the
//! occupancy maps of paper 003).

use super::occupancy::Standing;
use crate::plots::PlotError;
use crate::plots::svg;
use plotters::prelude::*;
use std::path::Path;

/// Pixels of a cell, of the space around a board, and of its title.
const CELL: usize = 26;
const SPACE: usize = 20;
const TITLE: usize = 44;
/// Mean difference from the team, in discs a cell, that has the full colour.
const FULL: f64 = 0.1;

/// Draws one board a player, of `columns` columns.
///
/// # Errors
/// The file cannot be written.
pub fn draw(standings: &[Standing], columns: usize, path: &Path) -> Result<(), PlotError> {
    let cells = standings.first().map_or(0, |standing| standing.occupancy.len() / 2);
    let rows = cells.div_ceil(columns.max(1));
    let width = standings.len() * (columns * CELL + SPACE) + SPACE;
    let height = TITLE + rows * CELL + SPACE;
    let mean = |cell: usize| {
        standings.iter().map(|standing| standing.occupancy[cell]).sum::<f64>()
            / standings.len() as f64
    };
    let pixel = |x: usize, y: usize| (x as i32, y as i32);
    svg::write(path, (width as u32, height as u32), |canvas| {
        for (player, standing) in standings.iter().enumerate() {
            let left = SPACE + player * (columns * CELL + SPACE);
            let title =
                format!("player {player}: {:.2} from {}", standing.distance, standing.nearest);
            let style = ("sans-serif", 15).into_font().color(&BLACK);
            canvas.draw(&Text::new(title, pixel(left, TITLE / 3), style))?;
            for cell in 0..cells {
                let share = ((standing.occupancy[cell] - mean(cell)) / FULL).clamp(-1.0, 1.0);
                let colour = if share > 0.0 { RED } else { BLUE };
                let (x, y) = (left + cell % columns * CELL, TITLE + cell / columns * CELL);
                let corners = [pixel(x, y), pixel(x + CELL, y + CELL)];
                canvas.draw(&Rectangle::new(corners, colour.mix(share.abs()).filled()))?;
                canvas.draw(&Rectangle::new(corners, BLACK.mix(0.3)))?;
            }
        }
        Ok(())
    })
}

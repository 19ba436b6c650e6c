//! Boards side by side, each with a title: what is more or less on a cell than on those of the others (the occupancy maps of paper 003).

use super::PlotError;
use super::labels::ticks;
use super::style;
use super::svg;
use plotters::prelude::*;
use std::path::Path;

/// Pixels of a cell, of the space around a board, of its title, and of the words below all.
const CELL: usize = 26;
const SPACE: usize = 20;
const TITLE: usize = 44;
const WORDS: usize = 24;

/// One board.
pub struct Board {
    /// Above it.
    pub title: String,
    /// A number for each cell, row by row from the top.
    pub cells: Vec<f64>,
}

/// Draws boards of `columns` columns by their differences from the mean board; a difference of `full` has the full colour, red for more,
/// blue for less.
///
/// # Errors
/// The file cannot be written.
pub fn draw(boards: &[Board], columns: usize, full: f64, path: &Path) -> Result<(), PlotError> {
    let cells = boards.first().map_or(0, |board| board.cells.len());
    let columns = columns.max(1);
    let width = boards.len() * (columns * CELL + SPACE) + SPACE;
    let height = TITLE + cells.div_ceil(columns) * CELL + SPACE + WORDS;
    let mean = |cell: usize| {
        boards.iter().map(|board| board.cells[cell]).sum::<f64>() / boards.len() as f64
    };
    let pixel = |x: usize, y: usize| (x as i32, y as i32);
    svg::write(path, (width as u32, height as u32), |canvas| {
        for (number, board) in boards.iter().enumerate() {
            let left = SPACE + number * (columns * CELL + SPACE);
            canvas.draw(&Text::new(
                board.title.clone(),
                pixel(left, TITLE / 3),
                style::font(16, style::INK),
            ))?;
            for (cell, value) in board.cells.iter().enumerate() {
                let share = ((value - mean(cell)) / full).clamp(-1.0, 1.0);
                let colour = if share > 0.0 { style::MORE } else { style::LESS };
                let (x, y) = (left + cell % columns * CELL, TITLE + cell / columns * CELL);
                let corners = [pixel(x, y), pixel(x + CELL, y + CELL)];
                canvas.draw(&Rectangle::new(corners, colour.mix(share.abs()).filled()))?;
                canvas.draw(&Rectangle::new(corners, style::SOFT.mix(0.4)))?;
            }
        }
        let words = format!(
            "Red: more than the mean of the boards, blue: less. Full colour at a difference of {}.",
            ticks(full, full)
        );
        let below = pixel(SPACE, height - WORDS);
        canvas.draw(&Text::new(words, below, style::font(15, style::SOFT)))
    })
}

//! The boards of a team's players as a picture: which cells each of them has more often than the team's mean, and which less.

use super::occupancy::OccupancyStanding;
use crate::plots::PlotError;
use crate::plots::boards::{self, Board};
use std::path::Path;

/// Mean difference from the team, in discs a cell, that has the full colour.
const FULL: f64 = 0.1;

/// Draws one board a player, of `columns` columns.
///
/// # Errors
/// The file cannot be written.
pub fn draw(standings: &[OccupancyStanding], columns: usize, path: &Path) -> Result<(), PlotError> {
    let board = |(player, standing): (usize, &OccupancyStanding)| Board {
        title: format!(
            "player {player}: distance {:.2} from {}",
            standing.distance, standing.nearest
        ),
        cells: standing.occupancy[..standing.occupancy.len() / 2].to_vec(),
    };
    let boards: Vec<Board> = standings.iter().enumerate().map(board).collect();
    boards::draw(&boards, columns, FULL, path)
}

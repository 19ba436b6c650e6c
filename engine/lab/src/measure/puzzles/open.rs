//! Puzzles of a file for a measurement.

use super::read::Skipped;
use super::{Puzzle, read, spread};
use crate::measure::MeasureError;
use engine::files::read_whole_text;
use std::path::Path;

/// At most `limit` puzzles of a file, evenly spaced. Reports invalid lines.
pub(crate) fn open(file: &Path, limit: Option<usize>) -> Result<Vec<Puzzle>, MeasureError> {
    let text = read_whole_text(file)?;
    let mut collection = read(&text);
    for Skipped { line, why } in collection.skipped.iter().take(5) {
        eprintln!("{}, line {line}, is no puzzle: {why}", file.display());
    }
    if collection.skipped.len() > 5 {
        eprintln!("… and {} more", collection.skipped.len() - 5);
    }
    if let Some(limit) = limit {
        collection.puzzles = spread(collection.puzzles, limit);
    }
    if collection.puzzles.is_empty() {
        return Err(MeasureError::Refused(format!("{}: no puzzles", file.display())));
    }
    Ok(collection.puzzles)
}

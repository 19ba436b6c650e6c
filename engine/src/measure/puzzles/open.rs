//! The puzzles of a file that a measurement tries, and the bar that shows how far it is.

use super::read::Skipped;
use super::{Puzzle, read, spread};
use crate::measure::MeasureError;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs;
use std::path::Path;

/// At most `limit` of the puzzles of a file, spread evenly over it. Tells what it cannot read.
pub(crate) fn open(file: &Path, limit: Option<usize>) -> Result<Vec<Puzzle>, MeasureError> {
    let text = fs::read_to_string(file).map_err(MeasureError::of_file(file))?;
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

/// A bar on stderr.
pub(crate) fn progress(things: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(things as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} [{elapsed}, {eta} left]");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

//! Puzzles of a file for a measurement.

use super::read::Skipped;
use super::{Puzzle, Solution, read};
use crate::measure::MeasureError;
use crate::spread::spread;
use engine::pgn::text::read_decoded;
use engine::process::stderr_log::write_stderr;
use std::path::Path;

/// At most `limit` puzzles of a file, evenly spaced; the file may be compressed, and in UTF-8, UTF-16 or Latin-1. Reports
/// invalid lines.
pub(crate) fn open(file: &Path, limit: Option<usize>) -> Result<Vec<Puzzle>, MeasureError> {
    let mut collection = read(&read_decoded(file)?);
    let fault = |Skipped { line, why }: &Skipped| {
        format!("{}, line {line}, is no puzzle: {why}", file.display())
    };
    let more =
        |count: usize| if count > 0 { format!(" (… and {count} more)") } else { String::new() };
    if collection.puzzles.is_empty() {
        let others = more(collection.skipped.len().saturating_sub(1));
        return Err(MeasureError::Refused(match collection.skipped.first() {
            Some(first) => format!("{}{others}", fault(first)),
            None => format!("{}: no puzzles", file.display()),
        }));
    }
    collection.skipped.iter().take(5).for_each(|skipped| write_stderr(fault(skipped)));
    if collection.skipped.len() > 5 {
        write_stderr(format_args!("{}", more(collection.skipped.len() - 5).trim()));
    }
    if let Some(limit) = limit {
        collection.puzzles = spread(collection.puzzles, limit);
    }
    Ok(collection.puzzles)
}

/// The same without puzzles that ask for a value: for solvers that only choose a move.
pub(crate) fn open_with_moves(
    file: &Path,
    limit: Option<usize>,
) -> Result<Vec<Puzzle>, MeasureError> {
    let mut puzzles = open(file, None)?;
    puzzles.retain(|puzzle| !matches!(puzzle.task, Solution::Value(_)));
    if puzzles.is_empty() {
        let why = "no puzzle asks for a move; `mavka-lab puzzles` judges values";
        return Err(MeasureError::Refused(format!("{}: {why}", file.display())));
    }
    Ok(match limit {
        Some(limit) => spread(puzzles, limit),
        None => puzzles,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_read_in_any_encoding_and_its_faults_are_one_line() {
        let folder = std::env::temp_dir().join(format!("mavka-puzzles-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |bytes: &[u8]| {
            let path = folder.join("file");
            fs::write(&path, bytes).unwrap();
            open(&path, None)
        };
        let csv = "PuzzleId,FEN,Moves\n1,4k3/8/8/8/8/8/8/R3K3 b Q - 0 1,e8e7 a1a7\n";
        let marked = write(format!("\u{feff}{csv}").as_bytes()).unwrap();
        assert_eq!((marked.len(), marked[0].id.as_str()), (1, "1"));
        assert_eq!(marked[0].game.actions().len(), 1, "the opponent has moved");
        let latin = b"4k3/8/8/8/8/8/8/R3K3 w Q - bm Ra8+; id \"K\xf6nig.1\";\n";
        assert_eq!(write(latin).unwrap()[0].id, "K\u{f6}nig.1");
        for (bytes, fault) in [
            (&b"FEN;Rating\n"[..], "file, line 1, is no puzzle: no column `moves` in `FEN,Rating`"),
            (b"4k3/8 w bm x\n", "file, line 1, is no puzzle: `4k3/8 w bm x` is not a FEN"),
            (b"\nx\ny\nz\n", "(… and 2 more)"),
            (b"# none\n", "file: no puzzles"),
        ] {
            let why = write(bytes).unwrap_err().to_string();
            assert!(why.contains(fault) && why.lines().count() == 1, "{why}");
        }
        let value = b"4k3/8/8/8/8/8/8/R3K3 w Q - c0 \"win for the side to move\";\n";
        assert_eq!(write(value).unwrap().len(), 1);
        let why = open_with_moves(&folder.join("file"), None).unwrap_err().to_string();
        assert!(why.contains("no puzzle asks for a move"), "{why}");
        fs::remove_dir_all(&folder).unwrap();
    }

    /// lichess.org packs its files by pzstd, which begins them with a skippable frame.
    #[test]
    fn a_file_of_lichess_is_read_as_it_is_published_and_as_far_as_it_goes() {
        let path = std::env::temp_dir().join(format!("mavka-pzstd-{}.zst", std::process::id()));
        let row = "00sHx,q3k1nr/1pp1nQpp/3p4/1P2p3/4P3/B1PP1b2/B5PP/5K2 b k - 0 17,e8d7 a2e6 d7d8 f7f8,1760,80\n";
        let csv = format!("PuzzleId,FEN,Moves,Rating,RatingDeviation\n{}", row.repeat(3));
        let frame = [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0][..], &[1, 0, 0, 0]].concat();
        let packed = [frame, zstd::encode_all(csv.as_bytes(), 1).unwrap()].concat();
        fs::write(&path, &packed).unwrap();
        assert_eq!(open(&path, None).unwrap().len(), 3);
        // Cut within the last row, whose moves must not be taken for a shorter solution.
        let cut = csv.trim_end().len() - 15;
        let half = zstd::encode_all(&csv.as_bytes()[..cut], 1).unwrap();
        fs::write(&path, [&half[..], b"\x50\x2a\x4d\x18"].concat()).unwrap();
        assert_eq!(open(&path, None).unwrap().len(), 2);
        fs::write(&path, b"<!DOCTYPE html>\n").unwrap();
        let why = open(&path, None).unwrap_err().to_string();
        fs::remove_file(&path).unwrap();
        assert!(why.contains("HTML") && why.contains("expected a text"), "{why}");
    }
}

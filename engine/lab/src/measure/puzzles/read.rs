//! Parses a file of puzzles: a CSV ([`super::table`]) or a test suite in EPD ([`super::suite`]). Invalid lines are reported
//! with their error.

use super::Puzzle;
use super::error::PuzzleError;
use super::suite::read_epd;
use super::table::CsvLayout;
use chess::epd;

/// Puzzles and invalid lines of a file.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// In file order.
    pub puzzles: Vec<Puzzle>,
    /// In file order.
    pub skipped: Vec<Skipped>,
}

/// An invalid line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Line number, from 1.
    pub line: usize,
    /// Its error.
    pub why: PuzzleError,
}

/// Parses the text of a file.
#[must_use]
pub fn read(text: &str) -> Collection {
    let mut collection = Collection::default();
    let Some((first, head)) = epd::lines(text).next() else { return collection };
    let lines = match CsvLayout::of(head) {
        Some(Ok(table)) => table.puzzles(text),
        Some(Err(why)) => vec![(first, Err(why))],
        None => epd::lines(text).map(|(line, content)| (line, read_epd(content))).collect(),
    };
    for (line, puzzle) in lines {
        match puzzle {
            Ok(puzzle) => collection.puzzles.push(puzzle),
            Err(why) => collection.skipped.push(Skipped { line, why }),
        }
    }
    collection
}

#[cfg(test)]
mod tests {
    use super::super::Solution;
    use super::*;
    use chess::action::Action;

    fn only(text: &str) -> Puzzle {
        let mut collection = read(text);
        assert_eq!(collection.skipped, [], "{text}");
        assert_eq!(collection.puzzles.len(), 1);
        collection.puzzles.remove(0)
    }

    fn text(actions: &[Action]) -> Vec<String> {
        actions.iter().map(|action| format!("{action:?}")).collect()
    }

    #[test]
    fn csv_of_rated_lines() {
        let puzzle = only(
            "fen,moves,rating,id\n\
             r4rk1/pp2b1p1/3p2np/3Pp1n1/1PNqPp2/3P1PP1/5RBP/R1BQ2K1 w - - 5 20,c1b2 d4f2 g1f2 h6h5,1342,123727\n",
        );
        assert_eq!((puzzle.id.as_str(), puzzle.rating), ("123727", Some(1342)));
        let Solution::Line(line) = puzzle.task else { panic!("a line") };
        assert_eq!(text(&line), ["c1b2", "d4f2", "g1f2", "h6h5"]);
    }

    #[test]
    fn csv_of_lichess_begins_with_the_opponents_move() {
        let puzzle = only(
            "PuzzleId,FEN,Moves,Rating,RatingDeviation\n\
             00sHx,q3k1nr/1pp1nQpp/3p4/1P2p3/4P3/B1PP1b2/B5PP/5K2 b k - 0 17,e8d7 a2e6 d7d8 f7f8,1760,80\n",
        );
        assert_eq!(puzzle.id, "00sHx");
        let Solution::Line(line) = puzzle.task else { panic!("a line") };
        assert_eq!(text(&line), ["a2e6", "d7d8", "f7f8"]);
        assert_eq!(puzzle.game.actions().len(), 1, "the past is kept");
    }

    #[test]
    fn lines_without_a_puzzle_are_named() {
        let collection = read(
            "# a comment\n\
             4k3/8/8/8/8/8/8/R3K3 w Q - bm #0;\n\
             4k3/8/8/8/8/8/8/R3K3 w Q - id \"x\";\n\
             nonsense\n\
             4k3/8/8/8/8/8/8/R3K3 w Q - bm Ra8+;\n",
        );
        assert_eq!(collection.puzzles.len(), 1);
        assert_eq!(collection.skipped.iter().map(|skip| skip.line).collect::<Vec<_>>(), [2, 3, 4]);
        let why = collection.skipped[2].why.to_string();
        assert!(why.contains("`nonsense`"), "{why}");
        let collection = read(
            "fen,moves\n4k3/8/8/8/8/8/8/R3K3 w Q - 0 1,a1a9\n4k3/8/8/8/8/8/8/R3K3 w Q - 0 1\n",
        );
        assert_eq!(collection.skipped.len(), 2);
        assert_eq!(read("\n# PuzzleId\nPuzzleId,FEN\n").skipped[0].line, 3);
        assert!(read("").skipped.is_empty());
    }
}

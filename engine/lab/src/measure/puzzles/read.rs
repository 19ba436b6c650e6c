//! Parses puzzles from CSV (rated lines) and EPD (`bm`, `am`, graded `c7`/`c8`, mates as `bm #3` or `dm 3`). Invalid
//! lines are reported with their error.

use super::{Puzzle, Task};
use engine::chess::action::Action;
use engine::chess::epd;
use engine::chess::game::{Game, GameError};
use engine::errors::{quote, wraps};
use shakmaty::san::SanPlus;
use std::fmt;

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

/// Error of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PuzzleError {
    /// Invalid position, or illegal move of the solution.
    Game(GameError),
    /// A missing CSV column.
    NoColumn,
    /// An empty solution.
    NoMoves,
    /// Fewer than four EPD fields.
    NoFields,
    /// EPD without best or avoided moves or a mate.
    NoTask,
    /// Not a legal move.
    Move(String),
    /// Not a number of moves to mate.
    Mate(String),
    /// Not a number of points.
    Points(String),
    /// Different numbers of moves and points.
    Grades {
        /// Number of moves.
        moves: usize,
        /// Number of points.
        points: usize,
    },
}

impl fmt::Display for PuzzleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PuzzleError::Game(why) => why.fmt(f),
            PuzzleError::NoColumn => f.write_str("a column is missing"),
            PuzzleError::NoMoves => f.write_str("there are no moves"),
            PuzzleError::NoFields => f.write_str("an EPD begins with four fields"),
            PuzzleError::NoTask => f.write_str("no move to find or avoid, and no mate"),
            PuzzleError::Move(word) => write!(f, "{} is no legal move", quote(word)),
            PuzzleError::Mate(word) => {
                write!(f, "{} is not a number of moves to mate", quote(word))
            }
            PuzzleError::Points(word) => write!(f, "{} is not a number of points", quote(word)),
            PuzzleError::Grades { moves, points } => write!(f, "{moves} moves but {points} grades"),
        }
    }
}

impl std::error::Error for PuzzleError {}

wraps! { PuzzleError: Game(GameError) }

/// Parses a file. CSV is detected by its header, which names the columns: `fen`, `moves`, and optionally `rating` and
/// `id`. In Lichess's own files (`PuzzleId,FEN,Moves,…`) the first move is the opponent's. Other text is EPD.
#[must_use]
pub fn read(text: &str) -> Collection {
    let mut collection = Collection::default();
    let mut lines = epd::lines(text).peekable();
    let columns = lines.peek().and_then(|(_, head)| Columns::read(head));
    if columns.is_some() {
        lines.next();
    }
    for (number, line) in lines {
        let puzzle = match &columns {
            Some(columns) => columns.puzzle(line),
            None => read_epd(line),
        };
        match puzzle {
            Ok(puzzle) => collection.puzzles.push(puzzle),
            Err(why) => collection.skipped.push(Skipped { line: number, why }),
        }
    }
    collection
}

/// Column indices of a CSV.
struct Columns {
    fen: usize,
    moves: usize,
    rating: Option<usize>,
    id: Option<usize>,
    /// The first move is the opponent's and leads to the puzzle.
    opponent_first: bool,
}

impl Columns {
    fn read(head: &str) -> Option<Columns> {
        let names: Vec<String> =
            head.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
        let find = |wanted: &str| names.iter().position(|name| name == wanted);
        let original = find("puzzleid");
        Some(Columns {
            fen: find("fen")?,
            moves: find("moves")?,
            rating: find("rating"),
            id: original.or_else(|| find("id")),
            opponent_first: original.is_some(),
        })
    }

    fn puzzle(&self, line: &str) -> Result<Puzzle, PuzzleError> {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let field = |index: usize| fields.get(index).copied().ok_or(PuzzleError::NoColumn);
        let mut game = Game::from_fen(field(self.fen)?, false)?;
        let mut words = field(self.moves)?.split_ascii_whitespace();
        if self.opponent_first {
            let word = words.next().ok_or(PuzzleError::NoMoves)?;
            game.play_uci(word)?;
        }
        let mut board = game.clone();
        let line: Result<Vec<Action>, _> = words.map(|word| board.play_uci(word)).collect();
        let line = line?;
        if line.is_empty() {
            return Err(PuzzleError::NoMoves);
        }
        let optional = |index: Option<usize>| index.and_then(|index| fields.get(index).copied());
        Ok(Puzzle {
            id: optional(self.id).unwrap_or_default().to_owned(),
            game,
            task: Task::Line(line),
            rating: optional(self.rating).and_then(|rating| rating.parse().ok()),
        })
    }
}

fn read_epd(line: &str) -> Result<Puzzle, PuzzleError> {
    let record = epd::split(line).ok_or(PuzzleError::NoFields)?;
    let game = Game::from_fen(&record.fen, false)?;
    let mut best = Vec::new();
    let mut avoid = Vec::new();
    let mut graded: Option<&str> = None;
    let mut grades: Option<&str> = None;
    let mut mate = None;
    let mut id = String::new();
    for (name, value) in record.operations() {
        match name {
            "bm" if value.starts_with('#') => mate = Some(read_mate(&value[1..])?),
            "dm" => mate = Some(read_mate(value)?),
            "bm" => best = read_moves(&game, value)?,
            "am" => avoid = read_moves(&game, value)?,
            "c7" => graded = Some(value),
            "c8" => grades = Some(value),
            "id" => id = value.to_owned(),
            _ => {}
        }
    }
    let task = match (graded, grades, mate) {
        (Some(moves), Some(points), _) => Task::Graded(read_grades(&game, moves, points)?),
        (_, _, Some(moves)) => Task::Mate(moves),
        _ if best.is_empty() && avoid.is_empty() => {
            return Err(PuzzleError::NoTask);
        }
        _ => Task::Best { best, avoid },
    };
    Ok(Puzzle { id, game, task, rating: None })
}

/// Number of moves; negative if the side to move is mated.
fn read_mate(word: &str) -> Result<i32, PuzzleError> {
    let moves = word.parse().ok().filter(|moves| *moves != 0);
    moves.ok_or_else(|| PuzzleError::Mate(word.to_owned()))
}

fn read_moves(game: &Game, words: &str) -> Result<Vec<Action>, PuzzleError> {
    words
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .map(|word| read_move(game, word))
        .collect()
}

/// SAN, with or without check signs and annotations; UCI as well.
fn read_move(game: &Game, word: &str) -> Result<Action, PuzzleError> {
    let bare = word.trim_end_matches(['!', '?', '+', '#']);
    let san = bare.parse::<SanPlus>().ok().and_then(|san| san.san.to_move(game.position()).ok());
    san.map(Action::new)
        .or_else(|| Action::from_uci(bare, game.position()))
        .ok_or_else(|| PuzzleError::Move(word.to_owned()))
}

/// Points out of 100; the best move's may be omitted.
fn read_grades(game: &Game, moves: &str, points: &str) -> Result<Vec<(Action, f32)>, PuzzleError> {
    let moves = read_moves(game, moves)?;
    let points: Vec<f32> = points
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().map_err(|_| PuzzleError::Points(word.to_owned())))
        .collect::<Result<_, _>>()?;
    if moves.len() != points.len() || moves.is_empty() {
        return Err(PuzzleError::Grades { moves: moves.len(), points: points.len() });
    }
    let mut graded: Vec<(Action, f32)> =
        moves.into_iter().zip(points).map(|(action, points)| (action, points / 100.0)).collect();
    graded.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(graded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Position;

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
        let Task::Line(line) = puzzle.task else { panic!("a line") };
        assert_eq!(text(&line), ["c1b2", "d4f2", "g1f2", "h6h5"]);
    }

    #[test]
    fn csv_of_lichess_begins_with_the_opponents_move() {
        let puzzle = only(
            "PuzzleId,FEN,Moves,Rating,RatingDeviation\n\
             00sHx,q3k1nr/1pp1nQpp/3p4/1P2p3/4P3/B1PP1b2/B5PP/5K2 b k - 0 17,e8d7 a2e6 d7d8 f7f8,1760,80\n",
        );
        assert_eq!(puzzle.id, "00sHx");
        let Task::Line(line) = puzzle.task else { panic!("a line") };
        assert_eq!(text(&line), ["a2e6", "d7d8", "f7f8"]);
        assert_eq!(puzzle.game.actions().len(), 1, "the past is kept");
    }

    #[test]
    fn epd_with_best_and_avoided_moves() {
        let puzzle =
            only("1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - bm Qd1+; id \"BK.01; first\";");
        assert_eq!(puzzle.id, "BK.01; first");
        assert_eq!(
            puzzle.task,
            Task::Best {
                best: vec![Action::from_uci("d6d1", puzzle.game.position()).unwrap()],
                avoid: vec![]
            }
        );
        let puzzle =
            only("k1b4r/1p3p2/pq2pNp1/5n1p/P3QP2/1P1R1BPP/2P5/1K6 b - - am Nxg3; id \"a.50\";");
        assert!(
            matches!(puzzle.task, Task::Best { best, avoid } if best.is_empty() && avoid.len() == 1)
        );
    }

    #[test]
    fn epd_with_grades() {
        let puzzle = only(
            "1kr5/3n4/q3p2p/p2n2p1/PppB1P2/5BP1/1P2Q2P/3R2K1 w - - bm f5; id \"STS(v1.0) Undermine.001\"; \
             c0 \"f5=100, Bf2=46\"; c7 \"Bf2 f5 Bg4\"; c8 \"46 100 23\"; Ae \"Stockish 15\";",
        );
        let Task::Graded(grades) = puzzle.task else { panic!("grades") };
        assert_eq!(
            text(&grades.iter().map(|grade| grade.0).collect::<Vec<_>>()),
            ["f4f5", "d4f2", "f3g4"]
        );
        assert_eq!(grades[0].1, 1.0);
        assert!((grades[2].1 - 0.23).abs() < 1e-6);
    }

    #[test]
    fn epd_with_a_mate() {
        for (operation, moves) in [("bm #2;", 2), ("bm #-1", -1), ("dm 3;", 3)] {
            let puzzle = only(&format!("7k/8/6K1/8/8/8/8/1Q6 w - - {operation}"));
            assert_eq!(puzzle.task, Task::Mate(moves), "{operation}");
        }
        let skipped = read("7k/8/6K1/8/8/8/8/1Q6 w - - bm #x;").skipped;
        assert_eq!(skipped[0].why, PuzzleError::Mate("x".to_owned()));
    }

    #[test]
    fn counters_in_an_epd_belong_to_the_position() {
        let puzzle = only("4k3/8/8/8/8/8/8/R3K3 w Q - 12 34 bm O-O-O");
        assert_eq!(puzzle.game.position().halfmoves(), 12);
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
        let collection = read(
            "fen,moves\n4k3/8/8/8/8/8/8/R3K3 w Q - 0 1,a1a9\n4k3/8/8/8/8/8/8/R3K3 w Q - 0 1\n",
        );
        assert_eq!(collection.skipped.len(), 2);
    }
}

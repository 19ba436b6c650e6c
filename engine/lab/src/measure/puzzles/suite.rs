//! Puzzles of a test suite in EPD: best moves (`bm`), moves to avoid (`am`), graded moves (`c7`, `c8`), mates (`bm #3`, `dm
//! 3`), or the true result of a position (`c0 "draw for the side to move"`, as in paper 003's sets).

use super::error::PuzzleError;
use super::{Puzzle, Solution};
use chess::action::Action;
use chess::epd;
use chess::game::Game;
use engine::pgn::legal_move;

/// The words after `win`, `draw` or `loss` in a comment that is a true result.
const FOR_THE_MOVER: &str = " for the side to move";

/// The puzzle of one line.
///
/// # Errors
/// No position, a move that is not legal there, or nothing to solve.
pub fn read_epd(line: &str) -> Result<Puzzle, PuzzleError> {
    let record = epd::split(line).ok_or_else(|| PuzzleError::NoFields(line.to_owned()))?;
    let game = Game::from_fen(&record.fen, false)?;
    let (mut best, mut avoid) = (Vec::new(), Vec::new());
    let (mut graded, mut grades, mut mate, mut value) = (None, None, None, None);
    let mut id = String::new();
    for (name, text) in record.operations() {
        match name {
            "bm" if text.starts_with('#') => mate = Some(read_mate(&text[1..])?),
            "dm" => mate = Some(read_mate(text)?),
            "bm" => best = read_moves(&game, text)?,
            "am" => avoid = read_moves(&game, text)?,
            "c0" => value = read_result(text),
            "c7" => graded = Some(text),
            "c8" => grades = Some(text),
            "id" => id = text.to_owned(),
            _ => {}
        }
    }
    let has_moves = !best.is_empty() || !avoid.is_empty();
    let task = match (graded, grades, mate, value) {
        (Some(moves), Some(points), ..) => Solution::Graded(read_grades(&game, moves, points)?),
        (_, _, Some(moves), _) => Solution::Mate(moves),
        _ if has_moves => Solution::Best { best, avoid },
        (.., Some(value)) => Solution::Value(value),
        _ => return Err(PuzzleError::NoTask),
    };
    Ok(Puzzle { id, game, task, rating: None })
}

/// Number of moves; negative if the side to move is mated.
fn read_mate(word: &str) -> Result<i32, PuzzleError> {
    let moves = word.parse().ok().filter(|moves| *moves != 0);
    moves.ok_or_else(|| PuzzleError::Mate(word.to_owned()))
}

/// Score of the side to move. None if the comment says something else.
fn read_result(comment: &str) -> Option<f32> {
    let (result, _) = comment.split_once(FOR_THE_MOVER)?;
    [("win", 1.0), ("draw", 0.5), ("loss", 0.0)]
        .into_iter()
        .find_map(|(name, score)| (name == result.trim()).then_some(score))
}

fn read_moves(game: &Game, words: &str) -> Result<Vec<Action>, PuzzleError> {
    words
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .map(|word| {
            let found = legal_move(game.position(), word).map(Action::new);
            found.ok_or_else(|| PuzzleError::Move(word.to_owned()))
        })
        .collect()
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

    fn text(actions: &[Action]) -> Vec<String> {
        actions.iter().map(|action| format!("{action:?}")).collect()
    }

    #[test]
    fn best_and_avoided_moves() {
        let puzzle = read_epd(
            "1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - bm Qd1+; id \"BK.01; first\";",
        )
        .unwrap();
        assert_eq!(puzzle.id, "BK.01; first");
        assert_eq!(
            puzzle.task,
            Solution::Best {
                best: vec![Action::from_uci("d6d1", puzzle.game.position()).unwrap()],
                avoid: vec![]
            }
        );
        let puzzle =
            read_epd("k1b4r/1p3p2/pq2pNp1/5n1p/P3QP2/1P1R1BPP/2P5/1K6 b - - am Nxg3; id \"a.50\";");
        assert!(
            matches!(puzzle.unwrap().task, Solution::Best { best, avoid } if best.is_empty() && avoid.len() == 1)
        );
    }

    #[test]
    fn moves_in_any_spelling() {
        let board = "1n2k3/P7/8/8/8/8/8/R3K3 w Q -";
        for words in ["a8Q", "a8=Q", "a8(Q)", "a7a8q", "a7-a8=Q!", "a8Q+?"] {
            let puzzle = read_epd(&format!("{board} bm {words};")).unwrap();
            let best = Action::from_uci("a7a8q", puzzle.game.position()).unwrap();
            assert_eq!(puzzle.task, Solution::Best { best: vec![best], avoid: vec![] }, "{words}");
        }
        let puzzle = read_epd(&format!("{board} bm axb8Q, 0-0-0 a8=B;")).unwrap();
        let Solution::Best { best, .. } = puzzle.task else { panic!("best moves") };
        assert_eq!(text(&best), ["a7b8q", "e1a1", "a7a8b"]);
        for word in ["a8", "Qxa8", "c8Q", "e9", "best"] {
            let why = read_epd(&format!("{board} bm {word};")).unwrap_err();
            assert_eq!(why, PuzzleError::Move(word.to_owned()));
        }
    }

    #[test]
    fn graded_moves() {
        let puzzle = read_epd(
            "1kr5/3n4/q3p2p/p2n2p1/PppB1P2/5BP1/1P2Q2P/3R2K1 w - - bm f5; id \"STS(v1.0) Undermine.001\"; \
             c0 \"f5=100, Bf2=46\"; c7 \"Bf2 f5 Bg4\"; c8 \"46 100 23\"; Ae \"Stockish 15\";",
        );
        let Solution::Graded(grades) = puzzle.unwrap().task else { panic!("grades") };
        assert_eq!(
            text(&grades.iter().map(|grade| grade.0).collect::<Vec<_>>()),
            ["f4f5", "d4f2", "f3g4"]
        );
        assert_eq!(grades[0].1, 1.0);
        assert!((grades[2].1 - 0.23).abs() < 1e-6);
    }

    #[test]
    fn mates() {
        for (operation, moves) in [("bm #2;", 2), ("bm #-1", -1), ("dm 3;", 3)] {
            let puzzle = read_epd(&format!("7k/8/6K1/8/8/8/8/1Q6 w - - {operation}")).unwrap();
            assert_eq!(puzzle.task, Solution::Mate(moves), "{operation}");
        }
        let why = read_epd("7k/8/6K1/8/8/8/8/1Q6 w - - bm #x;").unwrap_err();
        assert_eq!(why, PuzzleError::Mate("x".to_owned()));
    }

    /// Boards of paper 003 with nine pawns, and with thirteen bishops.
    #[test]
    fn true_results_of_composed_positions() {
        for (board, result, value) in [
            ("8/p4p2/kpP2p2/qrp1bp2/rpP2p2/pP6/P3K3/8", "draw", 0.5),
            ("2rBb3/1kBbP3/1BbP3B/BbP1B3/bP5B/P1B1B3/5K1B/B1B1B3", "win", 1.0),
            ("kn6/1b1p4/p1pPb3/P1P5/6p1/6Pp/7P/K7", "loss", 0.0),
        ] {
            let line = format!(
                "{board} w - - id \"penrose v1.1\"; c0 \"{result}{FOR_THE_MOVER} repaired print\";"
            );
            assert_eq!(read_epd(&line).unwrap().task, Solution::Value(value), "{line}");
        }
        let why = read_epd("kn6/8/8/8/8/8/8/K7 w - - c0 \"a draw, it seems\";").unwrap_err();
        assert_eq!(why, PuzzleError::NoTask);
    }

    #[test]
    fn counters_belong_to_the_position() {
        for counters in ["12 34 bm O-O-O", "bm O-O-O; hmvc 12; fmvn 34;"] {
            let puzzle = read_epd(&format!("4k3/8/8/8/8/8/8/R3K3 w Q - {counters}")).unwrap();
            let position = puzzle.game.position();
            assert_eq!((position.halfmoves(), position.fullmoves().get()), (12, 34));
        }
    }
}

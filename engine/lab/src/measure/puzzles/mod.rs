//! Puzzles: rated ones with a solution line, and test suites with best moves or true results. A [`Solver`] is anything that
//! chooses moves.
//!
//! [`mod@read`] parses files: a [`table`] of rated lines, or a [`suite`] in EPD. [`solve`] runs solvers in parallel, [`score`]
//! counts, [`plot`] draws accuracy against rating.

pub mod error;
pub mod open;
pub mod plot;
pub mod read;
pub mod score;
pub mod solve;
pub mod suite;
pub mod table;
pub mod uci_solver;

use chess::action::Action;
use chess::game::Game;
use shakmaty::Position;

pub use read::read;
pub use score::Score;
pub use solve::solve_all;

/// One puzzle.
#[derive(Clone, Debug)]
pub struct Puzzle {
    pub id: String,
    /// Position with the solver to move.
    pub game: Game,
    pub task: Solution,
    pub rating: Option<u32>,
}

/// Solution of a puzzle.
#[derive(Clone, Debug, PartialEq)]
pub enum Solution {
    /// Alternating moves of the solver and replies: never empty.
    Line(Vec<Action>),
    /// One of `best` (if not empty), and none of `avoid`.
    Best { best: Vec<Action>, avoid: Vec<Action> },
    /// Share of the points, in [0, 1], for each good move; the best first.
    Graded(Vec<(Action, f32)>),
    /// A mate to announce: minimal number of moves, negative if the solver is mated.
    Mate(i32),
    /// True result for the side to move: 1, 0.5 or 0.
    Value(f32),
}

/// A value is right within this distance of the true result, and wins the point within the second (paper 003, section 4).
pub const VALUE_MARGINS: [f32; 2] = [0.25, 0.1];

/// Result of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The first move was correct.
    pub first: bool,
    /// All moves were correct.
    pub solved: bool,
    /// Share of the points; 1 or 0 without grades. For a mate, 1 if it is the shortest; for a value, 1 if it is close.
    pub points: f32,
    /// The solver's moves up to the first wrong one.
    pub played: Vec<Action>,
}

/// Chooses moves.
pub trait Solver {
    /// Error of the solver.
    type Error;

    /// May block.
    ///
    /// # Errors
    /// The solver is unusable: stop.
    fn choose(&mut self, game: &Game) -> Result<Action, Self::Error>;

    /// The move, and the mate announced with it: in moves, negative if the solver is mated. The solver is asked for a
    /// mate in `moves`.
    ///
    /// # Errors
    /// As `choose`.
    fn announce(&mut self, game: &Game, _moves: u32) -> Result<(Action, Option<i32>), Self::Error> {
        Ok((self.choose(game)?, None))
    }

    /// The move, and the expected score of the side to move, in [0, 1]. None by default: only the move is known.
    ///
    /// # Errors
    /// As `choose`.
    fn evaluate(&mut self, game: &Game) -> Result<(Action, Option<f32>), Self::Error> {
        Ok((self.choose(game)?, None))
    }

    /// Called before each puzzle.
    ///
    /// # Errors
    /// As `choose`.
    fn begin(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl<E, F: FnMut(&Game) -> Result<Action, E>> Solver for F {
    type Error = E;

    fn choose(&mut self, game: &Game) -> Result<Action, E> {
        self(game)
    }
}

/// Runs a solver on one puzzle.
///
/// # Errors
/// The solver's error.
pub fn attempt<S: Solver>(puzzle: &Puzzle, solver: &mut S) -> Result<Attempt, S::Error> {
    solver.begin()?;
    match &puzzle.task {
        Solution::Line(line) => follow(&puzzle.game, line, solver),
        Solution::Best { best, avoid } => {
            let action = solver.choose(&puzzle.game)?;
            let solved = (best.is_empty() || best.contains(&action)) && !avoid.contains(&action);
            Ok(Attempt::at_once(action, solved, f32::from(u8::from(solved))))
        }
        Solution::Graded(grades) => {
            let action = solver.choose(&puzzle.game)?;
            let solved = grades.first().is_some_and(|&(best, _)| best == action);
            let grade = grades.iter().find(|&&(graded, _)| graded == action);
            Ok(Attempt::at_once(action, solved, grade.map_or(0.0, |&(_, points)| points)))
        }
        &Solution::Mate(moves) => {
            let (action, announced) = solver.announce(&puzzle.game, moves.unsigned_abs())?;
            // A mate shorter than the known minimum is wrong.
            let solved = announced
                .is_some_and(|mate| mate.signum() == moves.signum() && mate.abs() >= moves.abs());
            let shortest = announced == Some(moves);
            Ok(Attempt::at_once(action, solved, f32::from(u8::from(shortest))))
        }
        &Solution::Value(truth) => {
            let (action, value) = solver.evaluate(&puzzle.game)?;
            let [right, close] = VALUE_MARGINS
                .map(|margin| value.is_some_and(|value| (value - truth).abs() < margin));
            Ok(Attempt::at_once(action, right, f32::from(u8::from(close))))
        }
    }
}

impl Attempt {
    fn at_once(action: Action, solved: bool, points: f32) -> Attempt {
        Attempt { first: solved, solved, points, played: vec![action] }
    }
}

fn follow<S: Solver>(start: &Game, line: &[Action], solver: &mut S) -> Result<Attempt, S::Error> {
    let mut game = start.clone();
    let mut played = Vec::new();
    let mut right = false;
    for (ply, &expected) in line.iter().enumerate() {
        let of_solver = ply % 2 == 0;
        let action = if of_solver { solver.choose(&game)? } else { expected };
        if of_solver {
            played.push(action);
        }
        right = game.play(action).is_ok();
        if action != expected {
            // Any mate counts as the last move, as on the puzzles' site.
            right &= game.position().is_checkmate();
            break;
        }
        if !right {
            break;
        }
    }
    let first = right || played.len() > 1;
    Ok(Attempt { first, solved: right, points: f32::from(u8::from(right)), played })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn puzzle(fen: &str, moves: &str) -> Puzzle {
        let game = Game::from_fen(fen, false).unwrap();
        let mut board = game.clone();
        let line = moves.split(' ').map(|word| board.play_uci(word).unwrap()).collect();
        Puzzle { id: "x".to_owned(), game, task: Solution::Line(line), rating: None }
    }

    /// A solver with scripted moves.
    fn try_with(puzzle: &Puzzle, moves: &[&str]) -> Attempt {
        let mut moves = moves.iter();
        let mut solver = |game: &Game| -> Result<Action, Infallible> {
            Ok(Action::from_uci(moves.next().unwrap(), game.position()).unwrap())
        };
        attempt(puzzle, &mut solver).unwrap()
    }

    const TWO_ROOKS: &str = "6k1/8/8/8/8/8/R7/1R2K3 w - - 0 1";

    #[test]
    fn the_whole_line_must_be_found() {
        let puzzle = puzzle(TWO_ROOKS, "a2a7 g8f8 b1b8");
        let attempt = try_with(&puzzle, &["a2a7", "b1b8"]);
        assert!(attempt.first && attempt.solved);
        let attempt = try_with(&puzzle, &["a2a7", "b1b7"]);
        assert!(attempt.first && !attempt.solved);
        assert_eq!(attempt.played.len(), 2);
        let attempt = try_with(&puzzle, &["b1b7"]);
        assert!(!attempt.first && !attempt.solved);
        assert_eq!(attempt.points, 0.0);
    }

    #[test]
    fn another_mate_counts_as_the_last_move() {
        // Both a8 and b8 mate.
        let puzzle = puzzle("6k1/5ppp/8/8/8/8/R7/1R2K3 w - - 0 1", "b1b8");
        let attempt = try_with(&puzzle, &["a2a8"]);
        assert!(attempt.first && attempt.solved);
        assert!(!try_with(&puzzle, &["a2a7"]).solved);
    }

    #[test]
    fn an_announced_mate_is_of_the_right_side_and_no_shorter_than_the_shortest() {
        struct Announcer(Option<i32>);

        impl Solver for Announcer {
            type Error = Infallible;

            fn choose(&mut self, game: &Game) -> Result<Action, Infallible> {
                Ok(game.legal_actions()[0])
            }

            fn announce(
                &mut self,
                game: &Game,
                _: u32,
            ) -> Result<(Action, Option<i32>), Infallible> {
                Ok((self.choose(game)?, self.0))
            }
        }

        for (known, announced, solved, points) in [
            (2, Some(2), true, 1.0),
            (2, Some(3), true, 0.0),
            (2, Some(1), false, 0.0),
            (2, Some(-2), false, 0.0),
            (2, None, false, 0.0),
            (-2, Some(-2), true, 1.0),
            (-2, Some(-4), true, 0.0),
        ] {
            let puzzle = Puzzle { task: Solution::Mate(known), ..puzzle(TWO_ROOKS, "a2a7") };
            let attempt = attempt(&puzzle, &mut Announcer(announced)).unwrap();
            assert_eq!((attempt.solved, attempt.points), (solved, points), "{announced:?}");
        }
    }

    #[test]
    fn a_value_is_right_near_the_true_result() {
        struct Judge(Option<f32>);

        impl Solver for Judge {
            type Error = Infallible;

            fn choose(&mut self, game: &Game) -> Result<Action, Infallible> {
                Ok(game.legal_actions()[0])
            }

            fn evaluate(&mut self, game: &Game) -> Result<(Action, Option<f32>), Infallible> {
                Ok((self.choose(game)?, self.0))
            }
        }

        for (truth, value, solved, points) in [
            (0.5, Some(0.55), true, 1.0),
            (0.5, Some(0.7), true, 0.0),
            (0.5, Some(0.2), false, 0.0),
            (1.0, Some(0.76), true, 0.0),
            (0.0, Some(0.01), true, 1.0),
            (0.0, None, false, 0.0),
        ] {
            let puzzle = Puzzle { task: Solution::Value(truth), ..puzzle(TWO_ROOKS, "a2a7") };
            let attempt = attempt(&puzzle, &mut Judge(value)).unwrap();
            assert_eq!((attempt.solved, attempt.points), (solved, points), "{value:?}");
        }
    }

    #[test]
    fn best_and_avoided_moves() {
        let game = Game::default();
        let action = |word: &str| Action::from_uci(word, game.position()).unwrap();
        let task = |best: &[&str], avoid: &[&str]| Puzzle {
            id: String::new(),
            game: game.clone(),
            task: Solution::Best {
                best: best.iter().map(|word| action(word)).collect(),
                avoid: avoid.iter().map(|word| action(word)).collect(),
            },
            rating: None,
        };
        assert!(try_with(&task(&["e2e4", "d2d4"], &[]), &["d2d4"]).solved);
        assert!(!try_with(&task(&["e2e4", "d2d4"], &[]), &["c2c4"]).solved);
        assert!(try_with(&task(&[], &["f2f3"]), &["c2c4"]).solved);
        assert!(!try_with(&task(&[], &["f2f3"]), &["f2f3"]).solved);
    }

    #[test]
    fn grades_give_a_share_of_the_points() {
        let game = Game::default();
        let action = |word: &str| Action::from_uci(word, game.position()).unwrap();
        let task = Solution::Graded(vec![(action("e2e4"), 1.0), (action("d2d4"), 0.6)]);
        let puzzle = Puzzle { id: String::new(), game: game.clone(), task, rating: None };
        let best = try_with(&puzzle, &["e2e4"]);
        assert!(best.solved && best.points == 1.0);
        let second = try_with(&puzzle, &["d2d4"]);
        assert!(!second.solved && second.points == 0.6);
        assert_eq!(try_with(&puzzle, &["a2a3"]).points, 0.0);
    }
}

//! Puzzles as positions to search, and the verdict on a search's end. Every position of a solution is searched, whatever
//! was answered before, so that all contestants are judged on the same positions.

use crate::measure::MeasureError;
use crate::measure::puzzles::{Puzzle, Solution, Solver, attempt};
use crate::openings::Opening;
use chess::action::Action;
use chess::game::Game;
use mcts::Snapshot;
use shakmaty::Position;

/// A puzzle, or an opening without a task.
#[derive(Clone, Debug)]
pub struct TeamItem {
    /// The positions with the solver to move.
    pub steps: Vec<Step>,
    puzzle: Option<Puzzle>,
}

/// One position of an item.
#[derive(Clone, Debug)]
pub struct Step {
    pub game: Game,
    /// The solution's move; none for other tasks.
    expected: Option<Action>,
    /// The solution ends with it.
    is_last: bool,
}

/// A contestant's result so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ContestantResult {
    /// Right in every position up to now.
    #[default]
    Open,
    /// Wrong in one; a share of the points where there are grades, or a value within the narrow margin.
    Failed(f32),
    /// Solved: the solution has ended or a mate ended it early; points as above.
    Solved(f32),
}

impl ContestantResult {
    /// The better one.
    #[must_use]
    pub fn best(self, other: ContestantResult) -> ContestantResult {
        if other.rank() > self.rank() { other } else { self }
    }

    fn rank(self) -> f32 {
        match self {
            ContestantResult::Failed(points) => points,
            ContestantResult::Open => 2.0,
            ContestantResult::Solved(points) => 3.0 + points,
        }
    }

    /// Adds the verdict on the next position.
    pub fn then(&mut self, next: ContestantResult) {
        if self.is_open() {
            *self = next;
        }
    }

    /// Still to be decided.
    #[must_use]
    pub fn is_open(self) -> bool {
        self == ContestantResult::Open
    }

    /// 1 if solved.
    #[must_use]
    pub fn solved(self) -> f64 {
        f64::from(u8::from(matches!(self, ContestantResult::Solved(_))))
    }

    /// Points, in [0, 1].
    #[must_use]
    pub fn points(self) -> f64 {
        match self {
            ContestantResult::Failed(points) | ContestantResult::Solved(points) => {
                f64::from(points)
            }
            ContestantResult::Open => 0.0,
        }
    }
}

impl From<Puzzle> for TeamItem {
    fn from(puzzle: Puzzle) -> TeamItem {
        let mut game = puzzle.game.clone();
        let mut steps = Vec::new();
        match &puzzle.task {
            Solution::Line(line) => {
                for (ply, action) in line.iter().enumerate() {
                    if ply % 2 == 0 {
                        let is_last = ply + 2 >= line.len();
                        steps.push(Step { game: game.clone(), expected: Some(*action), is_last });
                    }
                    if game.play(*action).is_err() {
                        break;
                    }
                }
            }
            _ => steps.push(Step { game, expected: None, is_last: true }),
        }
        TeamItem { steps, puzzle: Some(puzzle) }
    }
}

impl From<Opening> for TeamItem {
    fn from(opening: Opening) -> TeamItem {
        let mode = opening.position.castles().mode();
        let game = Game::new(opening.position, mode);
        TeamItem { steps: vec![Step { game, expected: None, is_last: true }], puzzle: None }
    }
}

impl TeamItem {
    /// There is something to solve.
    #[must_use]
    pub fn has_task(&self) -> bool {
        self.puzzle.is_some()
    }

    /// The verdict on what was found in `step`.
    ///
    /// # Errors
    /// The search found no move.
    pub fn judge(
        &self,
        step: &Step,
        found: &Snapshot<Action>,
    ) -> Result<ContestantResult, MeasureError> {
        let Some(puzzle) = &self.puzzle else { return Ok(ContestantResult::Open) };
        let Some(expected) = step.expected else {
            let tried = attempt(puzzle, &mut SnapshotSolver(found))?;
            let verdict =
                if tried.solved { ContestantResult::Solved } else { ContestantResult::Failed };
            return Ok(verdict(tried.points));
        };
        let action = SnapshotSolver(found).choose(&step.game)?;
        if action == expected {
            return Ok(if step.is_last {
                ContestantResult::Solved(1.0)
            } else {
                ContestantResult::Open
            });
        }
        // Any mate counts, as on the puzzles' site.
        let mut game = step.game.clone();
        let mates = game.play(action).is_ok() && game.position().is_checkmate();
        Ok(if mates { ContestantResult::Solved(1.0) } else { ContestantResult::Failed(0.0) })
    }
}

/// A search's end as a solver: its move, its value, its mate.
struct SnapshotSolver<'a>(&'a Snapshot<Action>);

impl Solver for SnapshotSolver<'_> {
    type Error = MeasureError;

    fn choose(&mut self, game: &Game) -> Result<Action, MeasureError> {
        let best = self.0.lines.first().and_then(|line| line.moves.first()).copied();
        best.ok_or_else(|| MeasureError::Refused(format!("no move was found in {}", game.fen())))
    }

    fn announce(&mut self, game: &Game, _: u32) -> Result<(Action, Option<i32>), MeasureError> {
        let plies = self.0.lines.first().and_then(|line| line.mate_plies);
        Ok((self.choose(game)?, plies.map(|plies| (plies + plies.signum()) / 2)))
    }

    fn evaluate(&mut self, game: &Game) -> Result<(Action, Option<f32>), MeasureError> {
        Ok((self.choose(game)?, self.0.lines.first().map(|line| line.value.q())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcts::{Line, Wdl};

    fn item(fen: &str, moves: &str) -> TeamItem {
        let game = Game::from_fen(fen, false).unwrap();
        let mut board = game.clone();
        let line = moves.split(' ').map(|word| board.play_uci(word).unwrap()).collect();
        let task = Solution::Line(line);
        TeamItem::from(Puzzle { id: String::new(), game, task, rating: None })
    }

    fn found(game: &Game, best: &str, q: f32) -> Snapshot<Action> {
        let action = Action::from_uci(best, game.position()).unwrap();
        let value = Wdl::from_score_and_draw(q, 0.0);
        let line = Line { moves: vec![action], visits: 9, value, mate_plies: None, prior: 0.1, q };
        Snapshot { lines: vec![line], ..Snapshot::default() }
    }

    #[test]
    fn a_line_is_solved_by_its_last_step_or_by_any_mate() {
        let item = item("6k1/8/8/8/8/8/R7/1R2K3 w - - 0 1", "a2a7 g8f8 b1b8");
        assert_eq!(item.steps.len(), 2);
        let judge = |step: usize, best| {
            let step = &item.steps[step];
            item.judge(step, &found(&step.game, best, 0.5)).unwrap()
        };
        assert_eq!(judge(0, "a2a7"), ContestantResult::Open);
        assert_eq!(judge(0, "a2a6"), ContestantResult::Failed(0.0));
        assert_eq!(judge(1, "b1b8"), ContestantResult::Solved(1.0));
        assert_eq!(judge(1, "b1b7"), ContestantResult::Failed(0.0));
        let mut sum = judge(0, "a2a6");
        sum.then(judge(1, "b1b8"));
        assert_eq!(sum, ContestantResult::Failed(0.0), "a step that was missed stays missed");
        let mut by_two = judge(0, "a2a6").best(judge(0, "a2a7"));
        by_two.then(judge(1, "b1b7").best(judge(1, "b1b8")));
        assert_eq!(by_two, ContestantResult::Solved(1.0), "every step was found by one of them");
    }

    #[test]
    fn a_value_has_two_margins() {
        let game = Game::from_fen("4k3/8/8/8/8/8/8/R3K3 w Q - 0 1", false).unwrap();
        let item = TeamItem::from(Puzzle {
            id: String::new(),
            game: game.clone(),
            task: Solution::Value(1.0),
            rating: None,
        });
        let judge = |q| item.judge(&item.steps[0], &found(&game, "a1a8", q)).unwrap();
        assert_eq!(judge(0.95), ContestantResult::Solved(1.0));
        assert_eq!(judge(0.8), ContestantResult::Solved(0.0));
        assert_eq!(judge(0.7), ContestantResult::Failed(0.0));
        assert_eq!(judge(0.8).best(judge(0.95)), ContestantResult::Solved(1.0));
    }
}

//! Positions whose exact result the solver knows, and the share of them in which a player keeps the value.

use super::error::{LearnError, read_own_text};
use super::exact::{BookSolver, ValueOracle, published_hex};
use engine::process::errors::FileError;
use engine::process::files::write_whole;
use games::connect4::{ConnectFour, Discs};
use games::game::Game;
use games::hex::{Hex, Stones};
use games::net::BoardNet;
use games::solver::Solver;
use games::solver::hex::HexSolver;
use games::world::Judge;
use nn::numeric::argmax;
use nn::rng::Rng;
use serde::{Deserialize, Serialize};
use std::path::Path;
use train::metrics::wilson;

/// Memory of the solver's table.
const TABLE_BYTES: usize = 256 << 20;
/// Largest part of a position's search: a few seconds. Positions that take longer are left out.
pub(super) const SOLVER_NODES: u64 = 20_000_000;
/// Share of random moves in the games of [`Kind::Played`] (paper 000, appendix B).
const RANDOM_SHARE: f64 = 0.4;

/// A game that a solver knows.
pub trait Solved: Game + Clone {
    /// Its solver; None if the board is too large.
    fn solver(&self) -> Option<Box<dyn ValueOracle<Self::State>>>;
    /// The ply from which on a position takes a few seconds at most.
    fn first_solved_ply(&self) -> usize;
    /// Published values of the first moves, as [`Solved::first_moves`] has them.
    fn published(&self) -> Option<Vec<(u16, i32)>> {
        None
    }
    /// The exact value of each first move for its player: 1 won, 0 drawn, -1 lost. None if it is not published and the solver is
    /// too slow.
    fn first_moves(&self) -> Option<Vec<(u16, i32)>> {
        if let Some(published) = self.published() {
            return Some(published);
        }
        let mut solver = self.solver().filter(|_| self.first_solved_ply() == 0)?;
        solver.verdicts(&self.start(), SOLVER_NODES)
    }
}

impl Solved for ConnectFour {
    fn solver(&self) -> Option<Box<dyn ValueOracle<Discs>>> {
        let solver = Solver::new(*self, TABLE_BYTES);
        if (self.columns, self.rows) == BookSolver::SIZE {
            return Some(Box::new(BookSolver::new(solver)));
        }
        Some(Box::new(solver))
    }

    fn first_solved_ply(&self) -> usize {
        match (self.columns, self.rows) {
            BookSolver::SIZE => 0,
            (columns, rows) if columns * rows <= 24 => 0,
            (columns, rows) if columns * rows <= 30 => 4,
            _ => 8,
        }
    }
}

impl Solved for Hex {
    fn solver(&self) -> Option<Box<dyn ValueOracle<Stones>>> {
        let solver = Solver::new(HexSolver::new(self.clone())?, TABLE_BYTES);
        Some(Box::new(solver))
    }

    fn first_solved_ply(&self) -> usize {
        [0, 0, 0, 0, 0, 2, 8, 20].get(self.size()).copied().unwrap_or(32)
    }

    fn published(&self) -> Option<Vec<(u16, i32)>> {
        published_hex(Hex::size(self))
    }
}

/// How the positions of an exam arise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Set A: by random play.
    Random,
    /// Set B: by games of which 40 % of the moves are random and the others keep the value (paper 000, appendix B); before
    /// [`Solved::first_solved_ply`] all moves are random.
    Played,
}

/// A position and the exact value of each legal move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExamPosition {
    /// Moves from the start.
    pub moves: Vec<u16>,
    /// Legal moves, and 1 for won, 0 for drawn, -1 for lost.
    pub values: Vec<(u16, i32)>,
}

impl ExamPosition {
    /// The position itself.
    pub fn position<G: Game>(&self, game: &G) -> G::State {
        let mut state = game.start();
        self.moves.iter().for_each(|action| game.play(&mut state, *action));
        state
    }

    /// True if some move loses value.
    #[must_use]
    pub fn matters(&self) -> bool {
        self.values.iter().any(|(_, value)| *value != self.values[0].1)
    }

    /// True if `action` keeps the value.
    #[must_use]
    pub fn keeps(&self, action: u16) -> bool {
        keeping(&self.values).contains(&action)
    }
}

/// Shares of value-keeping moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Marks {
    /// Positions, and those of them in which the value was kept.
    pub all: [usize; 2],
    /// The same of the positions in which a move loses value.
    pub mattering: [usize; 2],
}

impl Marks {
    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: Marks) -> Marks {
        let sum = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
        Marks { all: sum(self.all, other.all), mattering: sum(self.mattering, other.mattering) }
    }

    /// Share where it matters; 1 without such positions.
    #[must_use]
    pub fn share(&self) -> f64 {
        let [count, kept] = self.mattering;
        if count == 0 { 1.0 } else { kept as f64 / count as f64 }
    }

    /// Shares in percent with 95 % intervals: overall, and where it matters.
    #[must_use]
    pub fn describe(&self) -> String {
        let [all, mattering] = [self.all, self.mattering].map(|[count, kept]| share(kept, count));
        format!("{mattering} where it matters, {all} overall")
    }
}

/// A share in percent with its 95 % interval.
pub fn share(kept: usize, count: usize) -> String {
    let share = kept as f64 / count.max(1) as f64;
    let (low, high) = wilson(share, count as f64);
    format!("{:.1} % [{:.1}, {:.1}] of {count}", 100.0 * share, 100.0 * low, 100.0 * high)
}

/// Answers every question by `choose`.
pub fn mark<G: Game>(
    game: &G,
    questions: &[ExamPosition],
    mut choose: impl FnMut(&G::State) -> Option<u16>,
) -> Marks {
    let mut marks = Marks::default();
    for question in questions {
        let kept = choose(&question.position(game)).is_some_and(|action| question.keeps(action));
        let add =
            |[count, sum]: &mut [usize; 2]| (*count, *sum) = (*count + 1, *sum + usize::from(kept));
        add(&mut marks.all);
        if question.matters() {
            add(&mut marks.mattering);
        }
    }
    marks
}

/// The move with the highest probability, or the highest action value.
pub fn without_search<G: Game>(
    network: &BoardNet,
    game: &G,
    state: &G::State,
    by_values: bool,
) -> Option<u16> {
    let opinion = network.judge(game, &[state]).pop()?;
    let best = argmax(if by_values { &opinion.values } else { &opinion.policy })?;
    game.moves(state).get(best).copied()
}

/// Positions from a file, or, if there is none, new ones, which are written there. None if the board is too large for the solver, or
/// `keep_going` is false.
///
/// # Errors
/// The file is damaged or cannot be written.
pub fn questions<G: Solved>(
    game: &G,
    kind: Kind,
    count: usize,
    path: &Path,
    mut keep_going: impl FnMut(usize) -> bool,
) -> Result<Option<Vec<ExamPosition>>, LearnError> {
    if path.exists() {
        let known = read_questions(game, path)?;
        if known.len() < count {
            let what = format!("{} positions, expected {count}", known.len());
            return Err(LearnError::Damaged(path.to_owned(), what));
        }
        return Ok(Some(known));
    }
    let Some(mut solver) = game.solver() else { return Ok(None) };
    let mut random = Rng::new(2026 + kind as u64);
    let mut found: Vec<ExamPosition> = Vec::new();
    while found.len() < count {
        if !keep_going(found.len()) {
            return Ok(None);
        }
        found.extend(one_game(game, &mut *solver, kind, &mut random));
    }
    found.truncate(count);
    let lines = found.iter().map(|question| serde_json::to_string(question).unwrap_or_default());
    let text: String = lines.map(|line| line + "\n").collect();
    write_whole(path, text).map_err(FileError::of(path))?;
    Ok(Some(found))
}

/// The moves among which paper 000's generator chooses, given their values: all of them, or those that keep the value.
pub(super) fn generated(values: &[(u16, i32)], random: &mut Rng) -> Vec<u16> {
    if random.chance(RANDOM_SHARE) {
        return values.iter().map(|(action, _)| *action).collect();
    }
    keeping(values)
}

/// The moves that keep the value.
pub(super) fn keeping(values: &[(u16, i32)]) -> Vec<u16> {
    let best = values.iter().map(|(_, value)| *value).max();
    let kept = values.iter().filter(|(_, value)| Some(*value) == best);
    kept.map(|(action, _)| *action).collect()
}

/// The solved positions of one game; one alone of a random game, for neighbouring positions differ little.
fn one_game<G: Solved>(
    game: &G,
    solver: &mut dyn ValueOracle<G::State>,
    kind: Kind,
    random: &mut Rng,
) -> Vec<ExamPosition> {
    let (mut state, mut moves) = (game.start(), Vec::new());
    let mut found: Vec<ExamPosition> = Vec::new();
    let mut seen = Vec::new();
    loop {
        let mut choice = game.moves(&state);
        if choice.is_empty() {
            break;
        }
        if moves.len() >= game.first_solved_ply() {
            match kind {
                Kind::Random => seen.push((state.clone(), moves.clone())),
                Kind::Played => {
                    if let Some(values) = solver.verdicts(&state, SOLVER_NODES) {
                        choice = generated(&values, random);
                        found.push(ExamPosition { moves: moves.clone(), values });
                    }
                }
            }
        }
        let action = choice[random.below(choice.len())];
        game.play(&mut state, action);
        moves.push(action);
    }
    if !seen.is_empty() {
        let (state, moves) = seen.swap_remove(random.below(seen.len()));
        let values = solver.verdicts(&state, SOLVER_NODES);
        found.extend(values.map(|values| ExamPosition { moves, values }));
    }
    found
}

/// The positions of a file.
///
/// # Errors
/// The file cannot be read, or a line is no position of this game.
pub fn read_questions<G: Game>(game: &G, path: &Path) -> Result<Vec<ExamPosition>, LearnError> {
    let text = read_own_text(path)?;
    let question = |(at, line): (usize, &str)| {
        let fault =
            |what: String| LearnError::Damaged(path.to_owned(), format!("line {}: {what}", at + 1));
        let question: ExamPosition = serde_json::from_str(line)
            .map_err(|why| fault(format!("no solved position ({why})")))?;
        let mut state = game.start();
        for action in &question.moves {
            if !game.moves(&state).contains(action) {
                return Err(fault(format!("illegal move {action}")));
            }
            game.play(&mut state, *action);
        }
        let moves: Vec<u16> = question.values.iter().map(|(action, _)| *action).collect();
        if moves != game.moves(&state) || moves.is_empty() {
            return Err(fault("values of other moves than the legal ones".to_owned()));
        }
        Ok(question)
    };
    let found: Vec<ExamPosition> =
        text.lines().enumerate().map(question).collect::<Result<_, _>>()?;
    if found.is_empty() {
        return Err(LearnError::Damaged(path.to_owned(), "no solved positions".to_owned()));
    }
    Ok(found)
}

//! What the moves of internal searches give away, on positions with deep labels: the network's own first move, exact
//! minimax over the same boards, and a given writer.

use crate::measure::MeasureError;
use crate::measure::tune::compare::{Row, Table, rows};
use crate::measure::tune::labels::LabelledPosition;
use crate::measure::tune::trial::Choice;
use engine::chess::action::Action;
use engine::internal::boards::Boards;
use engine::internal::teacher::Teacher;
use engine::internal::think::{Task, think};
use engine::options::settings::Settings;
use nn::writer::{Backup, Shape, Writer};
use nn::{EvalError, Evaluator};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::cmp::Ordering;
use std::fmt;
use std::sync::atomic::{self, AtomicBool};

/// A greater regret counts as this: one game thrown away decides no comparison (as in `mavka-lab tune`).
pub(super) const CAP: f32 = 0.25;

/// How trees are written.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Breadth and depth of the trees.
    pub shape: Shape,
    /// How the writer is to back values up.
    pub backup: Backup,
    /// Words that do not fit the shape cannot be written.
    pub mask: bool,
}

/// The table: differences are from exact minimax, position by position.
pub struct Found {
    rows: Vec<Row>,
    /// Positions in which trees were written.
    positions: usize,
    overturned: Overturned,
}

/// What was made of one position.
struct Made {
    /// Of exact minimax, of the list's first move, and as written.
    choices: [Choice; 3],
    /// As written, another move is played than the list's first.
    overturned: bool,
}

/// Positions in which the tree written plays another move than the first of the network's list, by what that gives away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Overturned {
    better: usize,
    as_good: usize,
    worse: usize,
}

impl Overturned {
    fn add(&mut self, first: f32, written: f32) {
        *match written.total_cmp(&first) {
            Ordering::Less => &mut self.better,
            Ordering::Equal => &mut self.as_good,
            Ordering::Greater => &mut self.worse,
        } += 1;
    }
}

impl fmt::Display for Overturned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overturned { better, as_good, worse } = self;
        let all = better + as_good + worse;
        write!(f, "first choices overturned: {all}, {better} of them for a better move, ")?;
        write!(f, "{as_good} for one as good, {worse} for a worse one")
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} positions", self.positions)?;
        Table(&self.rows).fmt(f)?;
        write!(f, "\n{}", self.overturned)
    }
}

impl Trial {
    /// Writes the trees, on all cores, until `stop` is raised; `listen` hears of each position.
    ///
    /// # Errors
    /// There is no writer, or the network fails.
    pub fn run(
        &self,
        evaluator: &dyn Evaluator,
        positions: &[LabelledPosition],
        writer: &(dyn Fn() -> Result<Box<dyn Writer>, MeasureError> + Sync),
        stop: &AtomicBool,
        listen: &(dyn Fn() + Sync),
    ) -> Result<Found, MeasureError> {
        let choose = |position: &LabelledPosition| {
            let value = (&Settings::default()).into();
            let mut boards = Boards::new(evaluator, value)?;
            boards.set_root(&position.game, &[])?;
            let mut own = writer()?;
            let mut by = |writer: &mut dyn Writer, shape: Shape, backup: Backup| {
                let task = Task { shape, backup, mask: self.mask, stop: &|| false };
                let thought = think(&mut boards, writer, &task)?;
                let best = thought.ranked().first().map(|(action, _)| *action);
                Ok::<Action, EvalError>(best.unwrap_or(position.best))
            };
            let list = Shape { breadth: 1, depth: 0 };
            let moves = [
                by(&mut Teacher::default(), self.shape, Backup::Minimax)?,
                by(&mut Teacher::default(), list, Backup::Minimax)?,
                by(&mut *own, self.shape, self.backup)?,
            ];
            listen();
            let choices = moves.map(|action| Choice {
                regret: position.regret(action).min(CAP),
                best: action == position.best,
            });
            let [_, first, written] = moves;
            Ok(Made { choices, overturned: first != written })
        };
        let unless_stopped = |position| {
            (!stop.load(atomic::Ordering::Relaxed)).then(|| choose(position)).transpose()
        };
        let made: Result<Vec<Option<Made>>, MeasureError> =
            positions.par_iter().map(unless_stopped).collect();
        let made: Vec<_> = made?.into_iter().flatten().collect();
        let mut overturned = Overturned::default();
        for Made { choices: [_, first, written], .. } in made.iter().filter(|m| m.overturned) {
            overturned.add(first.regret, written.regret);
        }
        let choices: Vec<Vec<Choice>> = made.into_iter().map(|made| made.choices.into()).collect();
        let names = ["exact minimax", "first of the list", "as written"].map(str::to_owned);
        let rows = rows(&names, self.shape.nodes() as u64, &choices, &[]);
        Ok(Found { rows, positions: choices.len(), overturned })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::chess::game::Game;
    use engine::internal::teacher::Teacher;
    use engine::play::network::{Installed, Networks};
    use nn::device::Backend;

    #[test]
    fn minimax_by_hand_differs_in_nothing_from_exact_minimax() {
        let network = Installed.open(None, Backend::Cpu).unwrap();
        let position = |fen: &str| {
            let game = Game::from_fen(fen, false).unwrap();
            // Every move has another value.
            let values = game.legal_actions().into_iter().zip((0u8..).map(f32::from));
            let deep: Vec<_> = values.map(|(m, i)| (m, 0.6 - 0.01 * i)).collect();
            LabelledPosition { best: deep[0].0, game, deep, shallow: Vec::new() }
        };
        let positions = [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        ]
        .map(position);
        let shape = Shape { breadth: 3, depth: 1 };
        let trial = Trial { shape, backup: Backup::Minimax, mask: false };
        let by_hand = || Ok(Box::new(Teacher::default()) as Box<dyn Writer>);
        let stop = AtomicBool::new(false);
        let run = |by: &(dyn Fn() -> _ + Sync)| {
            trial.run(&*network.evaluator, &positions, by, &stop, &|| ())
        };
        let found = run(&by_hand).unwrap();
        let [exact, list, written] = found.rows.as_slice() else { panic!("three rows") };
        assert_eq!(exact.regret, written.regret);
        assert_eq!((written.regret.difference.mean, written.nodes), (0.0, 4));
        assert!(list.regret.own.mean > 0.0);
        let none = || Err(MeasureError::Refused("no writer".to_owned()));
        assert!(run(&none).is_err());
        stop.store(true, atomic::Ordering::Relaxed);
        assert_eq!((found.positions, run(&none).unwrap().positions), (2, 0));
    }

    #[test]
    fn overturned_choices_are_distinguished() {
        let mut overturned = Overturned::default();
        for (first, written) in [(0.2, 0.1), (0.1, 0.1), (0.0, 0.3), (0.3, 0.0)] {
            overturned.add(first, written);
        }
        let Overturned { better, as_good, worse } = overturned;
        assert_eq!((better, as_good, worse), (2, 1, 1));
    }
}

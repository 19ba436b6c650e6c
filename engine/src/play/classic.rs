//! The players of [`crate::conventional`] under the limits of a `go`: their clock, their reports.

use super::limits::Limits;
use super::report::Reporter;
use super::settings::{Search, Settings};
use super::signal::Signal;
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::conventional::evaluation::win;
use crate::conventional::negamax::{self, Pruning};
use crate::conventional::selective;
use crate::conventional::table::{MATE, MATES};
use crate::conventional::uct::{self, LeafValue};
use crate::conventional::{Found, Watch};
use crate::uci::output::Output;
use crate::world::scout::Scout;
use mcts::{Line, Snapshot, Wdl};
use shakmaty::Chess;
use std::sync::Arc;

/// Which of them plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classic {
    Tree(Pruning),
    Selective,
    Uct(LeafValue),
}

impl Classic {
    /// The player that the options ask for; None if it is none of these.
    #[must_use]
    pub fn of(settings: &Settings) -> Option<Classic> {
        match settings.search {
            Search::AlphaBeta => Some(Classic::Tree(Pruning::AlphaBeta)),
            Search::Selective => Some(Classic::Selective),
            Search::Minimax => Some(Classic::Tree(Pruning::None)),
            Search::Uct => Some(Classic::Uct(LeafValue::Rollouts(settings.rollouts))),
            Search::UctHeuristics => Some(Classic::Uct(LeafValue::Heuristics)),
            _ => None,
        }
    }
}

/// One search of theirs.
pub struct ClassicSearch<'a> {
    pub game: &'a Game,
    /// Legal, and not empty.
    pub allowed: &'a [Action],
    pub limits: &'a Limits,
    pub signal: &'a Signal,
    pub reporter: &'a Reporter,
    pub output: &'a Output,
    /// Seed of random games.
    pub seed: u64,
    /// What [`Classic::Selective`] searches with.
    pub scout: Option<Arc<Scout>>,
}

impl ClassicSearch<'_> {
    /// Searches until a limit is reached. None without moves. Blocks.
    #[must_use]
    pub fn run(&self, player: Classic) -> Option<Snapshot<Action>> {
        let (game, allowed) = (self.game, self.allowed);
        let mut watch = Watching { search: self, done: false };
        let found = match player {
            Classic::Tree(pruning) => {
                let depth = self.limits.depth;
                let question = negamax::Question { game, allowed, pruning, depth };
                negamax::search(&question, &mut watch)
            }
            Classic::Selective => {
                let keys = game.keys().iter().copied();
                let mut deepening = Deepening::new(watch);
                let scout = self.scout.as_ref()?;
                scout.search(game.position(), keys, allowed, &mut deepening).map(of_selective)
            }
            Classic::Uct(leaf) => {
                let (seed, playouts) = (self.seed, self.limits.nodes);
                let question = uct::Question { game, allowed, leaf, seed, playouts };
                uct::search(&question, &mut watch)
            }
        };
        found.map(|found| snapshot(&found))
    }
}

struct Watching<'a> {
    search: &'a ClassicSearch<'a>,
    /// What was sought is found.
    done: bool,
}

impl Watch for Watching<'_> {
    fn is_over(&mut self, nodes: u64) -> bool {
        let ClassicSearch { limits, signal, .. } = self.search;
        if signal.is_over() {
            return true;
        }
        if limits.infinite {
            return false;
        }
        let spent = match (limits.budget, signal.used()) {
            // A soft limit is one, since a new depth takes longer than all before it.
            (Some(budget), Some(used)) => used >= budget.soft.min(budget.hard),
            _ => false,
        };
        spent || self.done || limits.nodes.is_some_and(|most| nodes >= most)
    }

    fn heard(&mut self, found: &Found) {
        let ClassicSearch { limits, signal, reporter, output, .. } = self.search;
        output.block(&reporter.infos(&snapshot(found), signal.since_go()));
        let plies = found.mate_plies.filter(|plies| *plies > 0).map(i32::unsigned_abs);
        self.done |=
            plies.zip(limits.mate).is_some_and(|(plies, moves)| plies.div_ceil(2) <= moves)
                || limits.depth.is_some_and(|depth| found.depth >= depth);
    }
}

/// [`selective::search`] under the same limits. It ends between two depths once most of the time has gone, and within one only
/// at the hard limit.
struct Deepening<'a> {
    watching: Watching<'a>,
    nodes: u64,
    /// Depths in a row with the same best move.
    steady: u32,
    last: Option<selective::Found>,
}

impl<'a> Deepening<'a> {
    fn new(watching: Watching<'a>) -> Deepening<'a> {
        Deepening { watching, nodes: 0, steady: 0, last: None }
    }

    /// Another depth would hardly be finished, or there is nothing to choose.
    fn is_enough(&self, score: i32) -> bool {
        let ClassicSearch { limits, signal, allowed, .. } = self.watching.search;
        let (Some(budget), Some(used)) = (limits.budget, signal.used()) else { return false };
        let fell = self.last.as_ref().is_some_and(|last| score < last.score - FELL);
        let factor = STEADY[self.steady.min(4) as usize] * if fell { 1.5 } else { 1.0 };
        budget.flexible && (allowed.len() == 1 || used >= budget.soft.mul_f64(factor))
    }
}

/// Share of the soft limit after which no further depth is begun, by the number of depths that the best move has stood. Guess.
const STEADY: [f64; 5] = [1.2, 0.9, 0.7, 0.6, 0.5];
/// A score that falls by so many centipawns from one depth to the next asks for more time. Guess.
const FELL: i32 = 25;

impl selective::Watch for Deepening<'_> {
    fn is_over(&mut self, positions: u64, _: &Chess) -> bool {
        self.nodes += positions;
        let ClassicSearch { limits, signal, .. } = self.watching.search;
        let spent = match (limits.budget, signal.used()) {
            (Some(budget), Some(used)) => used >= budget.hard,
            _ => false,
        };
        signal.is_over()
            || !limits.infinite
                && (spent
                    || self.watching.done
                    || limits.nodes.is_some_and(|most| self.nodes >= most))
    }

    fn favourite(&self) -> Option<Action> {
        None
    }

    fn heard(&mut self, found: &selective::Found) {
        let best = |found: &selective::Found| found.line.first().copied();
        let same = self.last.as_ref().and_then(best) == best(found);
        self.steady = if same { self.steady + 1 } else { 0 };
        self.watching.heard(&of_selective(found.clone()));
        self.watching.done |= self.is_enough(found.score);
        self.last = Some(found.clone());
    }
}

fn of_selective(found: selective::Found) -> Found {
    let selective::Found { line, score, depth, nodes, .. } = found;
    let mate = (score.abs() >= MATES).then(|| score.signum() * (MATE - score.abs()));
    let seldepth = depth.max(line.len() as u32);
    Found { line, win: win(score), mate_plies: mate, depth, seldepth, nodes }
}

fn snapshot(found: &Found) -> Snapshot<Action> {
    let value = match found.mate_plies {
        Some(plies) if plies > 0 => Wdl::WIN,
        Some(_) => Wdl::LOSS,
        None => Wdl::from_score_and_draw(found.win, 0.0),
    };
    let line = Line {
        moves: found.line.clone(),
        visits: found.nodes,
        value,
        mate_plies: found.mate_plies,
        prior: 0.0,
        q: value.q(),
    };
    Snapshot {
        nodes: found.nodes,
        playouts: found.nodes,
        depth: found.depth,
        seldepth: found.seldepth,
        lines: vec![line],
        ..Snapshot::default()
    }
}

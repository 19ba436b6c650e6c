//! The players of [`crate::conventional`] under the limits of a `go`: their clock, their reports.

use super::limits::Limits;
use super::report::Reporter;
use super::settings::{Search, Settings};
use super::signal::Signal;
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::conventional::negamax::{self, Pruning};
use crate::conventional::uct::{self, LeafValue};
use crate::conventional::{Found, Watch};
use crate::uci::output::Output;
use mcts::{Line, Snapshot, Wdl};

/// Which of them plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classic {
    Tree(Pruning),
    Uct(LeafValue),
}

impl Classic {
    /// The player that the options ask for; None if it is none of these.
    #[must_use]
    pub fn of(settings: &Settings) -> Option<Classic> {
        match settings.search {
            Search::AlphaBeta => Some(Classic::Tree(Pruning::AlphaBeta)),
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

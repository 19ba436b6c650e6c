//! The players of [`crate::conventional`] under the limits of a `go`: their clock, their reports.

use super::limits::Limits;
use super::report::Reporter;
use super::settings::{Search, Settings};
use super::signal::Signal;
use super::steadiness::Steadiness;
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::conventional::evaluation::win;
use crate::conventional::negamax::{self, Pruning};
use crate::conventional::selective;
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
        let position = game.position();
        let mut watch = Watching { search: self, done: false };
        match player {
            Classic::Tree(pruning) => {
                let depth = self.limits.depth;
                let question = negamax::Question { game, allowed, pruning, depth };
                negamax::search(&question, &mut watch).as_ref().map(snapshot)
            }
            Classic::Selective => {
                let keys = game.keys().iter().copied();
                let steadiness = Steadiness::default();
                let mut deepening = Deepening { watching: watch, nodes: 0, steadiness };
                let lines = self.reporter.multipv();
                let question = selective::Question { position, allowed, lane: 0, lines };
                let found = self.scout.as_ref()?.search(keys, &question, &mut deepening);
                found.as_ref().map(of_selective)
            }
            Classic::Uct(leaf) => {
                let (seed, playouts) = (self.seed, self.limits.nodes);
                let question = uct::Question { game, allowed, leaf, seed, playouts };
                uct::search(&question, &mut watch).as_ref().map(snapshot)
            }
        }
    }
}

struct Watching<'a> {
    search: &'a ClassicSearch<'a>,
    /// What was sought is found.
    done: bool,
}

impl Watching<'_> {
    fn tell(&mut self, snapshot: &Snapshot<Action>) {
        let ClassicSearch { limits, signal, reporter, output, .. } = self.search;
        output.block(&reporter.infos(snapshot, signal.since_go()));
        let plies = snapshot.lines.first().and_then(|line| line.mate_plies);
        let plies = plies.filter(|plies| *plies > 0).map(i32::unsigned_abs);
        self.done |=
            plies.zip(limits.mate).is_some_and(|(plies, moves)| plies.div_ceil(2) <= moves)
                || limits.depth.is_some_and(|depth| snapshot.depth >= depth);
    }
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
        self.tell(&snapshot(found));
    }
}

/// [`selective::search`] under the same limits. It ends between two depths once most of the time has gone.
struct Deepening<'a> {
    watching: Watching<'a>,
    nodes: u64,
    steadiness: Steadiness,
}

impl Deepening<'_> {
    /// There is nothing to choose, or little hope of another depth.
    fn is_enough(&mut self) -> bool {
        let ClassicSearch { limits, signal, allowed, .. } = self.watching.search;
        match (limits.budget, signal.used()) {
            (Some(budget), Some(used)) if used >= budget.hard => true,
            (Some(budget), Some(used)) if budget.flexible => {
                allowed.len() == 1 || self.steadiness.is_enough(used, budget.soft)
            }
            _ => false,
        }
    }
}

impl selective::Watch for Deepening<'_> {
    fn is_over(&mut self, positions: u64, _: &Chess) -> bool {
        self.nodes += positions;
        let ClassicSearch { limits, signal, .. } = self.watching.search;
        let most = limits.nodes.is_some_and(|most| self.nodes >= most);
        signal.is_over() || !limits.infinite && (most || self.watching.done || self.is_enough())
    }

    fn favourite(&self) -> Option<Action> {
        None
    }

    fn heard(&mut self, found: &selective::Found) {
        if let Some(best) = found.best.line.first() {
            self.steadiness.hear(*best, win(found.best.score), found.depth);
        }
        self.watching.tell(&of_selective(found));
    }
}

fn of_selective(found: &selective::Found) -> Snapshot<Action> {
    let lines = found
        .variations()
        .map(|told| line(&told.line, win(told.score), told.mate_plies(), found.nodes));
    Snapshot {
        nodes: found.nodes,
        playouts: found.nodes,
        depth: found.depth,
        seldepth: found.seldepth.max(found.depth),
        lines: lines.collect(),
        ..Snapshot::default()
    }
}

fn snapshot(found: &Found) -> Snapshot<Action> {
    Snapshot {
        nodes: found.nodes,
        playouts: found.nodes,
        depth: found.depth,
        seldepth: found.seldepth,
        lines: vec![line(&found.line, found.win, found.mate_plies, found.nodes)],
        ..Snapshot::default()
    }
}

fn line(moves: &[Action], win: f32, mate_plies: Option<i32>, nodes: u64) -> Line<Action> {
    let value = match mate_plies {
        Some(plies) if plies > 0 => Wdl::WIN,
        Some(_) => Wdl::LOSS,
        None => Wdl::from_score_and_draw(win, 0.0),
    };
    Line {
        moves: moves.to_vec(),
        visits: nodes,
        value,
        mate_plies,
        prior: 0.0,
        q: value.q(),
        scouted: false,
    }
}

//! The players beside the tree search under the limits of a `go`, their clock and their reports: [`alphabeta`], and
//! those that an executable brings ([`super::player`]).

use super::player::{Player, PlayerRequest, PlayerResult, PlayerWatch};
use super::steadiness::Steadiness;
use crate::output::Output;
use crate::play::clock::limits::Limits;
use crate::play::clock::signal::Signal;
use crate::play::clock::timekeeper::Timekeeper;
use crate::play::report::Reporter;
use alphabeta::AlphaBeta;
use alphabeta::scale::win;
use chess::action::Action;
use chess::game::Game;
use mcts::{Line, Snapshot, Wdl};
use shakmaty::Chess;

/// One search of theirs.
pub struct ClassicSearch<'a> {
    pub game: &'a Game,
    /// Legal, and not empty.
    pub allowed: &'a [Action],
    pub limits: &'a Limits,
    pub signal: &'a Signal,
    pub reporter: &'a Reporter,
    pub output: &'a Output,
    /// Has the answer if the search ends late.
    pub timekeeper: &'a Timekeeper<'a>,
    /// Seed of random games.
    pub seed: u64,
}

impl ClassicSearch<'_> {
    /// Alpha-beta with a small network searches until a limit is reached. None without moves. Blocks.
    #[must_use]
    pub fn run_alpha_beta(&self, alpha_beta: &mut AlphaBeta) -> Option<Snapshot<Action>> {
        let keys = self.game.keys().iter().copied();
        let question = alphabeta::SearchRequest {
            position: self.game.position(),
            allowed: self.allowed,
            lines: self.reporter.multipv(),
            compare: None,
        };
        let steadiness = Steadiness::default();
        let mut deepening = Deepening { watching: self.watching(), nodes: 0, steadiness };
        alpha_beta.search(keys, &question, &mut deepening).as_ref().map(of_alpha_beta)
    }

    /// The same of a player that the executable brings; `rollouts` are its random games for each leaf.
    #[must_use]
    pub fn run_player(&self, player: &dyn Player, rollouts: usize) -> Option<Snapshot<Action>> {
        let question = PlayerRequest {
            game: self.game,
            allowed: self.allowed,
            depth: self.limits.depth,
            playouts: self.limits.nodes,
            rollouts,
            seed: self.seed,
        };
        player.search(&question, &mut self.watching()).as_ref().map(snapshot)
    }

    fn watching(&self) -> PlayerReporter<'_> {
        PlayerReporter { search: self, done: false }
    }
}

struct PlayerReporter<'a> {
    search: &'a ClassicSearch<'a>,
    /// The search has its answer.
    done: bool,
}

impl PlayerReporter<'_> {
    fn tell(&mut self, snapshot: Snapshot<Action>) {
        let ClassicSearch { limits, signal, reporter, output, timekeeper, .. } = self.search;
        output.block(&reporter.infos(&snapshot, signal.since_go()));
        let plies = snapshot.lines.first().and_then(|line| line.mate_plies);
        let plies = plies.filter(|plies| *plies > 0).map(i32::unsigned_abs);
        self.done |=
            plies.zip(limits.mate).is_some_and(|(plies, moves)| plies.div_ceil(2) <= moves)
                || limits.depth.is_some_and(|depth| snapshot.depth >= depth);
        timekeeper.on_found(snapshot);
    }
}

impl PlayerWatch for PlayerReporter<'_> {
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

    fn on_found(&mut self, found: &PlayerResult) {
        self.tell(snapshot(found));
    }
}

/// [`AlphaBeta::search`] under the same limits. It ends between two depths once most of the time has gone.
struct Deepening<'a> {
    watching: PlayerReporter<'a>,
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

impl alphabeta::Observer for Deepening<'_> {
    fn is_over(&mut self, positions: u64, _: &Chess) -> bool {
        self.nodes += positions;
        let ClassicSearch { limits, signal, .. } = self.watching.search;
        let most = limits.nodes.is_some_and(|most| self.nodes >= most);
        signal.is_over() || !limits.infinite && (most || self.watching.done || self.is_enough())
    }

    fn on_depth(&mut self, found: &alphabeta::SearchResult) {
        if let Some(best) = found.best.line.first() {
            self.steadiness.on_depth(*best, win(found.best.score), found.depth);
        }
        self.watching.tell(of_alpha_beta(found));
    }
}

fn of_alpha_beta(found: &alphabeta::SearchResult) -> Snapshot<Action> {
    let lines = found.variations().map(|variation| {
        line(&variation.line, win(variation.score), variation.mate_plies(), found.nodes)
    });
    Snapshot {
        nodes: found.nodes,
        playouts: found.nodes,
        depth: found.depth,
        seldepth: found.seldepth.max(found.depth),
        lines: lines.collect(),
        ..Snapshot::default()
    }
}

fn snapshot(found: &PlayerResult) -> Snapshot<Action> {
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
    Line { moves: moves.to_vec(), visits: nodes, value, mate_plies, prior: 0.0, q: value.q() }
}

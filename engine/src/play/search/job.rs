//! One search: what it needs, and what it answers.

use crate::options::settings::{Search, Settings};
use crate::output::Output;
use crate::play::clock::limits::Limits;
use crate::play::clock::signal::Signal;
use crate::play::network::Network;
use crate::play::network::loader::Ready;
use crate::play::network::timing::EvalTiming;
use crate::play::players::player::StaticPlayer;
use crate::play::players::strength::Strength;
use crate::play::tree::params::batch_within;
use crate::play::tree::session::SearchSession;
use chess::action::Action;
use chess::game::{Game, GameError};
use chess::syzygy::Tables;
use mcts::Snapshot;
use std::sync::Arc;
use std::time::Duration;

/// Everything one search needs.
pub struct Job {
    /// A refused position has no move, only a reason.
    pub game: Result<Game, GameError>,
    /// The limits of the `go`.
    pub limits: Limits,
    /// The options when it came.
    pub settings: Settings,
    /// The network that evaluates.
    pub network: Network,
    /// As measured when the network was loaded.
    pub timing: EvalTiming,
    /// The team's players after the first, with a network each.
    pub others: Vec<Ready>,
    /// Endgame tables, if there are any.
    pub tables: Option<Tables>,
    /// The tables that a level knows of basic mates.
    pub technique: Option<Tables>,
    /// State of earlier searches.
    pub session: SearchSession,
    /// Stop, ponderhit, the clock.
    pub signal: Arc<Signal>,
    /// The registered player that the options ask for.
    pub player: Option<StaticPlayer>,
    /// To the GUI.
    pub output: Output,
    /// Say more.
    pub debug: bool,
    /// For a move drawn at random.
    pub seed: u64,
}

/// An evaluation that any clock has time for: no clock is read more exactly, on the way through a GUI. Guess.
const SHORT_EVALUATION: Duration = Duration::from_millis(10);

/// The result of a search or a head.
pub struct Found {
    pub snapshot: Snapshot<Action>,
    pub answer: Answer,
}

/// The move played, and the reply to ponder on.
#[derive(Clone, Copy, Default)]
pub struct Answer {
    pub best: Option<Action>,
    pub ponder: Option<Action>,
}

impl Job {
    /// The moves to choose from.
    pub fn allowed(&self, game: &Game) -> Vec<Action> {
        let wished = &self.limits.searchmoves;
        if wished.is_empty() { game.legal_actions() } else { wished.clone() }
    }

    /// The rating to play at; none for an endless search, which is analysis.
    pub fn strength(&self) -> Option<Strength> {
        Strength::of(&self.settings).filter(|_| !self.limits.infinite)
    }

    /// How much of its soft limit the move took. A stop by the GUI or a pondered move says nothing about that.
    pub fn learn_time_use(&self, session: &mut SearchSession) {
        let own = !self.limits.ponder && !self.signal.is_stopped();
        if let Some(budget) = self.limits.budget.filter(|budget| own && budget.flexible) {
            session.learn_time_use(self.signal.since_go(), budget.soft);
        }
    }

    /// The root's evaluation cannot be interrupted. If a slow network takes longer for it than the clock runs, any move is
    /// better than the flag. Otherwise one is always made, for a move without an evaluation is a blunder.
    pub fn is_too_late(&self) -> bool {
        let single = self.timing.single;
        let Some(budget) = self.limits.budget.filter(|budget| budget.flexible) else {
            return false;
        };
        let is_late = |used| single > SHORT_EVALUATION && used + single > budget.flag;
        self.signal.used().is_some_and(is_late)
    }

    /// A move is asked for and no more: endgame tables may leave moves out.
    pub fn is_play(&self) -> bool {
        let Limits { searchmoves, infinite, mate, .. } = &self.limits;
        let Settings { multipv, analyse_mode, .. } = self.settings;
        multipv == 1 && !analyse_mode && !infinite && mate.is_none() && searchmoves.is_empty()
    }

    /// The search has a line for every move and draws none at random, so the tables may choose after it.
    pub fn compares_moves(&self) -> bool {
        let tree = matches!(self.settings.search, Search::Mcts | Search::Rollout);
        let draws = self.strength().is_some() || self.settings.temperature > 0.0;
        tree && !draws && self.limits.nodes != Some(1)
    }

    /// The minibatch of a network of this `timing` on the move's clock, one evaluation now taking `evaluation`.
    pub fn batch(&self, timing: EvalTiming, evaluation: Duration) -> usize {
        let preferred = self.settings.minibatch().unwrap_or(timing.batch.max(1));
        // A device's batches are bounded by the time left (`Stopper`).
        if timing.lanes > 0 { preferred } else { batch_within(&self.limits, preferred, evaluation) }
    }

    /// The tree's move is checked: it plays at full strength, and may choose.
    pub fn checks_blunders(&self, allowed: &[Action]) -> bool {
        let Limits { infinite, mate, .. } = self.limits;
        self.settings.checks_blunders()
            && self.strength().is_none()
            && !infinite
            && mate.is_none()
            && allowed.len() > 1
    }

    /// Playouts that the `go` or a level allows, if they limit it.
    pub fn playouts(&self) -> Option<u64> {
        let asked = self.limits.nodes.into_iter();
        asked.chain(self.strength().map(|strength| strength.nodes)).min()
    }
}

impl Found {
    /// The first line's moves are the answer.
    pub fn leading(snapshot: Snapshot<Action>) -> Found {
        let moves = snapshot.lines.first().map(|line| line.moves.as_slice()).unwrap_or_default();
        let answer = Answer { best: moves.first().copied(), ponder: moves.get(1).copied() };
        Found { snapshot, answer }
    }

    /// Neither a move nor a number.
    pub fn nothing() -> Found {
        Found { snapshot: Snapshot::default(), answer: Answer::default() }
    }
}

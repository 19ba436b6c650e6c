//! The player by internal search (paper 000, section 4): the tree is written word by word over the network's own
//! boards ([`crate::internal`]); this file chooses how large a tree may be, and reports it.
//!
//! Sizes form a ladder. A clock, or `infinite`, climbs it from the smallest tree on, within the options
//! `InternalBreadth` and `InternalDepth`: a larger tree asks only about boards that a smaller one has not. A fixed number of nodes, and no
//! limit at all, go straight to the largest. Rules that a tree does not know, repetitions and
//! fifty moves, are asked once, of the move to play.

use super::temperature;
use crate::internal::boards::Boards;
use crate::internal::page::centre;
use crate::internal::teacher::Teacher;
use crate::internal::think::{Task, Thought, ThoughtEnd, think};
use crate::options::settings::Settings;
use crate::output::Output;
use crate::play::clock::limits::Limits;
use crate::play::clock::signal::Signal;
use crate::play::network;
use crate::play::network::timing::EvalTiming;
use crate::play::report::Reporter;
use crate::world::rules::RulesState;
use chess::action::Action;
use chess::game::Game;
use mcts::{Line, Snapshot, Wdl};
use nn::writer::{Backup, Decoder, Shape, Writer};
use nn::{EvalError, Evaluator};
use std::time::Duration;

/// Trees from small to large, as (breadth, depth).
const LADDER: [(u8, u8); 8] = [(1, 0), (2, 1), (3, 1), (4, 1), (3, 2), (4, 2), (3, 3), (4, 3)];
/// Passes over one board: its state, then its list.
const PASSES: u32 = 2;
/// The bucket of a draw.
const LEVEL: u8 = 32;

/// One search.
pub struct Thinker<'a> {
    pub game: &'a Game,
    /// Legal, and not empty.
    pub allowed: &'a [Action],
    pub settings: &'a Settings,
    pub limits: &'a Limits,
    pub signal: &'a Signal,
    pub timing: EvalTiming,
    pub reporter: &'a Reporter,
    pub output: &'a Output,
    /// For a move drawn at random.
    pub seed: u64,
}

/// Its result.
pub struct Decision {
    /// The best line first.
    pub snapshot: Snapshot<Action>,
    /// The move to play.
    pub best: Action,
    /// Notes for the user.
    pub note: Option<String>,
}

impl Thinker<'_> {
    /// Thinks until the limits are reached. None without any answer in time.
    ///
    /// # Errors
    /// The network failed, or cannot be asked what follows a move.
    pub fn decide(&self, evaluator: &dyn Evaluator) -> Result<Option<Decision>, EvalError> {
        let mut boards = Boards::new(evaluator, self.settings.into())?;
        let all = self.allowed.len() == self.game.legal_actions().len();
        boards.set_root(self.game, if all { &[] } else { self.allowed })?;
        let mut writer = self.writer();
        let mut found: Option<Decision> = None;
        for shape in self.shapes() {
            if found.is_some() && !self.affords(shape, boards.evaluated()) {
                break;
            }
            let Some(decision) = self.think(&mut boards, &mut *writer, shape)? else { break };
            if let Some(before) = &found {
                self.output.block(&self.reporter.infos(&before.snapshot, self.signal.since_go()));
            }
            let note = found.and_then(|before| before.note);
            found = Some(Decision { note: decision.note.or(note), ..decision });
        }
        if found.is_none() {
            // Stopped in the first tree: the root's list is there.
            let least = Shape { breadth: 1, depth: 0 };
            let backup = Backup::Minimax;
            let task = Task { shape: least, backup, mask: true, stop: &|| false };
            let thought = think(&mut boards, &mut Teacher::default(), &task)?;
            found = self.read(&thought, boards.evaluated());
        }
        Ok(found)
    }

    /// The writer: the decoder, unless it is damaged or the options say otherwise.
    fn writer(&self) -> Box<dyn Writer> {
        if self.settings.trace_by_hand {
            return Box::new(Teacher::default());
        }
        match network::writer() {
            Ok(weights) => Box::new(Decoder::new(weights)),
            Err(why) => {
                self.output.note(format_args!("the built-in decoder cannot be used: {why}"));
                Box::new(Teacher::default())
            }
        }
    }

    /// By alpha-beta, unless more than the best move is asked for: of other moves it knows bounds.
    fn backup(&self) -> Backup {
        let draws = temperature::temperature(self.settings, self.game.position()).is_some();
        match self.settings.trace_pruning && self.settings.multipv == 1 && !draws {
            true => Backup::AlphaBeta,
            false => Backup::Minimax,
        }
    }

    /// One tree; None if it was stopped.
    fn think(
        &self,
        boards: &mut Boards<'_>,
        writer: &mut dyn Writer,
        shape: Shape,
    ) -> Result<Option<Decision>, EvalError> {
        let backup = self.backup();
        let decision = self.tree(boards, writer, shape, backup)?;
        let first = |decision: &Decision| decision.snapshot.lines.first()?.moves.first().copied();
        match decision {
            // The tree's own move repeats a position: how good the next one is alpha-beta has not found out.
            Some(found) if backup == Backup::AlphaBeta && first(&found) != Some(found.best) => {
                Ok(self.tree(boards, writer, shape, Backup::Minimax)?.or(Some(found)))
            }
            decision => Ok(decision),
        }
    }

    fn tree(
        &self,
        boards: &mut Boards<'_>,
        writer: &mut dyn Writer,
        shape: Shape,
        backup: Backup,
    ) -> Result<Option<Decision>, EvalError> {
        let mask = self.settings.trace_mask;
        let task = Task { shape, backup, mask, stop: &|| self.signal.is_over() };
        let thought = think(boards, writer, &task)?;
        if thought.end == ThoughtEnd::Stopped {
            return Ok(None);
        }
        let decision = self.read(&thought, boards.evaluated());
        Ok(decision.map(|decision| match &thought.end {
            ThoughtEnd::Broken(why) => {
                let note = format!(
                    "the tree of breadth {}, depth {} is broken: {why}",
                    shape.breadth, shape.depth
                );
                Decision { note: Some(note), ..decision }
            }
            _ => decision,
        }))
    }

    /// The trees to write, one after the other: the last is the largest that the limits allow.
    fn shapes(&self) -> Vec<Shape> {
        let options = Shape { breadth: self.settings.breadth, depth: self.settings.depth };
        let plies = self.limits.depth.map_or(u32::MAX, |depth| depth.saturating_sub(1));
        let boards = self.limits.nodes.unwrap_or(u64::MAX);
        let allowed = |shape: &Shape| {
            let depth = u32::from(shape.depth) <= plies.min(u32::from(options.depth));
            let size = shape.nodes() as u64 <= boards;
            depth && size && shape.breadth <= options.breadth
        };
        let ladder = LADDER.into_iter().map(|(breadth, depth)| Shape { breadth, depth });
        let mut shapes: Vec<Shape> = ladder.chain([options]).filter(allowed).collect();
        if shapes.is_empty() {
            shapes.push(Shape { breadth: 1, depth: 0 });
        }
        shapes.sort_by_key(|shape| shape.nodes());
        shapes.dedup();
        let climbs = self.limits.budget.is_some() || self.limits.infinite || self.limits.ponder;
        if climbs { shapes } else { shapes.pop().into_iter().collect() }
    }

    /// Whether the remaining time suffices to evaluate the boards that `shape` still needs.
    fn affords(&self, shape: Shape, asked: u64) -> bool {
        let (Some(budget), Some(used)) = (self.limits.budget, self.signal.used()) else {
            return true;
        };
        // Alpha-beta leaves out a third of the boards at depth 2, and more at depth 3.
        let pruned = self.backup() == Backup::AlphaBeta && shape.depth > 1;
        let boards = shape.nodes() as u64;
        let more = if pruned { boards * 2 / 3 } else { boards }.saturating_sub(asked);
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        // The time measured at load, or since, if that was slower.
        let lately = self.signal.since_go() / u32::try_from(asked.max(1)).unwrap_or(u32::MAX);
        let board = lately.max(PASSES * self.timing.single);
        let time = if budget.flexible { budget.soft } else { budget.hard };
        used + board.saturating_mul(more) < time.max(Duration::from_millis(1))
    }

    /// The lines and the move of a thought; None if no move of it is allowed.
    fn read(&self, thought: &Thought, asked: u64) -> Option<Decision> {
        let ranked = thought.ranked();
        let allowed: Vec<(Action, u8)> =
            ranked.iter().copied().filter(|(action, _)| self.allowed.contains(action)).collect();
        let (first, _) = *allowed.first()?;
        // Only moves that were looked into compare with the one chosen; at depth 0 those of the list do.
        let scored = allowed.iter().take(usize::from(thought.trace.shape().breadth).max(1));
        // Repetitions and fifty moves no board shows, and some ends are none to the network.
        let root = RulesState::root(self.game);
        let kept: Vec<(Action, u8)> = scored
            .copied()
            .filter(|(action, bucket)| *bucket <= LEVEL || !root.draws_with(*action))
            .collect();
        let place = self.draw(&kept).unwrap_or(0);
        let best = kept.get(place).map_or(first, |(action, _)| *action);
        let illegal = ranked.first().filter(|(action, _)| !self.allowed.contains(action));
        let note = illegal.map(|(action, _)| {
            format!("the tree plays {action:?}, which is not legal here; its next move is played")
        });
        let lines = allowed.iter().map(|(action, bucket)| Line {
            moves: thought.line(*action),
            visits: 0,
            value: Wdl::from_score_and_draw(centre(*bucket), 0.0),
            mate_plies: None,
            prior: 0.0,
            q: centre(*bucket),
        });
        let depth = u32::from(thought.trace.shape().depth) + 1;
        let snapshot = Snapshot {
            nodes: asked,
            playouts: asked,
            depth,
            seldepth: depth,
            lines: lines.collect(),
            ..Snapshot::default()
        };
        Some(Decision { snapshot, best, note })
    }

    /// The random choice among the first moves of a game, where the options ask for it: by value.
    fn draw(&self, moves: &[(Action, u8)]) -> Option<usize> {
        let temperature = temperature::temperature(self.settings, self.game.position())?;
        let values: Vec<f32> = moves.iter().map(|(_, bucket)| centre(*bucket)).collect();
        temperature::draw(&values, temperature, self.seed)
    }
}

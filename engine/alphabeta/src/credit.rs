//! Updates of the history tables after a node was searched.

use super::candidate::Node;
use super::history::HistoryContext;
use super::margins::{self, FailLow};
use super::moves::is_noisy;
use super::quiescence::Best;
use super::table::INFINITE;
use super::{Ply, Tree};
use arrayvec::ArrayVec;
use shakmaty::{Move, Role};

/// Maximum number of moves that get a malus.
const MAX_FAILED: usize = 32;
/// Penalty of an early previous move after a cutoff by the table: exclusive limit of its move count, and penalty.
const EARLY_MOVE_PENALTY: (i32, i32) = (5, -2_210);
/// Bonus of a capture after which no move reached alpha.
const GOOD_CAPTURE: i32 = 892;

/// Progress of a node's move loop.
pub(super) struct Tried {
    pub best: Best,
    /// Searched moves other than the best; the first of many.
    pub quiets: ArrayVec<Move, MAX_FAILED>,
    pub captures: ArrayVec<Move, MAX_FAILED>,
    /// Depth of the remaining moves: less once a move raised alpha.
    pub depth: i32,
    /// Moves tried.
    pub move_count: i32,
    /// Late move pruning: no more quiet moves.
    pub skip_quiets: bool,
}

impl Tried {
    pub fn new(alpha: i32, depth: i32) -> Tried {
        Tried {
            best: Best { score: -INFINITE, alpha, m: None },
            quiets: ArrayVec::new(),
            captures: ArrayVec::new(),
            depth,
            move_count: 0,
            skip_quiets: false,
        }
    }

    /// Records a move that did not become the best.
    pub fn add_failed(&mut self, m: Move) {
        if self.move_count <= MAX_FAILED as i32 {
            let list = if is_noisy(m) { &mut self.captures } else { &mut self.quiets };
            let _ = list.try_push(m);
        }
    }
}

impl Tree<'_> {
    /// After a cutoff by the table: bonus for its move, penalty for the previous move.
    pub(super) fn reward_tt_move(&mut self, history_context: &HistoryContext, m: Move, depth: i32) {
        if !is_noisy(m) {
            self.memory.history.update(history_context, m, margins::tt_cutoff_bonus(depth));
        }
        let (max_count, penalty) = EARLY_MOVE_PENALTY;
        if self.back(history_context.ply, 1).move_count < max_count {
            self.update_previous_continuation(history_context, penalty);
        }
    }

    /// Bonus of the previous quiet move for the change of the static eval.
    pub(super) fn reward_eval_gain(&mut self, history_context: &HistoryContext, static_eval: i32) {
        let HistoryContext { turn, ply, pawns, .. } = *history_context;
        let Ply { current_move, static_eval: before, check, .. } = *self.back(ply, 1);
        let quiet = current_move.filter(|m| !check && !m.is_capture());
        if let (Some(m), Some(before)) = (quiet, before) {
            let (turn, gain) = (turn.other(), margins::eval_gain_bonus(before + static_eval));
            self.memory.history.update_quiet(turn, m, 11 * gain);
            if !self.back(ply, 0).tt_hit && keeps_pawns(m) {
                self.memory.history.update_pawn(turn, m, pawns, 13 * gain);
            }
        }
    }

    /// Updates the histories after the move loop.
    pub(super) fn update_histories(&mut self, node: &Node<'_>, tried: &Tried) {
        let Node { window, history_context, .. } = node;
        let Tried { best, quiets, captures, depth, .. } = tried;
        let (depth, turn) = (*depth, history_context.turn);
        let Some(m) = best.m else {
            self.reward_previous_move(node, depth, best.score);
            return;
        };
        let Ply { current_move, stat_score, move_count, tt_hit, .. } = *self.back(window.ply, 1);
        let trusted = node.tt_move == Some(m);
        let (mut bonus, malus) = margins::best_move_bonus(depth, trusted, stat_score);
        if !window.pv {
            bonus += bonus * (quiets.len() + captures.len()) as i32 / 256;
            self.memory.history.update_tt_move(if trusted { 918 } else { -747 });
        }
        if is_noisy(m) {
            self.memory.history.update_capture(turn, m, bonus * 1_427 / 1_024);
        } else {
            let history = &mut self.memory.history;
            history.update(history_context, m, bonus * 899 / 1_024);
            // Later moves get a smaller malus.
            let mut penalty = malus * 1_159 / 1_024;
            for other in quiets {
                penalty = penalty * 921 / 1_024;
                history.update(history_context, *other, -penalty);
            }
        }
        if current_move.is_some() && move_count == 1 + i32::from(tt_hit) {
            self.update_previous_continuation(history_context, -malus * 713 / 1_024);
        }
        for other in captures {
            self.memory.history.update_capture(turn, *other, -malus * 1_489 / 1_024);
        }
    }

    /// Fail low: bonus for the previous move.
    fn reward_previous_move(&mut self, node: &Node<'_>, depth: i32, score: i32) {
        let HistoryContext { turn, ply, pawns, check: here, .. } = node.history_context;
        let turn = turn.other();
        let Ply { current_move, stat_score, move_count, static_eval, check, .. } =
            *self.back(ply, 1);
        let Some(m) = current_move else { return };
        if m.is_capture() {
            self.memory.history.update_capture(turn, m, GOOD_CAPTURE);
            return;
        }
        let [answer, quiet, pawn] = margins::fail_low_bonuses(FailLow {
            depth,
            stat_score,
            move_count,
            shortfall: node.static_eval.filter(|_| !here).map(|static_eval| static_eval - score),
            shortfall_before: static_eval
                .filter(|_| !check)
                .map(|static_eval| -static_eval - score),
        });
        self.update_previous_continuation(&node.history_context, answer);
        self.memory.history.update_quiet(turn, m, quiet);
        if keeps_pawns(m) {
            self.memory.history.update_pawn(turn, m, pawns, pawn);
        }
    }

    /// Continuation-history bonus of the previous quiet move.
    fn update_previous_continuation(&mut self, history_context: &HistoryContext, bonus: i32) {
        let HistoryContext { turn, ply, .. } = *history_context;
        let Ply { current_move, check, .. } = *self.back(ply, 1);
        if ply > 0
            && let Some(m) = current_move.filter(|m| !m.is_capture())
        {
            let recent = self.recent(ply - 1);
            self.memory.history.update_continuation(turn.other(), m, &recent, check, bonus);
        }
    }
}

/// Whether a move leaves the pawns, and so the index of the pawn history, unchanged.
fn keeps_pawns(m: Move) -> bool {
    m.role() != Role::Pawn
}

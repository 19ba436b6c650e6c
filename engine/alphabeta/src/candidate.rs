//! Pruning and reduction of a single move, before it is searched.

use super::Tree;
use super::attack::{Checks, Threats};
use super::correction::CorrectionIndices;
use super::history::HistoryContext;
use super::margins;
use super::moves::is_noisy;
use super::scale::{piece_value, wins};
use super::table::{Bound, MATES, TtEntry};
use super::window::Window;
use shakmaty::{Chess, Move, Position};

/// A node whose moves are searched.
pub(super) struct Node<'a> {
    pub position: &'a Chess,
    pub key: u64,
    pub window: Window,
    /// Index of its moves in the history tables.
    pub history_context: HistoryContext,
    /// Its entries in the correction history.
    pub indices: CorrectionIndices,
    /// Transposition table entry with a score.
    pub entry: Option<TtEntry>,
    /// The table's move.
    pub tt_move: Option<Move>,
    /// Corrected static eval; in check, that of two plies ago, if any.
    pub static_eval: Option<i32>,
    /// Correction of the static eval, in units of [`Corrections::points`](super::correction::Corrections::points).
    pub correction: i32,
    /// Static eval is higher than two plies ago.
    pub improving: bool,
    /// On a principal variation, now or by the table.
    pub was_pv: bool,
    pub checks: Checks,
    pub threats: Threats,
    /// The mover's non-pawn material.
    pub pieces: i32,
}

impl Node<'_> {
    /// Expected to fail low.
    pub fn is_all(&self) -> bool {
        !(self.window.pv || self.window.cut_node)
    }

    /// The table's move is a capture or a promotion to a queen.
    pub fn tt_move_is_noisy(&self) -> bool {
        self.tt_move.is_some_and(is_noisy)
    }
}

/// A move about to be searched.
pub(super) struct Candidate {
    pub m: Move,
    pub depth: i32,
    /// Counted from 1.
    pub move_count: i32,
    pub alpha: i32,
    /// Best score so far.
    pub best: i32,
    /// Reduction by depth and move count, in [`margins::PLY`]ths.
    pub base_reduction: i32,
    pub gives_check: bool,
    /// Capture or promotion to a queen.
    pub noisy: bool,
    /// Continuation history with the last move and with the one before it.
    pub continuation: [i32; 2],
}

/// Result of pruning a move.
pub(super) enum Verdict {
    Search,
    /// Skip it.
    Skip,
    /// Skip it; the node's score is at least this fail-soft bound.
    SkipWith(i32),
}

impl Tree<'_> {
    /// Prunes a move by static exchange evaluation, history and futility.
    pub(super) fn prune_move(&self, node: &Node<'_>, candidate: &Candidate) -> Verdict {
        let Candidate { m, depth, alpha, .. } = *candidate;
        let (position, turn, history) = (node.position, node.position.turn(), &self.memory.history);
        let lmr_depth = depth - 1 - candidate.base_reduction / margins::PLY;
        if candidate.noisy || candidate.gives_check {
            let history_score = history.capture_score(turn, m);
            let futility_value = margins::capture_futility(lmr_depth, history_score)
                .filter(|_| !candidate.gives_check)
                .zip(node.static_eval)
                .map(|(futility_value, static_eval)| {
                    static_eval + futility_value + m.capture().map_or(0, piece_value)
                });
            // The last piece may be sacrificed for stalemate.
            let may_lose = alpha < 0 && node.pieces == piece_value(m.role());
            let loss = margins::capture_see_margin(depth, history_score);
            return match () {
                () if futility_value.is_some_and(|futility_value| futility_value <= alpha) => {
                    Verdict::Skip
                }
                () if !may_lose && !wins(position, m, -loss) => Verdict::Skip,
                () => Verdict::Search,
            };
        }
        if node.window.pv && self.back(node.window.ply, 0).follows_pv {
            return Verdict::Search;
        }
        let pawns = history.pawn_score(turn, m, node.history_context.pawns);
        let continuation = candidate.continuation[0] + candidate.continuation[1] + pawns;
        if margins::is_bad_continuation(depth, continuation) {
            return Verdict::Skip;
        }
        let lmr_depth =
            lmr_depth + margins::history_plies(depth, continuation, history.quiet_score(turn, m));
        if let Some(static_eval) = node.static_eval.filter(|_| !node.history_context.check)
            && let Some(futility_value) = margins::quiet_futility(lmr_depth, static_eval > alpha)
            && static_eval + futility_value <= alpha
        {
            return Verdict::SkipWith(static_eval + futility_value);
        }
        let loss = margins::quiet_see_margin(lmr_depth.max(0));
        if wins(position, m, -loss) { Verdict::Search } else { Verdict::Skip }
    }

    /// Late move reduction, in [`margins::PLY`]ths.
    pub(super) fn reduction(&mut self, node: &Node<'_>, candidate: &Candidate) -> i32 {
        let Candidate { m, depth, move_count, alpha, noisy, continuation, .. } = *candidate;
        let Window { ply, cut_node, pv, .. } = node.window;
        let (turn, history) = (node.position.turn(), &self.memory.history);
        let is = i32::from;
        let history_score = if noisy {
            873 * m.capture().map_or(0, piece_value) / 128 + history.capture_score(turn, m)
        } else {
            (2_252 * history.quiet_score(turn, m)
                + 1_126 * continuation[0]
                + 1_093 * continuation[1])
                / 1_024
        };
        let mut reduction =
            candidate.base_reduction + 697 - 65 * move_count - node.correction.abs() / 26_310;
        if node.was_pv {
            let high = node.entry.is_none_or(|entry| entry.score > alpha);
            let deep = node.entry.is_some_and(|entry| entry.depth >= depth);
            reduction -=
                3_023 + 1_004 * is(pv) + 885 * is(high) + is(deep) * (816 + 940 * is(cut_node));
        }
        if cut_node {
            reduction += 4_026 + 933 * is(node.tt_move.is_none());
        }
        reduction += 1_079 * is(node.tt_move_is_noisy());
        let cutoff_count = self.back(ply + 1, 0).cutoff_count;
        if cutoff_count > 1 {
            reduction += 264 + 1_095 * is(cutoff_count > 2) + 1_138 * is(node.is_all());
        } else if node.tt_move == Some(m) {
            reduction -= 2_179;
        }
        self.at(ply).stat_score = history_score;
        reduction -= history_score * 439 / 4_096;
        if node.is_all() {
            reduction += reduction * 276 / (256 * depth + 268);
        }
        reduction
    }
}

/// Small ProbCut: a cutoff if the table's lower bound is far above beta.
pub(super) fn small_probcut(window: Window, entry: Option<TtEntry>) -> Option<i32> {
    let Window { depth, beta, ply, .. } = window;
    let threshold = beta + margins::SMALL_PROBCUT_MARGIN;
    let entry = entry.filter(|entry| ply > 0 && entry.depth >= depth - 4)?;
    let is_low = entry.bound != Bound::Upper;
    (is_low && (threshold..MATES).contains(&entry.score) && beta.abs() < MATES).then_some(threshold)
}

//! Node-level pruning: razoring, reverse futility, null move, internal iterative reduction, ProbCut.

use super::Tree;
use super::history::HistoryContext;
use super::margins;
use super::moves::{add_noisy, is_noisy};
use super::order::{Hints, Purpose, Rankings};
use super::quiescence::{Best, Evals};
use super::scale::{non_pawn_material, wins};
use super::table::{Bound, MATES, TtEntry};
use super::window::Window;
use chess::action::Action;
use chess::ending;
use shakmaty::{Chess, Move, MoveList, Position};

/// Input of node-level pruning.
#[derive(Clone, Copy)]
pub(super) struct PruneInput {
    pub evals: Evals,
    /// Static eval is higher than two plies ago; the opponent's last move worsened its eval.
    pub improving: bool,
    pub worsening: bool,
    /// Correction of the static eval.
    pub correction: i32,
    /// Transposition table entry with a score.
    pub entry: Option<TtEntry>,
    /// The table's move.
    pub tt_move: Option<Move>,
    /// Index of its moves in the history tables.
    pub history_context: HistoryContext,
}

impl Tree<'_> {
    /// Whether a table cutoff is sound: at high depth, the entry of the position after the table's move must agree.
    pub(super) fn verify_tt_cutoff(
        &self,
        position: &Chess,
        key: u64,
        entry: &TtEntry,
        tt_move: Option<Move>,
        window: Window,
    ) -> bool {
        let Window { depth, beta, ply, .. } = window;
        if position.halfmoves() >= margins::MAX_HALFMOVES {
            return false;
        }
        let m = tt_move.filter(|m| {
            depth >= margins::TT_VERIFICATION_DEPTH
                && entry.score.abs() < MATES
                && position.is_legal(*m)
        });
        let Some(m) = m else { return true };
        let mut next = position.clone();
        let next = ending::play_keyed(&mut next, key, m);
        let after =
            self.memory.table.get(next, ply + 1).filter(|after| after.bound != Bound::Unknown);
        after.is_none_or(|after| (entry.score >= beta) == (-after.score >= beta))
    }

    /// A score if the node is cut off. Sets `input.improving` if the static eval reaches beta.
    pub(super) fn prune(
        &mut self,
        position: &Chess,
        window: &mut Window,
        input: &mut PruneInput,
    ) -> Option<i32> {
        let PruneInput { evals, improving, worsening, correction, entry, tt_move, .. } = *input;
        let Evals { static_eval, tt_eval, .. } = evals;
        let Window { depth, alpha, beta, ply, cut_node, pv } = *window;
        if !pv && tt_eval < alpha - margins::razor_margin(depth) {
            return Some(self.quiesce(position, alpha, beta, ply));
        }
        let at = self.back(ply, 0);
        let (was_pv, excludes, follows_pv) = (at.pv, at.excluded.is_some(), at.follows_pv);
        let futility_margin =
            margins::futility_margin(depth, improving, worsening, at.tt_hit, correction)
                .filter(|_| !was_pv && tt_move.is_none_or(is_noisy));
        if futility_margin.is_some_and(|futility_margin| tt_eval - futility_margin >= beta)
            && (beta..MATES).contains(&tt_eval)
            && beta > -MATES
        {
            return Some(margins::blend_with_beta(beta, tt_eval));
        }
        let allows_null_move = cut_node
            && !excludes
            && static_eval >= beta + margins::null_move_margin(depth, improving)
            && beta >= margins::NULL_MOVE_MIN_BETA
            && ply >= self.null_move_min_ply
            && non_pawn_material(position) > 0;
        if allows_null_move && let Some(score) = self.try_null_move(position, *window, static_eval)
        {
            return Some(score);
        }
        input.improving |= static_eval >= beta;
        // Internal iterative reduction.
        let lacks_tt_move =
            !follows_pv && (pv || cut_node) && depth >= margins::IIR_DEPTH && tt_move.is_none();
        window.depth -= i32::from(lacks_tt_move);
        let (margin, _) = margins::probcut(input.improving);
        let below_probcut = entry.is_some_and(|entry| entry.score < beta + margin);
        if ply > 0 && window.depth >= margins::PROBCUT_DEPTH && beta.abs() < MATES && !below_probcut
        {
            self.try_probcut(position, *window, *input)
        } else {
            None
        }
    }

    /// Null-move pruning (Donninger 1993).
    fn try_null_move(&mut self, position: &Chess, window: Window, static_eval: i32) -> Option<i32> {
        let Window { depth, beta, ply, .. } = window;
        let depth_after = depth - margins::null_move_reduction(depth, static_eval - beta);
        let next = position.clone().swap_turn().ok()?;
        (self.at(ply).current_move, self.at(ply).continuation_key) = (None, None);
        self.enter(ending::key(&next));
        let score = -self.negamax(&next, depth_after, -beta, 1 - beta, ply + 1, false);
        self.memory.keys.pop();
        if self.stopped {
            return Some(0);
        }
        if !(beta..MATES).contains(&score) {
            return None;
        }
        if self.null_move_min_ply > 0 || depth < margins::NULL_VERIFICATION_DEPTH {
            return Some(score);
        }
        // Verification against zugzwang.
        self.null_move_min_ply = ply + (3 * depth_after.max(0) / 4) as usize;
        let verification = self.negamax(position, depth_after, beta - 1, beta, ply, false);
        self.null_move_min_ply = 0;
        (self.stopped || verification >= beta).then_some(score)
    }

    /// ProbCut (Buro 1995): a capture that beats beta by a margin in a reduced search.
    fn try_probcut(&mut self, position: &Chess, window: Window, input: PruneInput) -> Option<i32> {
        let Window { depth, beta, ply, cut_node, .. } = window;
        let (margin, reduction) = margins::probcut(input.improving);
        let (probcut_beta, depth) = (beta + margin, depth - reduction);
        let excluded = self.at(ply).excluded;
        let mut moves = MoveList::new();
        add_noisy(position, &mut moves);
        if moves.is_empty() {
            return None;
        }
        self.refresh_accumulator(position, ply);
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let hints = Hints {
            tt_move: input.tt_move.map(Action::new),
            history_context: input.history_context,
        };
        let mut rankings = Rankings::new();
        let mut picker = self.order(position, &mut moves, hints, &Purpose::Captures, &mut rankings);
        while let Some(m) = picker.next(&self.memory.history, false) {
            if excluded == Some(Action::new(m))
                || !wins(position, m, probcut_beta - input.evals.static_eval)
            {
                continue;
            }
            let next = self.play(position, key, m, ply);
            let mut score = -self.quiesce(&next, -probcut_beta, 1 - probcut_beta, ply + 1);
            if score >= probcut_beta && depth > 0 && !self.stopped {
                score = -self.negamax(
                    &next,
                    depth,
                    -probcut_beta,
                    1 - probcut_beta,
                    ply + 1,
                    !cut_node,
                );
            }
            self.memory.keys.pop();
            if self.stopped {
                return Some(0);
            }
            if score >= probcut_beta {
                let best = Best { score, alpha: score, m: Some(m) };
                let found =
                    best.entry(probcut_beta - 1, probcut_beta, depth + 1, Some(input.evals.raw));
                let pv = self.at(ply).pv;
                self.memory.table.put(key, ply, TtEntry { pv, ..found });
                if score.abs() < MATES {
                    return Some(score - margin);
                }
            }
        }
        None
    }
}

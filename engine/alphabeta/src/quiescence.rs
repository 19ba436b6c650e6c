//! Quiescence search, static evaluation, and the stack of plies.

use super::attack::Checks;
use super::correction::Corrections;
use super::history::{CONTINUATIONS, ContinuationKey, HistoryContext, RecentMoves};
use super::moves::{add_first, is_noisy};
use super::order::{Hints, MovePicker, Purpose, Rankings};
use super::scale::{MAX_EVAL, centipawns_of_logit, piece_value, points, wins};
use super::table::{Bound, MATE, MATES, TtEntry};
use super::{MAX_PLY, Ply, Tree};
use chess::action::Action;
use chess::ending::{self, key_before};
use shakmaty::{Chess, Move, MoveList, Position};

/// Nodes between two polls of the stop condition.
const POLL_INTERVAL: u64 = 16;
/// Futility margin of captures.
const FUTILITY_MARGIN: i32 = 306;
/// Captures beyond this count are skipped, unless they give check, promote or recapture.
const MAX_CAPTURES: usize = 2;
/// SEE threshold.
const SEE_MARGIN: i32 = 74;

impl Tree<'_> {
    /// Polls the stop condition.
    pub(super) fn poll_stop(&mut self, position: &Chess) -> bool {
        let more = self.nodes - self.reported;
        if more >= POLL_INTERVAL {
            self.reported = self.nodes;
            self.stopped |= self.watch.is_over(more, position);
        }
        self.stopped
    }

    /// Static eval in points for the side to move.
    fn evaluate(&mut self, position: &Chess, ply: usize) -> i32 {
        let memory = &mut *self.memory;
        let logit = memory.nnue.evaluate(&mut memory.accumulators, ply, position);
        points(centipawns_of_logit(logit)).clamp(-MAX_EVAL, MAX_EVAL)
    }

    /// Refreshes the accumulator: if the eval came from the table, the children's updates would span several moves.
    pub(super) fn refresh_accumulator(&mut self, position: &Chess, ply: usize) {
        let memory = &mut *self.memory;
        memory.nnue.follow(&mut memory.accumulators, ply, position);
    }

    /// Static evals; `correction` is the correction. None in check.
    pub(super) fn evaluate_node(
        &mut self,
        position: &Chess,
        ply: usize,
        entry: Option<TtEntry>,
        correction: i32,
    ) -> Option<Evals> {
        if self.back(ply, 0).check {
            return None;
        }
        let raw = entry.and_then(|entry| entry.static_eval);
        let raw = raw.unwrap_or_else(|| self.evaluate(position, ply));
        let static_eval = (raw + Corrections::points(correction)).clamp(-MAX_EVAL, MAX_EVAL);
        let better = entry.filter(|entry| entry.score.abs() < MATES && entry.corrects(static_eval));
        let tt_eval = better.map_or(static_eval, |entry| entry.score);
        Some(Evals { raw, static_eval, tt_eval })
    }

    /// Quiescence search: captures and promotions to queens, or standing pat. In check: all evasions, no standing pat.
    pub(super) fn quiesce(&mut self, position: &Chess, alpha: i32, beta: i32, ply: usize) -> i32 {
        if self.poll_stop(position) {
            return 0;
        }
        let zero_window = beta - alpha == 1;
        if !zero_window {
            self.memory.lines.clear(ply);
            self.seldepth = self.seldepth.max(ply);
        }
        if self.is_drawn(position, ply) {
            return 0;
        }
        if ply >= MAX_PLY {
            // In check at the maximum ply is not mate.
            return self.evaluate(position, ply);
        }
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let entry = self.memory.table.get(key, ply);
        if let Some(entry) = entry.filter(|entry| zero_window && entry.decides(alpha, beta)) {
            return entry.score;
        }
        let check = position.is_check();
        let at = self.at(ply);
        (at.check, at.tt_hit) = (check, entry.is_some());
        let recent = self.recent(ply);
        let indices = Corrections::indices(position, &recent);
        let correction = if check { 0 } else { self.memory.corrections.of(&indices) };
        let evals = self.evaluate_node(position, ply, entry, correction);
        let raw = evals.map(|evals| evals.raw);
        self.at(ply).static_eval = evals.map(|evals| evals.static_eval);
        let stand_pat = evals.map_or(ply as i32 - MATE, |evals| evals.tt_eval);
        let mut best = Best { score: stand_pat, alpha: alpha.max(stand_pat), m: None };
        if stand_pat >= beta {
            if stand_pat.abs() < MATES {
                best.score = (441 * stand_pat + 583 * beta) / 1_024;
            }
            if entry.is_none() {
                self.store_eval(key, ply, raw, false);
            }
            return best.score;
        }
        let futility_base = evals.map_or(-MATE, |evals| evals.static_eval + FUTILITY_MARGIN);
        let hint = entry.and_then(|entry| entry.action);
        let mut moves = MoveList::new();
        add_first(position, check, &mut moves);
        let purpose = if check { Purpose::Evasions } else { Purpose::Captures };
        if !moves.is_empty() {
            self.refresh_accumulator(position, ply);
        }
        let checks = (!check && !moves.is_empty()).then(|| Checks::new(position));
        let recapture_square = self.back(ply, 1).current_move.map(|m| m.to());
        let mut rankings = Rankings::new();
        let history_context =
            HistoryContext { turn: position.turn(), recent, check, ply, pawns: indices.pawns };
        let hints = Hints { tt_move: hint, history_context };
        let mut picker = self.order(position, &mut moves, hints, &purpose, &mut rankings);
        let mut move_count = 0;
        while let Some(m) = picker.next(&self.memory.history, false) {
            let index = move_count;
            move_count += 1;
            if best.score > -MATES {
                let is_forcing = recapture_square == Some(m.to()) || m.is_promotion();
                let gives_check = |checks: &Checks| checks.gives_check(position, m);
                if !check && !is_forcing && !checks.as_ref().is_some_and(gives_check) {
                    if index >= MAX_CAPTURES {
                        continue;
                    }
                    let futility_value = futility_base + m.capture().map_or(0, piece_value);
                    if futility_value <= best.alpha {
                        best.score = best.score.max(futility_value);
                        continue;
                    }
                    if !wins(position, m, best.alpha - futility_base) {
                        best.score = best.score.max(best.alpha.min(futility_base));
                        continue;
                    }
                }
                if !is_noisy(m) || !wins(position, m, -SEE_MARGIN) {
                    continue;
                }
            }
            let next = self.play(position, key, m, ply);
            let score = -self.quiesce(&next, -beta, -best.alpha, ply + 1);
            self.memory.keys.pop();
            if self.stopped {
                return 0;
            }
            if best.offer(m, score, 0) && !zero_window {
                self.memory.lines.update(ply, m);
            }
            if best.alpha >= beta {
                break;
            }
        }
        if best.score > beta && best.score.abs() < MATES {
            best.score = (462 * best.score + 562 * beta) / 1_024;
        }
        // An entry of a deeper search stays.
        if entry.is_none_or(|entry| entry.depth <= 0) {
            let pv = entry.is_some_and(|entry| entry.pv);
            self.memory.table.put(key, ply, TtEntry { pv, ..best.entry(alpha, beta, 0, raw) });
        }
        best.score
    }

    /// Saves the raw static eval without a score.
    pub(super) fn store_eval(&self, key: u64, ply: usize, static_eval: Option<i32>, pv: bool) {
        let entry = TtEntry { bound: Bound::Unknown, static_eval, pv, ..TtEntry::default() };
        self.memory.table.put(key, ply, entry);
    }

    /// Stack entry of this ply.
    pub(super) fn at(&mut self, ply: usize) -> &mut Ply {
        &mut self.memory.plies[ply + Ply::BEFORE]
    }

    pub(super) fn back(&self, ply: usize, plies: usize) -> &Ply {
        &self.memory.plies[ply + Ply::BEFORE - plies]
    }

    /// The moves that led to this ply.
    #[inline]
    pub(super) fn recent(&self, ply: usize) -> RecentMoves {
        let at = ply + Ply::BEFORE;
        let mut recent = [None; CONTINUATIONS];
        for (to, of) in
            recent.iter_mut().zip(self.memory.plies[at - CONTINUATIONS..at].iter().rev())
        {
            *to = of.continuation_key;
        }
        recent
    }

    /// Makes a move: pushes the key, updates the stack and returns the position. `key` is that of `position`.
    pub(super) fn play(&mut self, position: &Chess, key: u64, m: Move, ply: usize) -> Chess {
        self.nodes += 1;
        let key_after = ending::key_after(position, key, m);
        if let Some(key) = key_after {
            // Prefetch as early as possible.
            self.memory.table.prefetch(key);
        }
        let mut next = position.clone();
        next.play_unchecked(m);
        self.memory.keys.push(key_after.unwrap_or_else(|| ending::key(&next)));
        let at = self.at(ply);
        at.current_move = Some(m);
        at.continuation_key = Some(ContinuationKey::new(position.turn(), m, at.check));
        next
    }

    /// Prefetches and pushes the key of the next position.
    pub(super) fn enter(&mut self, key: u64) {
        self.memory.table.prefetch(key);
        self.memory.keys.push(key);
    }

    /// Draw by repetition or insufficient material.
    pub(super) fn is_drawn(&self, position: &Chess, ply: usize) -> bool {
        let keys = &self.memory.keys;
        ending::repeats(position, |plies| key_before(keys, plies), ply)
            || position.is_insufficient_material()
    }

    pub(super) fn order<'a>(
        &self,
        position: &'a Chess,
        moves: &'a mut MoveList,
        hints: Hints,
        purpose: &'a Purpose<'a>,
        rankings: &'a mut Rankings,
    ) -> MovePicker<'a> {
        MovePicker::new(position, moves, purpose, hints, &self.memory.history, rankings)
    }
}

/// Static evals of a position that is not in check.
#[derive(Clone, Copy)]
pub(super) struct Evals {
    /// The network's output.
    pub raw: i32,
    /// With the correction history.
    pub static_eval: i32,
    /// The table's score, if its bound is tighter.
    pub tt_eval: i32,
}

impl Evals {
    /// Evals of an excluded search, from the stack.
    pub fn from_stack(static_eval: i32) -> Evals {
        Evals { raw: static_eval, static_eval, tt_eval: static_eval }
    }
}

/// Best move and score so far.
pub(super) struct Best {
    pub score: i32,
    /// Score that a move must exceed.
    pub alpha: i32,
    /// The last move that raised alpha.
    pub m: Option<Move>,
}

impl Best {
    /// True if the move raises alpha. With a `favour` of 1, an equal score does, too.
    pub fn offer(&mut self, m: Move, score: i32, favour: i32) -> bool {
        let raises_alpha = score + favour > self.alpha.max(self.score);
        self.score = self.score.max(score);
        if raises_alpha {
            (self.alpha, self.m) = (score, Some(m));
        }
        raises_alpha
    }

    /// Transposition table entry of a search between `alpha` and `beta`.
    pub fn entry(&self, alpha: i32, beta: i32, depth: i32, static_eval: Option<i32>) -> TtEntry {
        let bound = Bound::of(self.score, alpha, beta);
        let action = self.m.map(Action::new);
        TtEntry { action, score: self.score, depth, bound, static_eval, pv: false }
    }
}

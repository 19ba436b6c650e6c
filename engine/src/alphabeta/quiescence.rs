//! The search behind the last ply: captures, until nothing hangs. And what every position is asked: what the network says of it,
//! and which of its moves come first.

use super::attack::Checks;
use super::correction::Corrections;
use super::history::{ANSWERED, Past, Prompt, Setting};
use super::moves::{add_first, is_loud};
use super::order::{Hints, Ordered, Purpose, Rankings};
use super::scale::{MOST, centipawns_of_logit, piece_value, points, wins};
use super::table::{Bound, Known, MATE, MATES};
use super::{DEEPEST, Ply, Tree};
use crate::chess::action::Action;
use crate::chess::ending::{self, key_before};
use shakmaty::{Chess, Move, MoveList, Position};

/// Positions between two questions whether that is enough.
const PATIENCE: u64 = 16;
/// A capture that lifts the evaluation to no more than this below alpha is not looked at.
const HOPELESS: i32 = 306;
/// More moves than these are not looked at unless they give check or take back.
const TAKEN: usize = 2;
/// What a move may lose by exchanges.
const LOSS: i32 = 74;

impl Tree<'_> {
    /// Whether that is enough.
    pub(super) fn is_over(&mut self, position: &Chess) -> bool {
        let more = self.nodes - self.reported;
        if more >= PATIENCE {
            self.reported = self.nodes;
            self.over |= self.watch.is_over(more, position);
        }
        self.over
    }

    /// Points from the mover's view, the position being quiet, so many plies below the root.
    fn evaluate(&mut self, position: &Chess, ply: usize) -> i32 {
        let memory = &mut *self.memory;
        let logit = memory.nnue.evaluate(&mut memory.accumulators, ply, position);
        points(centipawns_of_logit(logit)).clamp(-MOST, MOST)
    }

    /// Where the network's answer came from elsewhere, what follows it would have to make up for more than one move.
    pub(super) fn prepare(&mut self, position: &Chess, ply: usize) {
        let memory = &mut *self.memory;
        memory.nnue.follow(&mut memory.accumulators, ply, position);
    }

    /// What the network says of the position, and better guesses. `error` is what to correct it by. None in check.
    pub(super) fn judge(
        &mut self,
        position: &Chess,
        ply: usize,
        known: Option<Known>,
        error: i32,
    ) -> Option<Judged> {
        if self.back(ply, 0).check {
            return None;
        }
        let raw = known.and_then(|known| known.still);
        let raw = raw.unwrap_or_else(|| self.evaluate(position, ply));
        let still = (raw + Corrections::points(error)).clamp(-MOST, MOST);
        let better = known.filter(|known| known.score.abs() < MATES && known.corrects(still));
        let likely = better.map_or(still, |known| known.score);
        Some(Judged { raw, still, likely })
    }

    /// Captures and promotions to queens only, until nothing hangs; the mover may stand still instead. In check, all
    /// moves, and it may not.
    pub(super) fn quiesce(&mut self, position: &Chess, alpha: i32, beta: i32, ply: usize) -> i32 {
        if self.is_over(position) {
            return 0;
        }
        let narrow = beta - alpha == 1;
        if !narrow {
            self.memory.lines.clear(ply);
            self.seldepth = self.seldepth.max(ply);
        }
        if self.is_drawn(position, ply) {
            return 0;
        }
        if ply >= DEEPEST {
            // A check at the deepest ply is not yet a mate.
            return self.evaluate(position, ply);
        }
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let known = self.memory.table.get(key, ply);
        if let Some(known) = known.filter(|known| narrow && known.decides(alpha, beta)) {
            return known.score;
        }
        let check = position.is_check();
        let at = self.at(ply);
        (at.check, at.known) = (check, known.is_some());
        let past = self.past(ply);
        let places = Corrections::places(position, &past);
        let error = if check { 0 } else { self.memory.corrections.of(&places) };
        let judged = self.judge(position, ply, known, error);
        let raw = judged.map(|judged| judged.raw);
        self.at(ply).still = judged.map(|judged| judged.still);
        let stands = judged.map_or(ply as i32 - MATE, |judged| judged.likely);
        let mut best = Best { score: stands, alpha: alpha.max(stands), m: None };
        if stands >= beta {
            if stands.abs() < MATES {
                best.score = (441 * stands + 583 * beta) / 1_024;
            }
            if known.is_none() {
                self.note(key, ply, raw, false);
            }
            return best.score;
        }
        let base = judged.map_or(-MATE, |judged| judged.still + HOPELESS);
        let hint = known.and_then(|known| known.action);
        let mut moves = MoveList::new();
        add_first(position, check, &mut moves);
        let purpose = if check { Purpose::Evade } else { Purpose::Take };
        if !moves.is_empty() {
            self.prepare(position, ply);
        }
        // In check it does not matter.
        let checks = (!check && !moves.is_empty()).then(|| Checks::new(position));
        let before = self.back(ply, 1).moved.map(|m| m.to());
        let mut rankings = Rankings::new();
        let setting = Setting { turn: position.turn(), past, check, ply, pawns: places.pawns };
        let hints = Hints { first: hint, setting };
        let mut ordered = self.order(position, &mut moves, hints, &purpose, &mut rankings);
        let mut tried = 0;
        while let Some(m) = ordered.next(&self.memory.history, false) {
            let number = tried;
            tried += 1;
            if best.score > -MATES {
                let forced = before == Some(m.to()) || m.is_promotion();
                let gives_check = |checks: &Checks| checks.are_given_by(position, m);
                if !check && !forced && !checks.as_ref().is_some_and(gives_check) {
                    if number >= TAKEN {
                        continue;
                    }
                    let hope = base + m.capture().map_or(0, piece_value);
                    if hope <= best.alpha {
                        best.score = best.score.max(hope);
                        continue;
                    }
                    if !wins(position, m, best.alpha - base) {
                        best.score = best.score.max(best.alpha.min(base));
                        continue;
                    }
                }
                if !is_loud(m) || !wins(position, m, -LOSS) {
                    continue;
                }
            }
            let next = self.play(position, key, m, ply);
            let score = -self.quiesce(&next, -beta, -best.alpha, ply + 1);
            self.memory.keys.pop();
            if self.over {
                return 0;
            }
            if best.offer(m, score, 0) && !narrow {
                self.memory.lines.keep(ply, m);
            }
            if best.alpha >= beta {
                break;
            }
        }
        if best.score > beta && best.score.abs() < MATES {
            best.score = (462 * best.score + 562 * beta) / 1_024;
        }
        // What was searched deeper is worth more.
        if known.is_none_or(|known| known.depth <= 0) {
            let pv = known.is_some_and(|known| known.pv);
            self.memory.table.put(key, ply, Known { pv, ..best.known(alpha, beta, 0, raw) });
        }
        best.score
    }

    /// Remembers what the network says, and nothing else.
    pub(super) fn note(&self, key: u64, ply: usize, still: Option<i32>, pv: bool) {
        let known = Known { bound: Bound::Unknown, still, pv, ..Known::default() };
        self.memory.table.put(key, ply, known);
    }

    /// What is kept of the line at a ply, and at one before it.
    pub(super) fn at(&mut self, ply: usize) -> &mut Ply {
        &mut self.memory.plies[ply + Ply::BEFORE]
    }

    pub(super) fn back(&self, ply: usize, plies: usize) -> &Ply {
        &self.memory.plies[ply + Ply::BEFORE - plies]
    }

    /// The moves before this ply of the line.
    #[inline]
    pub(super) fn past(&self, ply: usize) -> Past {
        let at = ply + Ply::BEFORE;
        let mut past = [None; ANSWERED];
        for (to, of) in past.iter_mut().zip(self.memory.plies[at - ANSWERED..at].iter().rev()) {
            *to = of.prompt;
        }
        past
    }

    /// The position after a move, which is searched next. `key` is that of the position before it.
    pub(super) fn play(&mut self, position: &Chess, key: u64, m: Move, ply: usize) -> Chess {
        self.nodes += 1;
        let known = ending::key_after(position, key, m);
        if let Some(key) = known {
            // As early as can be: the memory is far away.
            self.memory.table.expect(key);
        }
        let mut next = position.clone();
        next.play_unchecked(m);
        self.memory.keys.push(known.unwrap_or_else(|| ending::key(&next)));
        let at = self.at(ply);
        at.moved = Some(m);
        at.prompt = Some(Prompt::new(position.turn(), m, at.check));
        next
    }

    /// A position with this key is searched next.
    pub(super) fn enter(&mut self, key: u64) {
        self.memory.table.expect(key);
        self.memory.keys.push(key);
    }

    /// By repetition or for want of pieces.
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
    ) -> Ordered<'a> {
        Ordered::new(position, moves, purpose, hints, &self.memory.history, rankings)
    }
}

/// What is thought of a quiet position before it is searched.
#[derive(Clone, Copy)]
pub(super) struct Judged {
    /// By the network.
    pub raw: i32,
    /// Corrected by what it got wrong in positions alike.
    pub still: i32,
    /// By the table if that knows better.
    pub likely: i32,
}

impl Judged {
    /// Of a position whose evaluation is known already, and nothing else.
    pub fn again(still: i32) -> Judged {
        Judged { raw: still, still, likely: still }
    }
}

/// What the moves of a position came to so far.
pub(super) struct Best {
    pub score: i32,
    /// What a move must be better than to count.
    pub alpha: i32,
    /// The last that was.
    pub m: Option<Move>,
}

impl Best {
    /// True if the move counts. With a `favour` of 1 it does where it is as good as the best one.
    pub fn offer(&mut self, m: Move, score: i32, favour: i32) -> bool {
        let counts = score + favour > self.alpha.max(self.score);
        self.score = self.score.max(score);
        if counts {
            (self.alpha, self.m) = (score, Some(m));
        }
        counts
    }

    /// For the table, where the search began between `alpha` and `beta`.
    pub fn known(&self, alpha: i32, beta: i32, depth: i32, still: Option<i32>) -> Known {
        let bound = Bound::of(self.score, alpha, beta);
        let action = self.m.map(Action::new);
        Known { action, score: self.score, depth, bound, still, pv: false }
    }
}

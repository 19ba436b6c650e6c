//! The search of one position: what is left out, what is searched how deep. The numbers are rules of thumb, near which the
//! bench of labelled positions is flat.

use super::correction::{Corrections, Places};
use super::history::{self, Arrival, Past, is_quiet};
use super::order::{Hints, Ordered, Ranked};
use super::{DEEPEST, Tree};
use crate::chess::action::Action;
use crate::chess::ending::{self, by_fifty_moves, key_before, recurrences};
use crate::conventional::evaluation::{centipawns, value};
use crate::conventional::exchange;
use crate::conventional::table::{Bound, INFINITE, Known, MATE, MATES};
use shakmaty::{Chess, Move, MoveList, Position, Role};
use std::sync::LazyLock;

/// Positions between two questions whether that is enough.
const PATIENCE: u64 = 16;
/// No evaluation says more, so that none is taken for a mate.
const MOST: i32 = 20_000;
/// So far above beta for each ply left that no threat is likely to change it.
const AHEAD: i32 = 75;
/// So far below alpha for each of the last plies that only captures can help.
const BEHIND: i32 = 250;
/// A quiet move is futile that leaves the evaluation so far below alpha, and once more for each ply left.
const FUTILE: i32 = 90;
/// A capture at the end of a line that lifts the evaluation to no more than this below alpha is not looked at.
const HOPELESS: i32 = 120;
/// What a move may lose in exchanges: a quiet one by the square of the plies left, a capture by the plies left.
const QUIET_LOSS: i32 = 30;
const CAPTURE_LOSS: i32 = 90;
/// From so many plies on it is asked whether the table's move is the only good one.
const SINGULAR: i32 = 6;
/// The others are so much worse that it is searched two plies deeper.
const FAR: i32 = 25;
/// A ply of late moves' reduction.
const PLY: i32 = 1024;
/// A move's history that is worth a ply.
const GOOD: i32 = 8192;

/// Plies, in [`PLY`]s, that a move is searched less deep by, by depth and number of the move.
static REDUCTIONS: LazyLock<[[i32; 64]; 64]> = LazyLock::new(|| {
    let by = |depth: usize, number: usize| match (depth as f32).ln() * (number as f32).ln() {
        product if product.is_finite() => ((0.8 + product / 2.2) * PLY as f32) as i32,
        _ => 0,
    };
    std::array::from_fn(|depth| std::array::from_fn(|number| by(depth, number)))
});

impl Tree<'_> {
    /// Counts a position; true if it was one too many.
    fn counts(&mut self, position: &Chess) -> bool {
        self.nodes += 1;
        self.over |= self.nodes.is_multiple_of(PATIENCE) && self.watch.is_over(PATIENCE, position);
        self.over
    }

    /// Centipawns from the mover's view, the position being quiet, so many plies below the root.
    fn evaluate(&mut self, position: &Chess, ply: usize) -> i32 {
        let memory = &mut *self.memory;
        let logit = memory.nnue.evaluate(&mut memory.accumulators, ply, position);
        centipawns(logit).clamp(-MOST, MOST)
    }

    /// Where the network's answer came from elsewhere, what follows it would have to make up for more than one move.
    fn prepare(&mut self, position: &Chess, ply: usize) {
        let memory = &mut *self.memory;
        memory.nnue.follow(&mut memory.accumulators, ply, position);
    }

    /// What the network says of the position, and better guesses. None in check.
    fn judge(&mut self, position: &Chess, ply: usize, known: Option<Known>) -> Option<Judged> {
        if position.is_check() {
            return None;
        }
        let raw = known.and_then(|known| known.still);
        let raw = raw.unwrap_or_else(|| self.evaluate(position, ply));
        let places = Corrections::places(position, history::past(&self.memory.moved, ply));
        let still = (raw + self.memory.corrections.of(places)).clamp(-MOST, MOST);
        let better = known.filter(|known| known.score.abs() < MATES && known.corrects(still));
        let likely = better.map_or(still, |known| known.score);
        Some(Judged { raw, still, likely, places })
    }

    /// The score of a position for its mover. `fails` says that beta is likely to be reached.
    pub(super) fn negamax(
        &mut self,
        position: &Chess,
        depth: i32,
        alpha: i32,
        beta: i32,
        ply: usize,
        fails: bool,
    ) -> i32 {
        let narrow = beta - alpha == 1;
        if !narrow {
            self.memory.lines.clear(ply);
        }
        if depth <= 0 || ply >= DEEPEST {
            return self.quiesce(position, alpha, beta, ply);
        }
        if self.counts(position) {
            return 0;
        }
        let check = position.is_check();
        if ply > 0 && self.is_drawn(position) {
            return 0;
        }
        // No line is worth more than a mate that was already found elsewhere.
        let (alpha, beta) = (alpha.max(ply as i32 - MATE), beta.min(MATE - ply as i32 - 1));
        if alpha >= beta {
            return alpha;
        }
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let known = self.memory.table.get(key, ply);
        let excluded = self.memory.excluded[ply];
        // Where the best line may pass, it is to be known to its end.
        let enough = |known: &Known| narrow && known.depth >= depth && excluded.is_none();
        if let Some(known) = known.filter(enough)
            && known.decides(alpha, beta)
        {
            return known.score;
        }
        let hint = known.and_then(|known| known.action);
        // Without a move to begin with, a shallower search finds one for the next time.
        let unknown = hint.is_none() && depth >= 4 && (!narrow || fails);
        let depth = depth - i32::from(unknown);
        let judged = self.judge(position, ply, known);
        let still = judged.map(|judged| judged.still);
        let before = ply.checked_sub(2).and_then(|ply| self.memory.stills[ply]);
        let improving = before.is_some_and(|before| still.is_some_and(|still| still > before));
        self.memory.stills[ply] = still;
        self.memory.killers[ply + 1] = [None; 2];
        let window = Window { depth, alpha, beta, ply, fails, improving };
        if let Some(judged) = judged.filter(|_| narrow && excluded.is_none())
            && let Some(score) = self.prune(position, window, judged)
        {
            return score;
        }
        let mut moves = position.legal_moves();
        if ply == 0 && !self.allowed.is_empty() {
            moves.retain(|m| self.allowed.contains(&Action::new(*m)));
        }
        if moves.is_empty() {
            return if check { ply as i32 - MATE } else { 0 };
        }
        if by_fifty_moves(position) {
            return 0;
        }
        self.prepare(position, ply);
        let turn = position.turn();
        let past = history::past(&self.memory.moved, ply);
        let mut ordered = self.order(position, &moves, ply, hint, past);
        let has_pieces = has_pieces(position);
        let mut best = Best { score: -INFINITE, alpha, m: None };
        let mut tried = MoveList::new();
        let mut quiets = 0;
        for (number, Ranked { m, loses, history }) in ordered.by_ref().enumerate() {
            if excluded.is_some_and(|excluded| excluded == Action::new(m)) {
                continue;
            }
            let quiet = is_quiet(m);
            let known_for = match history {
                _ if !quiet => 0,
                Some(history) => history,
                None => self.memory.history.of_quiet(turn, m, past),
            };
            let late = REDUCTIONS[depth.min(63) as usize][(number + 1).min(63)];
            if ply > 0 && best.score > -MATES && has_pieces {
                let left = (depth - late / PLY).max(0);
                let skipped = if quiet {
                    let enough = (3 + depth * depth) / (2 - i32::from(improving));
                    let hope =
                        judged.map(|judged| judged.likely + FUTILE * (left + 1) + known_for / 128);
                    !check
                        && (quiets >= enough
                            || left <= 7 && hope.is_some_and(|hope| hope <= best.alpha))
                        || left <= 8 && !exchange::wins(position, m, -QUIET_LOSS * left * left)
                } else {
                    loses && depth <= 7 && !exchange::wins(position, m, -CAPTURE_LOSS * depth)
                };
                if skipped {
                    continue;
                }
            }
            quiets += i32::from(quiet);
            let longer = match known.filter(|_| ply > 0 && hint == Some(Action::new(m))) {
                Some(known) if excluded.is_none() && depth >= SINGULAR => {
                    match self.extend(position, known, window) {
                        Extension::Plies(plies) => plies,
                        Extension::Refuted(score) => return score,
                    }
                }
                _ => 0,
            };
            let mut next = position.clone();
            self.enter(ending::play_keyed(&mut next, key, m));
            self.memory.moved[ply] = Some(Arrival::new(turn, m));
            let gives_check = next.is_check();
            let full = depth - 1 + longer.max(i32::from(gives_check && depth <= 6));
            let mut score = INFINITE;
            if number > usize::from(ply == 0) && depth >= 2 && (quiet || loses) {
                let less = if quiet { late - known_for * PLY / GOOD } else { late - PLY / 2 }
                    - if narrow { 0 } else { PLY }
                    + if fails { PLY } else { 0 }
                    + if improving { 0 } else { 2 * PLY / 5 }
                    - if gives_check { PLY } else { 0 }
                    - if check { PLY / 2 } else { 0 };
                let less = (less / PLY).clamp(0, (full - 1).max(0));
                if less > 0 {
                    score = -self.negamax(
                        &next,
                        full - less,
                        -best.alpha - 1,
                        -best.alpha,
                        ply + 1,
                        true,
                    );
                }
            }
            if score > best.alpha && (narrow || number > 0) {
                score = -self.negamax(&next, full, -best.alpha - 1, -best.alpha, ply + 1, !fails);
            }
            if !narrow && (number == 0 || score > best.alpha) {
                score = -self.negamax(&next, full, -beta, -best.alpha, ply + 1, false);
            }
            self.memory.keys.pop();
            if self.over {
                // At the root what was found so far counts.
                return if ply == 0 { best.score } else { 0 };
            }
            if best.offer(m, score) && !narrow {
                self.memory.lines.keep(ply, m);
            }
            if best.alpha >= beta {
                if quiet {
                    self.kills(m, ply);
                }
                self.memory.history.refuted(turn, m, &tried, past, depth);
                break;
            }
            tried.push(m);
        }
        if excluded.is_some() {
            return best.score;
        }
        let found = best.known(alpha, beta, depth, judged.map(|judged| judged.raw));
        if let Some(judged) = judged
            && best.m.is_none_or(is_quiet)
            && best.score.abs() < MATES
            && found.corrects(judged.still)
        {
            self.memory.corrections.learn(judged.places, best.score - judged.still, depth);
        }
        self.memory.table.put(key, ply, found);
        best.score
    }

    /// How much further the table's move is looked at: where all others are worse by a margin, it is the position's only one
    /// (singular extensions: Anantharaman, Campbell & Hsu 1990, as Stockfish does them).
    fn extend(&mut self, position: &Chess, known: Known, window: Window) -> Extension {
        let Window { depth, beta, alpha, ply, fails, .. } = window;
        let near = known.depth >= depth - 3 && known.bound != Bound::Upper;
        if !near || known.score.abs() >= MATES || ply as i32 >= 2 * self.depth {
            return Extension::Plies(0);
        }
        let narrow = beta - alpha == 1;
        let bar = known.score - 2 * depth;
        self.memory.excluded[ply] = known.action;
        let moved = self.memory.moved[ply];
        let score = self.negamax(position, (depth - 1) / 2, bar - 1, bar, ply, fails);
        self.memory.moved[ply] = moved;
        self.memory.excluded[ply] = None;
        match score {
            _ if self.over => Extension::Plies(0),
            _ if score < bar => Extension::Plies(1 + i32::from(narrow && score < bar - FAR)),
            // Another move refutes as well.
            _ if bar >= beta => Extension::Refuted(bar),
            _ => Extension::Plies(0),
        }
    }

    /// The score if no move needs to be looked at.
    fn prune(&mut self, position: &Chess, window: Window, judged: Judged) -> Option<i32> {
        let Judged { still, likely, .. } = judged;
        let Window { depth, alpha, beta, ply, fails, improving } = window;
        let mates = alpha <= -MATES || beta >= MATES;
        if mates || likely.abs() >= MATES {
            return None;
        }
        if depth <= 8 && likely - AHEAD * (depth - i32::from(improving)) >= beta {
            return Some(i32::midpoint(likely, beta));
        }
        if depth <= 3 && likely + BEHIND * depth < alpha {
            let score = self.quiesce(position, alpha, beta, ply);
            if self.over || score <= alpha {
                return Some(score);
            }
        }
        let answers = ply > 0 && self.memory.moved[ply - 1].is_some();
        let may_pass = answers && depth >= 2 && likely >= beta;
        if may_pass && still + 20 * depth - 100 >= beta && has_pieces(position) {
            let less = 3 + depth / 3 + ((likely - beta) / 200).min(3);
            let next = position.clone().swap_turn().ok()?;
            self.memory.moved[ply] = None;
            self.enter(ending::key(&next));
            let score = -self.negamax(&next, depth - less, -beta, 1 - beta, ply + 1, !fails);
            self.memory.keys.pop();
            if self.over {
                return Some(0);
            }
            if score >= beta {
                return Some(if score >= MATES { beta } else { score });
            }
        }
        None
    }

    /// Captures and promotions to queens only, until nothing hangs; the mover may stand still instead. In check, all
    /// moves, and it may not.
    pub(super) fn quiesce(&mut self, position: &Chess, alpha: i32, beta: i32, ply: usize) -> i32 {
        if self.counts(position) {
            return 0;
        }
        let narrow = beta - alpha == 1;
        if !narrow {
            self.memory.lines.clear(ply);
        }
        if position.is_insufficient_material() {
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
        let judged = self.judge(position, ply, known);
        let raw = judged.map(|judged| judged.raw);
        let stands = judged.map_or(ply as i32 - MATE, |judged| judged.likely);
        let mut best = Best { score: stands, alpha: alpha.max(stands), m: None };
        if stands < beta {
            let hint = known.and_then(|known| known.action);
            let moves = match judged {
                None => position.legal_moves(),
                Some(_) => loud_moves(position),
            };
            if !moves.is_empty() {
                self.prepare(position, ply);
            }
            let past = history::past(&self.memory.moved, ply);
            let mut ordered = self.order(position, &moves, ply, hint, past);
            for (number, Ranked { m, loses, .. }) in ordered.by_ref().enumerate() {
                let lost = best.score <= -MATES;
                let gain = m.capture().map_or(0, value) + m.promotion().map_or(0, value);
                let skipped = match judged {
                    // Once an answer to the check is found, captures that lose and quiet moves seldom help.
                    None => loses || number >= 2 && !m.is_capture(),
                    Some(_) => loses || stands + gain + HOPELESS <= best.alpha,
                };
                if !lost && skipped {
                    continue;
                }
                let mut next = position.clone();
                self.enter(ending::play_keyed(&mut next, key, m));
                self.memory.moved[ply] = Some(Arrival::new(position.turn(), m));
                let score = -self.quiesce(&next, -beta, -best.alpha, ply + 1);
                self.memory.keys.pop();
                if self.over {
                    return 0;
                }
                if best.offer(m, score) && !narrow {
                    self.memory.lines.keep(ply, m);
                }
                if best.alpha >= beta {
                    break;
                }
            }
        }
        // What was searched deeper is worth more.
        if known.is_none_or(|known| known.depth <= 0) {
            self.memory.table.put(key, ply, best.known(alpha, beta, 0, raw));
        }
        best.score
    }

    /// A position with this key is searched next.
    fn enter(&mut self, key: u64) {
        self.memory.table.expect(key);
        self.memory.keys.push(key);
    }

    /// By repetition (once is enough: whoever steered back can do so again) or for want of pieces.
    fn is_drawn(&self, position: &Chess) -> bool {
        let keys = &self.memory.keys;
        recurrences(position, |plies| key_before(keys, plies)).next().is_some()
            || position.is_insufficient_material()
    }

    fn kills(&mut self, m: Move, ply: usize) {
        let action = Action::new(m);
        let [first, second] = &mut self.memory.killers[ply];
        if *first != Some(action) {
            *second = first.replace(action);
        }
    }

    #[inline(always)]
    fn order<'a>(
        &self,
        position: &Chess,
        moves: &'a MoveList,
        ply: usize,
        hint: Option<Action>,
        past: Past,
    ) -> Ordered<'a> {
        let (history, killers) = (&self.memory.history, self.memory.killers[ply]);
        Ordered::new(position, moves, &Hints { known: hint, killers, history, past })
    }
}

/// What is thought of a quiet position before it is searched.
#[derive(Clone, Copy)]
struct Judged {
    /// By the network.
    raw: i32,
    /// Corrected by what it got wrong in positions alike.
    still: i32,
    /// By the table if that knows better.
    likely: i32,
    places: Places,
}

/// What looking for other good moves came to.
enum Extension {
    /// The table's move is searched so much deeper.
    Plies(i32),
    /// The position's score is beta at least.
    Refuted(i32),
}

/// Where a position stands in the search.
#[derive(Clone, Copy)]
struct Window {
    depth: i32,
    alpha: i32,
    beta: i32,
    ply: usize,
    /// Beta is likely to be reached.
    fails: bool,
    /// The evaluation is better than two plies ago.
    improving: bool,
}

/// What the moves of a position came to so far.
struct Best {
    score: i32,
    /// What a move must be better than to count.
    alpha: i32,
    /// The last that was.
    m: Option<Move>,
}

impl Best {
    /// True if the move counts.
    fn offer(&mut self, m: Move, score: i32) -> bool {
        self.score = self.score.max(score);
        let counts = score > self.alpha;
        if counts {
            (self.alpha, self.m) = (score, Some(m));
        }
        counts
    }

    /// For the table, where the search began between `alpha` and `beta`.
    fn known(&self, alpha: i32, beta: i32, depth: i32, still: Option<i32>) -> Known {
        let bound = Bound::of(self.score, alpha, beta);
        Known { action: self.m.map(Action::new), score: self.score, depth, bound, still }
    }
}

/// Captures, and promotions to queens alone.
fn loud_moves(position: &Chess) -> MoveList {
    let mut moves = position.capture_moves();
    moves.extend(position.promotion_moves().into_iter().filter(|m| !m.is_capture()));
    moves.retain(|m| m.promotion().is_none_or(|role| role == Role::Queen));
    moves
}

/// Whether the mover has more than pawns: else it may well be better to pass, were it allowed.
fn has_pieces(position: &Chess) -> bool {
    let board = position.board();
    (position.us() & !board.pawns() & !board.kings()).any()
}

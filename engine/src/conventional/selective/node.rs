//! The search of one position: what is left out, what is searched how deep, as Stockfish 15.1 does it.

use super::attack::{Checks, Threats};
use super::candidate::{Candidate, Node, has_pieces, takes_in_check};
use super::credit::{Tried, Window};
use super::extension::Extension;
use super::margins;
use super::moves::{add_first, add_loud};
use super::order::{Purpose, Rankings};
use super::quiescence::{Best, Judged};
use super::scale::{centipawns, wins};
use super::{DEEPEST, Ply, Tree, cycle};
use crate::chess::action::Action;
use crate::chess::ending::{self, by_fifty_moves};
use crate::conventional::table::{Bound, INFINITE, Known, MATE, MATES};
use shakmaty::{Chess, Move, MoveList, Position};

impl Tree<'_> {
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
        let pv = beta - alpha > 1;
        if pv {
            self.memory.lines.clear(ply);
            self.seldepth = self.seldepth.max(ply);
        }
        // Who can repeat need not take less than a draw.
        let alpha = if alpha < 0 && self.may_repeat(position, ply) { 0 } else { alpha };
        if alpha >= beta {
            return alpha;
        }
        if depth <= 0 || ply >= DEEPEST {
            return self.quiesce(position, alpha, beta, ply);
        }
        if self.is_over(position) {
            return 0;
        }
        if ply > 0 && self.is_drawn(position) {
            return 0;
        }
        // No line is worth more than a mate that was already found elsewhere.
        let (alpha, beta) = (alpha.max(ply as i32 - MATE), beta.min(MATE - ply as i32 - 1));
        if alpha >= beta {
            return alpha;
        }
        if ply == 0 {
            self.width = beta - alpha;
        }
        let check = position.is_check();
        let last = *self.back(ply, 1);
        self.begin(ply, check, &last);
        let excluded = self.at(ply).excluded;
        let whole = excluded.is_none() && (ply > 0 || self.taken.is_empty());
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let stored = self.memory.table.get(key, ply);
        // What is known of all moves says nothing of some of them.
        let known = stored.filter(|_| whole);
        let hint = self.hint.filter(|_| ply == 0);
        let first = hint.or(known.and_then(|known| known.action));
        let first = first.and_then(|first| first.to_move(position));
        let at = self.at(ply);
        at.known = known.is_some();
        if excluded.is_none() {
            at.pv = pv || known.is_some_and(|known| known.pv);
        }
        let mut window = Window { depth, alpha, beta, ply, fails, pv };
        if let Some(known) = known.filter(|known| !pv && known.decides(alpha, beta))
            && known.depth > depth - i32::from(known.bound == Bound::Exact)
        {
            self.confirm(position, &known, first, window);
            if position.halfmoves() < margins::STALE {
                return known.score;
            }
        }
        let judged = self.judge(position, ply, stored).map(|judged| match excluded {
            Some(_) => Judged { likely: judged.still, ..judged },
            None => judged,
        });
        let still = judged.map(|judged| judged.still);
        self.at(ply).still = still;
        let rise = self.rise(ply);
        if let Some(judged) = judged {
            let answered = last.moved.filter(|m| !m.is_capture());
            if let (Some(then), Some(m)) = (last.still, answered) {
                let bonus = margins::gain(judged.still + then);
                self.memory.history.count_quiet(position.turn().other(), m, bonus);
            }
            if let Some(score) = self.prune(position, window, judged, known, rise) {
                return score;
            }
            // Without a move to begin with, a shallower search finds one for the next time.
            if first.is_none() && ply > 0 {
                window.depth -= margins::unknown_less(depth, pv, fails);
            }
            if window.depth <= 0 {
                return self.quiesce(position, alpha, beta, ply);
            }
        } else if let Some(score) = takes_in_check(window, known, first) {
            return score;
        }
        if by_fifty_moves(position) {
            let is_mate = check && position.legal_moves().is_empty();
            return if is_mate { ply as i32 - MATE } else { 0 };
        }
        let first = first.filter(|m| self.may_play(position, *m, ply));
        self.prepare(position, ply);
        let node = Node {
            position,
            key,
            window,
            last,
            past: self.past(ply),
            known,
            first,
            still,
            improving: rise > 0,
            was_pv: self.at(ply).pv,
            checks: Checks::new(position),
            threats: if check { Threats::NONE } else { Threats::new(position) },
            has_pieces: has_pieces(position),
        };
        let mut tried = Tried::new(alpha, window.depth);
        if let Some(score) = self.search_moves(&node, &mut tried) {
            return score;
        }
        self.learn(position, window, &tried, &node.past);
        let Tried { best, depth, .. } = tried;
        // The move before is likely good, then.
        self.at(ply).pv |= best.score <= alpha && last.pv && depth > 3;
        if !whole {
            return best.score;
        }
        let raw = judged.map(|judged| judged.raw);
        let found = Known { pv: self.at(ply).pv, ..best.known(alpha, beta, depth, raw) };
        if let Some(judged) = judged
            && best.m.is_none_or(|m| !m.is_capture())
            && best.score.abs() < MATES
            && found.corrects(judged.still)
        {
            let error = centipawns(best.score - judged.still);
            self.memory.corrections.learn(judged.places, error, depth);
        }
        self.memory.table.put(key, ply, found);
        best.score
    }

    /// A position is searched: what was kept of another one there no longer counts.
    fn begin(&mut self, ply: usize, check: bool, last: &Ply) {
        if ply > 0 {
            self.at(ply + 2).worth = 0;
        }
        self.at(ply + 1).excluded = None;
        self.at(ply + 2).killers = [None; 2];
        self.at(ply + 2).refuted = 0;
        let at = self.at(ply);
        (at.check, at.tried, at.doubled) = (check, 0, last.doubled);
    }

    /// Whether the mover can bring back a position of this line.
    fn may_repeat(&self, position: &Chess, ply: usize) -> bool {
        let moves = (1..ply).take_while(|plies| self.back(ply, *plies).moved.is_some());
        position.halfmoves() >= 3 && cycle::is_near(position, &self.memory.keys, moves.count())
    }

    /// How much better the evaluation is than at the mover's last turn out of check.
    fn rise(&self, ply: usize) -> i32 {
        const UNKNOWN: i32 = 168;
        let before = self.back(ply, 2).still.or(self.back(ply, 4).still);
        let still = self.back(ply, 0).still;
        still.map_or(0, |still| before.map_or(UNKNOWN, |before| still - before))
    }

    /// Whether a move that was found elsewhere, and may be another position's, is one to search.
    fn may_play(&self, position: &Chess, m: Move, ply: usize) -> bool {
        self.is_allowed(m, ply) && position.is_legal(m)
    }

    /// Only at the root not all moves may be.
    fn is_allowed(&self, m: Move, ply: usize) -> bool {
        let is_in = |list: &[Action]| list.contains(&Action::new(m));
        ply > 0 || (self.allowed.is_empty() || is_in(self.allowed)) && !is_in(&self.taken)
    }

    /// All moves, or as many as it takes to reach beta. The position's score if there is nothing to learn from them.
    fn search_moves(&mut self, node: &Node<'_>, tried: &mut Tried) -> Option<i32> {
        let Node { position, window, first, .. } = *node;
        let (ply, check) = (window.ply, node.still.is_none());
        // Mostly it is enough, and what it takes to find and order the others is spared.
        let known = first.map(|m| self.try_move(node, m, tried));
        match known {
            Some(After::Known(score)) => return Some(score),
            Some(After::Enough) => return None,
            Some(After::Others) | None => (),
        }
        let mut moves = MoveList::new();
        add_first(position, check, &mut moves);
        let purpose =
            if check { Purpose::Evade } else { Purpose::All(&node.checks, &node.threats) };
        let mut rankings = Rankings::new();
        let mut ordered = self.order(position, &mut moves, ply, None, &purpose, &mut rankings);
        while let Some(m) = ordered.next(&self.memory.history, tried.enough) {
            if first == Some(m) || !self.is_allowed(m, ply) {
                continue;
            }
            match self.try_move(node, m, tried) {
                After::Known(score) => return Some(score),
                After::Enough => return None,
                After::Others => (),
            }
        }
        // There may be no move, or none but the excluded one.
        let none = match self.at(ply).excluded {
            Some(_) => tried.best.alpha,
            None if check => ply as i32 - MATE,
            None => 0,
        };
        (tried.number == 0).then_some(none)
    }

    /// One move, if it is worth a look.
    fn try_move(&mut self, node: &Node<'_>, m: Move, tried: &mut Tried) -> After {
        let Node { position, window, past, first, improving, .. } = *node;
        let Window { beta, ply, fails, pv, .. } = window;
        let (turn, check) = (position.turn(), node.still.is_none());
        if self.at(ply).excluded.is_some_and(|excluded| excluded == Action::new(m)) {
            return After::Others;
        }
        tried.number += 1;
        let number = tried.number;
        self.at(ply).tried = number;
        let (depth, alpha) = (tried.depth, tried.best.alpha);
        let late = margins::late(depth, number, beta - alpha, self.width, improving);
        let answers = self.memory.history.of_answer(turn, m, &past);
        let mut candidate = Candidate {
            m,
            depth,
            alpha,
            late,
            gives_check: node.checks.are_given_by(position, m),
            answers: answers[0] + answers[1] + answers[2],
            known_for: 0,
        };
        candidate.known_for = candidate.answers + 2 * self.memory.history.of_quiet(turn, m);
        if ply > 0 && node.has_pieces && tried.best.score > -MATES {
            tried.enough = number >= margins::enough(depth, improving);
            if self.skips(node, &candidate) {
                return After::Others;
            }
        }
        let longer = match self.extend(node, &candidate, answers[0]) {
            Extension::None => 0,
            Extension::Alone(plies) => {
                tried.singular = plies > 0 && first.is_some_and(|m| !m.is_capture());
                plies
            }
            Extension::Check => 1,
            Extension::Refuted(score) => return After::Known(score),
        };
        let mut full = depth - 1 + longer;
        self.at(ply).doubled = node.last.doubled + i32::from(longer == 2);
        let next = self.play(position, node.key, m, ply);
        let mut score = INFINITE;
        let reduces = depth >= margins::LATE
            && number > 1 + i32::from(pv && ply <= 1)
            && (!node.was_pv || !m.is_capture() || fails && node.last.tried > 1);
        if reduces {
            let less = self.reduction(node, &candidate, tried.singular);
            let reduced = (full - less).clamp(1, (full + 1).max(1));
            score = -self.negamax(&next, reduced, -alpha - 1, -alpha, ply + 1, true);
            if score > alpha && reduced < full {
                full += i32::from(score > alpha + margins::surprise(full - reduced))
                    - i32::from(score < tried.best.score + full);
                if full > reduced {
                    score = -self.negamax(&next, full, -alpha - 1, -alpha, ply + 1, !fails);
                }
                let bonus = margins::bonus(full) / if m.is_capture() { 6 } else { 1 };
                let bonus = if score > alpha { bonus } else { -bonus };
                self.memory.history.count_answer(turn, m, &past, check, bonus);
            }
        } else if !pv || number > 1 {
            score = -self.negamax(&next, full, -alpha - 1, -alpha, ply + 1, !fails);
        }
        if pv && (number == 1 || score > alpha && (ply == 0 || score < beta)) {
            let most = if ply == 0 { depth } else { depth + 1 };
            score = -self.negamax(&next, full.min(most), -beta, -alpha, ply + 1, false);
        }
        self.memory.keys.pop();
        if self.over {
            // At the root what was found so far counts.
            return After::Known(if ply == 0 { tried.best.score } else { 0 });
        }
        if tried.best.offer(m, score) {
            if pv {
                self.memory.lines.keep(ply, m);
            }
            if tried.best.alpha >= beta {
                self.at(ply).refuted += 1;
                return After::Enough;
            }
            let near = tried.best.alpha > -MATES && beta < MATES;
            tried.depth -= i32::from(near && margins::settles(depth));
        } else if m.is_capture() {
            // Of more than there is room for nothing is learnt.
            let _ = tried.captures.try_push(m);
        } else {
            let _ = tried.quiets.try_push(m);
        }
        After::Others
    }

    /// The score if no move needs to be looked at.
    fn prune(
        &mut self,
        position: &Chess,
        window: Window,
        judged: Judged,
        known: Option<Known>,
        rise: i32,
    ) -> Option<i32> {
        let Judged { still, likely, .. } = judged;
        let Window { depth, alpha, beta, ply, pv, .. } = window;
        let (last, improving) = (*self.back(ply, 1), rise > 0);
        if likely < alpha - margins::behind(depth) {
            let score = self.quiesce(position, alpha - 1, alpha, ply);
            if self.over || score < alpha {
                return Some(score);
            }
        }
        let ahead = margins::ahead(depth, improving, last.worth).filter(|_| !self.at(ply).pv);
        if ahead.is_some_and(|ahead| likely - ahead >= beta) && (beta..MATES).contains(&likely) {
            return Some(likely);
        }
        if pv || beta.abs() >= MATES {
            return None;
        }
        let may_pass = self.at(ply).excluded.is_none()
            && last.moved.is_some()
            && last.worth < margins::GOOD
            && likely >= beta
            && likely >= still
            && still >= beta + margins::pass(depth, rise)
            && has_pieces(position)
            && (ply >= self.verified || position.turn() != self.verifies);
        if may_pass && let Some(score) = self.pass(position, window, likely) {
            return Some(score);
        }
        let bar = beta + margins::probable(improving);
        let hopeless = known.is_some_and(|known| known.depth >= depth - 3 && known.score < bar);
        let probable = depth >= margins::PROBABLE && !hopeless;
        if probable { self.refute(position, window, judged, known, bar) } else { None }
    }

    /// The score if beta is reached even without a move (null move: Donninger 1993).
    fn pass(&mut self, position: &Chess, window: Window, likely: i32) -> Option<i32> {
        let Window { depth, beta, ply, fails, .. } = window;
        let depth_after = depth - margins::pass_less(depth, likely - beta);
        let next = position.clone().swap_turn().ok()?;
        (self.at(ply).moved, self.at(ply).prompt) = (None, None);
        self.enter(ending::key(&next));
        let score = -self.negamax(&next, depth_after, -beta, 1 - beta, ply + 1, !fails);
        self.memory.keys.pop();
        if self.over {
            return Some(0);
        }
        if score < beta {
            return None;
        }
        let score = if score >= MATES { beta } else { score };
        if self.verified > 0 || depth < margins::VERIFIED {
            return Some(score);
        }
        // The mover may be in zugzwang, even deep.
        self.verified = ply + (3 * depth_after.max(0) / 4) as usize;
        self.verifies = position.turn();
        let verdict = self.negamax(position, depth_after, beta - 1, beta, ply, false);
        self.verified = 0;
        (self.over || verdict >= beta).then_some(score)
    }

    /// The score of a capture that is worth `bar` at least when it is searched less deep (ProbCut: Buro 1995).
    fn refute(
        &mut self,
        position: &Chess,
        window: Window,
        judged: Judged,
        known: Option<Known>,
        bar: i32,
    ) -> Option<i32> {
        let Window { depth, ply, fails, .. } = window;
        let excluded = self.at(ply).excluded;
        let mut moves = MoveList::new();
        add_loud(position, &mut moves);
        if moves.is_empty() {
            return None;
        }
        self.prepare(position, ply);
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let hint = known.and_then(|known| known.action);
        let mut rankings = Rankings::new();
        let mut ordered =
            self.order(position, &mut moves, ply, hint, &Purpose::Take, &mut rankings);
        while let Some(m) = ordered.next(&self.memory.history, false) {
            if excluded == Some(Action::new(m)) || !wins(position, m, bar - judged.still) {
                continue;
            }
            let next = self.play(position, key, m, ply);
            let mut score = -self.quiesce(&next, -bar, 1 - bar, ply + 1);
            if score >= bar && !self.over {
                let depth = depth - margins::PROBABLE_LESS;
                score = -self.negamax(&next, depth, -bar, 1 - bar, ply + 1, !fails);
            }
            self.memory.keys.pop();
            if self.over {
                return Some(0);
            }
            if score >= bar {
                let best = Best { score, alpha: score, m: Some(m) };
                let depth = depth - margins::PROBABLE_LESS + 1;
                let found = best.known(bar - 1, bar, depth, Some(judged.raw));
                let pv = self.at(ply).pv;
                self.memory.table.put(key, ply, Known { pv, ..found });
                return Some(score);
            }
        }
        None
    }
}

/// What follows from a move.
enum After {
    /// The position's score.
    Known(i32),
    /// It reaches beta.
    Enough,
    /// Others may be better.
    Others,
}

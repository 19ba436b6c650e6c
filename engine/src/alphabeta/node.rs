//! The search of one position: what is left out, what is searched how deep, as Stockfish does it.

use super::attack::{Checks, Threats};
use super::candidate::{Candidate, Node, Worth, is_far_above};
use super::correction::Corrections;
use super::credit::Tried;
use super::extension::Extension;
use super::history::Setting;
use super::margins::{self, PLY};
use super::moves::{add_first, is_loud};
use super::order::{Hints, Purpose, Rankings};
use super::prune::Outlook;
use super::quiescence::Judged;
use super::scale::worth_of_pieces;
use super::table::{Bound, INFINITE, Known, MATE, MATES};
use super::window::Window;
use super::{DEEPEST, Ply, Tree, cycle};
use crate::chess::action::Action;
use crate::chess::ending::by_fifty_moves;
use shakmaty::{Chess, Move, MoveList, Position};

/// What a late move that surprised counts as an answer.
const SURPRISING: i32 = 1_334;
/// So much less deep that a move is searched a ply less though it is not late; two plies.
const LESS: (i32, i32) = (5_234, 5_487);

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
        let repeats = ply > 0 && alpha < 0 && self.may_repeat(position, ply);
        let alpha = if repeats { 0 } else { alpha };
        if alpha >= beta {
            return alpha;
        }
        if depth <= 0 || ply >= DEEPEST {
            return self.quiesce(position, alpha, beta, ply);
        }
        if self.is_over(position) {
            return 0;
        }
        if ply > 0 && self.is_drawn(position, ply) {
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
        let last = self.begin(ply, check);
        let excluded = self.at(ply).excluded;
        // What is known of all moves says nothing of some of them.
        let whole = excluded.is_none() && (ply > 0 || self.taken.is_empty());
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let stored = self.memory.table.get(key, ply).filter(|_| ply > 0 || whole);
        let known = stored.filter(|known| known.bound != Bound::Unknown);
        let hint = self.hint.filter(|_| ply == 0);
        let first = hint.or(stored.and_then(|stored| stored.action));
        let first = first.and_then(|first| first.to_move(position));
        let at = self.at(ply);
        at.known = stored.is_some();
        if excluded.is_none() {
            at.pv = pv || stored.is_some_and(|stored| stored.pv);
        }
        let past = self.past(ply);
        let places = Corrections::places(position, &past);
        let setting = Setting { turn: position.turn(), past, check, ply, pawns: places.pawns };
        let error = self.memory.corrections.of(&places);
        let judged = match excluded {
            Some(_) => self.back(ply, 0).still.filter(|_| !check).map(Judged::again),
            None => self.judge(position, ply, stored, error),
        };
        let two = self.back(ply, 2).still;
        let still = judged.map_or(two, |judged| Some(judged.still));
        self.at(ply).still = still;
        if stored.is_none() && excluded.is_none() {
            // Asking the network again would take longer.
            if let Some(judged) = judged {
                self.note(key, ply, Some(judged.raw), self.back(ply, 0).pv);
            }
        }
        let both = still.zip(last.still).map(|(still, last)| still + last);
        let depth = margins::hindsight(depth, last.reduced, both);
        let mut window = Window { depth, alpha, beta, ply, fails, pv };
        if excluded.is_none()
            && let Some(known) = known.filter(|known| window.is_answered_by(known))
        {
            if let Some(m) = first.filter(|_| known.score >= beta) {
                self.confirm(&setting, m, depth);
            }
            if self.holds(position, key, &known, first, window) {
                return known.score;
            }
        }
        let mut improving = still.zip(two).is_some_and(|(still, two)| still > two);
        if let Some(judged) = judged {
            self.credit_gain(&setting, judged.still);
            let worsening = margins::is_worsening(both);
            let mut outlook =
                Outlook { judged, improving, worsening, error, known, first, setting };
            if let Some(score) = self.prune(position, &mut window, &mut outlook) {
                return score;
            }
            improving = outlook.improving;
        }
        if let Some(score) = is_far_above(window, known) {
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
            setting,
            places,
            known,
            first,
            still,
            error,
            improving,
            was_pv: self.at(ply).pv,
            checks: Checks::new(position),
            threats: if check { Threats::NONE } else { Threats::new(position) },
            pieces: worth_of_pieces(position),
        };
        let mut tried = Tried::new(alpha, window.depth);
        if let Some(score) = self.search_moves(&node, &mut tried) {
            return score;
        }
        let (score, depth) = (tried.best.score, tried.depth);
        if score >= beta && score.abs() < MATES && tried.best.alpha.abs() < MATES {
            // The less deep, the less is known of how far above beta it is.
            tried.best.score = (score * depth + beta) / (depth + 1);
        }
        self.learn(&node, &tried);
        let Tried { best, .. } = tried;
        // The move before is likely good, then.
        self.at(ply).pv |= score < beta && last.pv;
        if whole {
            let raw = judged.map(|judged| judged.raw);
            let found = Known { pv: self.at(ply).pv, ..best.known(alpha, beta, depth, raw) };
            self.memory.table.put(key, ply, found);
        }
        if let Some(still) = still.filter(|_| !check)
            && best.m.is_none_or(|m| !m.is_capture())
            && best.score.abs() < MATES
            && (best.score > still) == best.m.is_some()
        {
            let bonus = Corrections::bonus(best.score - still, depth, best.m.is_some());
            self.memory.corrections.learn(&places, bonus);
        }
        best.score
    }

    /// A position is searched: what was kept of another one there no longer counts. What is kept of the one before, of which the search
    /// is no longer a reduced one.
    fn begin(&mut self, ply: usize, check: bool) -> Ply {
        let before = &mut self.memory.plies[ply + Ply::BEFORE - 1];
        let last = *before;
        before.reduced = 0;
        self.at(ply + 1).excluded = None;
        self.at(ply + 2).refuted = 0;
        let leads = |m| self.line.get(ply - 1) == Some(&Action::new(m));
        let follows = ply == 0 || last.follows && last.moved.is_some_and(leads);
        let at = self.at(ply);
        (at.check, at.tried, at.worth, at.reduced, at.follows) = (check, 0, 0, 0, follows);
        last
    }

    /// Whether the mover can bring back a position of this line.
    fn may_repeat(&self, position: &Chess, ply: usize) -> bool {
        let moves = (1..ply).take_while(|plies| self.back(ply, *plies).moved.is_some());
        position.halfmoves() >= 3 && cycle::is_near(position, &self.memory.keys, moves.count())
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
        let Node { position, first, setting, .. } = *node;
        let Setting { ply, check, .. } = setting;
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
        let hints = Hints { first: None, setting };
        let mut ordered = self.order(position, &mut moves, hints, &purpose, &mut rankings);
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
        let Node { position, window, improving, .. } = *node;
        let Window { beta, ply, pv, .. } = window;
        let turn = position.turn();
        if self.at(ply).excluded.is_some_and(|excluded| excluded == Action::new(m)) {
            return After::Others;
        }
        tried.number += 1;
        let number = tried.number;
        self.at(ply).tried = number;
        let (depth, alpha) = (tried.depth, tried.best.alpha);
        let late = margins::late(depth, number, beta - alpha, self.width, improving);
        let mut candidate = Candidate {
            m,
            depth,
            number,
            alpha,
            best: tried.best.score,
            late: late + if node.was_pv { margins::LATE_ON_BEST_LINE } else { 0 },
            gives_check: node.checks.are_given_by(position, m),
            loud: is_loud(m),
            answers: self.memory.history.answers(&node.setting.past).of_last(turn, m),
        };
        if ply > 0 && node.pieces > 0 && tried.best.score > -MATES {
            tried.enough |= number >= margins::enough(depth, improving);
            match self.weigh(node, &candidate) {
                Worth::Looking => (),
                Worth::Nothing => return After::Others,
                Worth::AtMost(score) => {
                    if tried.best.score.abs() < MATES && score < MATES {
                        tried.best.score = tried.best.score.max(score);
                    }
                    return After::Others;
                }
            }
        }
        let longer = match self.extend(node, &candidate) {
            Extension::By(plies) => plies,
            Extension::Refuted(score) => return After::Known(score),
        };
        let full = depth - 1 + longer;
        tried.depth += i32::from(longer > 0);
        candidate.depth = tried.depth;
        let next = self.play(position, node.key, m, ply);
        let score = self.search_after(node, &candidate, &next, full);
        self.memory.keys.pop();
        if self.over {
            // At the root what was found so far counts.
            return After::Known(if ply == 0 { tried.best.score } else { 0 });
        }
        // Now and then another move that is as good is taken, near the end of the line.
        let favours = score == tried.best.score
            && ply as i32 + 2 >= self.depth
            && self.nodes & 14 == 0
            && score.abs() + 1 < MATES;
        if !tried.best.offer(m, score, i32::from(favours)) {
            tried.note(m);
            return After::Others;
        }
        if pv {
            self.memory.lines.keep(ply, m);
        }
        if score >= beta {
            self.at(ply).refuted += i32::from(longer < 2 || pv);
            return After::Enough;
        }
        if score.abs() < MATES {
            tried.depth -= margins::settles(tried.depth);
        }
        After::Others
    }

    /// The score of a move for its mover, `next` being the position after it, which is searched to a depth of `full` if nothing speaks
    /// for less.
    fn search_after(
        &mut self,
        node: &Node<'_>,
        candidate: &Candidate,
        next: &Chess,
        mut full: i32,
    ) -> i32 {
        let Candidate { m, depth, number, alpha, best, .. } = *candidate;
        let Window { beta, ply, fails, pv, .. } = node.window;
        let mut less = self.reduction(node, candidate);
        let mut score = INFINITE;
        if depth >= margins::LATE && number > 1 {
            let reduced = (full - less / PLY).min(full + 2).max(1) + i32::from(pv);
            self.at(ply).reduced = full - reduced;
            score = -self.negamax(next, reduced, -alpha - 1, -alpha, ply + 1, true);
            self.at(ply).reduced = 0;
            if score > alpha && !self.over {
                let (much, little) = margins::SURPRISES;
                full += i32::from(reduced < full && score > best + much)
                    - i32::from(score < best + little);
                if full > reduced {
                    score = -self.negamax(next, full, -alpha - 1, -alpha, ply + 1, !fails);
                }
                let Setting { turn, past, check, .. } = &node.setting;
                self.memory.history.count_answer(*turn, m, past, *check, SURPRISING);
            }
        } else if !pv || number > 1 {
            less += if node.first.is_none() { 1_127 } else { 0 };
            let (one, two) = LESS;
            let fewer = i32::from(less > one) + i32::from(less > two && full > 2);
            score = -self.negamax(next, full - fewer, -alpha - 1, -alpha, ply + 1, !fails);
        }
        if pv && (number == 1 || score > alpha) && !self.over {
            let mated = |known: &Known| known.score.abs() >= MATES && known.depth > 0;
            let deep = node.known.is_some_and(|known| known.depth > 1 || mated(&known));
            if node.first == Some(m) && deep {
                full = full.max(1);
            }
            score = -self.negamax(next, full, -beta, -alpha, ply + 1, false);
        }
        score
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

//! When the score of a position is known without a search of all its moves.

use super::Tree;
use super::history::Setting;
use super::margins;
use super::moves::{add_loud, is_loud};
use super::order::{Hints, Purpose, Rankings};
use super::quiescence::{Best, Judged};
use super::scale::{wins, worth_of_pieces};
use super::table::{Bound, Known, MATES};
use super::window::Window;
use crate::chess::action::Action;
use crate::chess::ending;
use shakmaty::{Chess, Move, MoveList, Position};

/// What a position is judged by.
#[derive(Clone, Copy)]
pub(super) struct Outlook {
    pub judged: Judged,
    /// The evaluation is better than at the mover's last turn, and at the opponent's.
    pub improving: bool,
    pub worsening: bool,
    /// What the evaluation was corrected by.
    pub error: i32,
    /// What the table knows, with a score.
    pub known: Option<Known>,
    /// The table's move.
    pub first: Option<Move>,
    /// Where its moves are played.
    pub setting: Setting,
}

impl Tree<'_> {
    /// Whether the table's answer `known` can be believed: where much depends on it, that of the position after its move must agree.
    pub(super) fn holds(
        &self,
        position: &Chess,
        key: u64,
        known: &Known,
        first: Option<Move>,
        window: Window,
    ) -> bool {
        let Window { depth, beta, ply, .. } = window;
        if position.halfmoves() >= margins::STALE {
            return false;
        }
        let m = first.filter(|m| {
            depth >= margins::ASKED_TWICE && known.score.abs() < MATES && position.is_legal(*m)
        });
        let Some(m) = m else { return true };
        let mut next = position.clone();
        let next = ending::play_keyed(&mut next, key, m);
        let after =
            self.memory.table.get(next, ply + 1).filter(|after| after.bound != Bound::Unknown);
        after.is_none_or(|after| (known.score >= beta) == (-after.score >= beta))
    }

    /// The score if no move needs to be looked at. `outlook.improving` is set where beta is reached as it is.
    pub(super) fn prune(
        &mut self,
        position: &Chess,
        window: &mut Window,
        outlook: &mut Outlook,
    ) -> Option<i32> {
        let Outlook { judged, improving, worsening, error, known, first, .. } = *outlook;
        let Judged { still, likely, .. } = judged;
        let Window { depth, alpha, beta, ply, fails, pv } = *window;
        if !pv && likely < alpha - margins::behind(depth) {
            return Some(self.quiesce(position, alpha, beta, ply));
        }
        let at = self.back(ply, 0);
        let (was_pv, excludes, follows) = (at.pv, at.excluded.is_some(), at.follows);
        let ahead = margins::ahead(depth, improving, worsening, at.known, error)
            .filter(|_| !was_pv && first.is_none_or(is_loud));
        if ahead.is_some_and(|ahead| likely - ahead >= beta)
            && (beta..MATES).contains(&likely)
            && beta > -MATES
        {
            return Some(margins::tempered(beta, likely));
        }
        let may_pass = fails
            && !excludes
            && still >= beta + margins::pass(depth, improving)
            && beta >= margins::LOST
            && ply >= self.verified
            && worth_of_pieces(position) > 0;
        if may_pass && let Some(score) = self.pass(position, *window, still) {
            return Some(score);
        }
        outlook.improving |= still >= beta;
        // A shallower search finds a move for the next time.
        let unknown = !follows && (pv || fails) && depth >= margins::UNKNOWN && first.is_none();
        window.depth -= i32::from(unknown);
        let (above, _) = margins::probable(outlook.improving);
        let hopeless = known.is_some_and(|known| known.score < beta + above);
        if ply > 0 && window.depth >= margins::PROBABLE && beta.abs() < MATES && !hopeless {
            self.refute(position, *window, *outlook)
        } else {
            None
        }
    }

    /// The score if beta is reached even without a move (null move: Donninger 1993).
    fn pass(&mut self, position: &Chess, window: Window, still: i32) -> Option<i32> {
        let Window { depth, beta, ply, .. } = window;
        let depth_after = depth - margins::pass_less(depth, still - beta);
        let next = position.clone().swap_turn().ok()?;
        (self.at(ply).moved, self.at(ply).prompt) = (None, None);
        self.enter(ending::key(&next));
        let score = -self.negamax(&next, depth_after, -beta, 1 - beta, ply + 1, false);
        self.memory.keys.pop();
        if self.over {
            return Some(0);
        }
        if !(beta..MATES).contains(&score) {
            return None;
        }
        if self.verified > 0 || depth < margins::VERIFIED {
            return Some(score);
        }
        // The mover may be in zugzwang, even deep.
        self.verified = ply + (3 * depth_after.max(0) / 4) as usize;
        let verdict = self.negamax(position, depth_after, beta - 1, beta, ply, false);
        self.verified = 0;
        (self.over || verdict >= beta).then_some(score)
    }

    /// The score of a capture that is worth so much above beta when it is searched less deep (ProbCut: Buro 1995).
    fn refute(&mut self, position: &Chess, window: Window, outlook: Outlook) -> Option<i32> {
        let Window { depth, beta, ply, fails, .. } = window;
        let (above, less) = margins::probable(outlook.improving);
        let (bar, depth) = (beta + above, depth - less);
        let excluded = self.at(ply).excluded;
        let mut moves = MoveList::new();
        add_loud(position, &mut moves);
        if moves.is_empty() {
            return None;
        }
        self.prepare(position, ply);
        let key = self.memory.keys.last().copied().unwrap_or_default();
        let hints = Hints { first: outlook.first.map(Action::new), setting: outlook.setting };
        let mut rankings = Rankings::new();
        let mut ordered = self.order(position, &mut moves, hints, &Purpose::Take, &mut rankings);
        while let Some(m) = ordered.next(&self.memory.history, false) {
            if excluded == Some(Action::new(m)) || !wins(position, m, bar - outlook.judged.still) {
                continue;
            }
            let next = self.play(position, key, m, ply);
            let mut score = -self.quiesce(&next, -bar, 1 - bar, ply + 1);
            if score >= bar && depth > 0 && !self.over {
                score = -self.negamax(&next, depth, -bar, 1 - bar, ply + 1, !fails);
            }
            self.memory.keys.pop();
            if self.over {
                return Some(0);
            }
            if score >= bar {
                let best = Best { score, alpha: score, m: Some(m) };
                let found = best.known(bar - 1, bar, depth + 1, Some(outlook.judged.raw));
                let pv = self.at(ply).pv;
                self.memory.table.put(key, ply, Known { pv, ..found });
                if score.abs() < MATES {
                    return Some(score - above);
                }
            }
        }
        None
    }
}

//! What moves are credited with once a position was searched.

use super::history::Past;
use super::margins::{self, bonus};
use super::quiescence::Best;
use super::{Ply, Tree};
use crate::chess::action::Action;
use crate::conventional::table::{INFINITE, Known};
use arrayvec::ArrayVec;
use shakmaty::{Chess, Move, Position};

/// What the moves of a position came to so far.
pub(super) struct Tried {
    pub best: Best,
    /// Those that were not the best, the first of many.
    pub quiets: ArrayVec<Move, 64>,
    pub captures: ArrayVec<Move, 32>,
    /// How deep the others are searched: less once a move was better than expected.
    pub depth: i32,
    /// How many there were.
    pub number: i32,
    /// Of ordinary ones no more are tried.
    pub enough: bool,
    /// The table's quiet move is better than all others.
    pub singular: bool,
}

impl Tried {
    /// None yet, where scores up to `alpha` count for nothing.
    pub fn new(alpha: i32, depth: i32) -> Tried {
        Tried {
            best: Best { score: -INFINITE, alpha, m: None },
            quiets: ArrayVec::new(),
            captures: ArrayVec::new(),
            depth,
            number: 0,
            enough: false,
            singular: false,
        }
    }
}

/// How a position was searched.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub depth: i32,
    pub alpha: i32,
    pub beta: i32,
    pub ply: usize,
    /// Beta is likely to be reached.
    pub fails: bool,
    /// More than whether the score reaches beta is asked.
    pub pv: bool,
}

impl Tree<'_> {
    /// The table knows the answer: its move counts as if it had been searched.
    pub(super) fn confirm(
        &mut self,
        position: &Chess,
        known: &Known,
        first: Option<Move>,
        window: Window,
    ) {
        let Window { depth, beta, ply, .. } = window;
        let Some(m) = first else { return };
        let (turn, past, check) = (position.turn(), self.past(ply), self.at(ply).check);
        let quiet = !m.is_capture();
        if known.score >= beta {
            if quiet {
                self.refutes(position, m, &past, bonus(depth), ply);
            }
            if self.back(ply, 1).tried <= 2 {
                self.credit_last(position, ply, -bonus(depth + 1));
            }
        } else if quiet {
            let penalty = -bonus(depth);
            self.memory.history.count_quiet(turn, m, penalty);
            self.memory.history.count_answer(turn, m, &past, check, penalty);
        }
    }

    /// All moves were searched that had to be.
    pub(super) fn learn(&mut self, position: &Chess, window: Window, tried: &Tried, past: &Past) {
        let Window { alpha, beta, ply, fails, pv, .. } = window;
        let Tried { best, quiets, captures, depth, .. } = tried;
        let (depth, turn, check) = (*depth, position.turn(), self.at(ply).check);
        let Some(m) = best.m else {
            if let Some(twice) = margins::praises_last(depth, pv, fails, alpha - best.score) {
                self.credit_last(position, ply, bonus(depth) * (1 + i32::from(twice)));
            }
            return;
        };
        let much = bonus(depth + 1);
        if m.is_capture() {
            self.memory.history.count_capture(turn, m, much);
        } else {
            let clear = best.score > beta + margins::CLEAR;
            let bonus = if clear { much } else { bonus(depth) };
            self.refutes(position, m, past, bonus, ply);
            let history = &mut self.memory.history;
            for other in quiets.iter().filter(|other| **other != m) {
                history.count_quiet(turn, *other, -bonus);
                history.count_answer(turn, *other, past, check, -bonus);
            }
        }
        let Ply { moved, killers, tried, known, .. } = *self.back(ply, 1);
        let killer = moved.map(Action::new).is_some_and(|m| killers[0] == Some(m));
        if tried == 1 + i32::from(known) || killer {
            self.credit_last(position, ply, -much);
        }
        for other in captures.iter().filter(|other| **other != m) {
            self.memory.history.count_capture(turn, *other, -much);
        }
    }

    /// A quiet move refuted the last one.
    fn refutes(&mut self, position: &Chess, m: Move, past: &Past, bonus: i32, ply: usize) {
        let at = self.at(ply);
        let check = at.check;
        let [first, second] = &mut at.killers;
        let action = Action::new(m);
        if *first != Some(action) {
            *second = first.replace(action);
        }
        let (turn, history) = (position.turn(), &mut self.memory.history);
        history.count_quiet(turn, m, bonus);
        history.count_answer(turn, m, past, check, bonus);
        history.refutes(past, m);
    }

    /// The last move, if quiet, was as good or as bad an answer to those before it.
    fn credit_last(&mut self, position: &Chess, ply: usize, bonus: i32) {
        let Ply { moved, check, .. } = *self.back(ply, 1);
        if ply > 0
            && let Some(m) = moved.filter(|m| !m.is_capture())
        {
            let past = self.past(ply - 1);
            self.memory.history.count_answer(position.turn().other(), m, &past, check, bonus);
        }
    }
}

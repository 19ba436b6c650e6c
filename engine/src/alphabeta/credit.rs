//! What moves are credited with once a position was searched.

use super::candidate::Node;
use super::history::Setting;
use super::margins::{self, Praise};
use super::moves::is_loud;
use super::quiescence::Best;
use super::table::INFINITE;
use super::{Ply, Tree};
use arrayvec::ArrayVec;
use shakmaty::{Move, Role};

/// Moves of a position that something is learnt of if another is the best.
const LEARNT: usize = 32;
/// What the last move counts as an answer where the table's move refutes it, if it was one of so few.
const REFUTED: (i32, i32) = (5, -2_210);
/// What a capture counts that nothing good is found against.
const GOOD_CAPTURE: i32 = 892;

/// What the moves of a position came to so far.
pub(super) struct Tried {
    pub best: Best,
    /// Those that were not the best, the first of many.
    pub quiets: ArrayVec<Move, LEARNT>,
    pub captures: ArrayVec<Move, LEARNT>,
    /// How deep the others are searched: less once a move was better than expected.
    pub depth: i32,
    /// How many there were.
    pub number: i32,
    /// Of quiet ones no more are tried.
    pub enough: bool,
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
        }
    }

    /// Another move was the best.
    pub fn note(&mut self, m: Move) {
        if self.number <= LEARNT as i32 {
            let list = if is_loud(m) { &mut self.captures } else { &mut self.quiets };
            let _ = list.try_push(m);
        }
    }
}

impl Tree<'_> {
    /// The table knows that a move refutes the last one.
    pub(super) fn confirm(&mut self, setting: &Setting, m: Move, depth: i32) {
        if !is_loud(m) {
            self.memory.history.count(setting, m, margins::confirmed(depth));
        }
        let (few, bonus) = REFUTED;
        if self.back(setting.ply, 1).tried < few {
            self.credit_last(setting, bonus);
        }
    }

    /// The evaluation says something of the last move, if that was quiet.
    pub(super) fn credit_gain(&mut self, setting: &Setting, still: i32) {
        let Setting { turn, ply, pawns, .. } = *setting;
        let Ply { moved, still: before, check, .. } = *self.back(ply, 1);
        let quiet = moved.filter(|m| !check && !m.is_capture());
        if let (Some(m), Some(before)) = (quiet, before) {
            let (turn, gain) = (turn.other(), margins::gain(before + still));
            self.memory.history.count_quiet(turn, m, 11 * gain);
            if !self.back(ply, 0).known && has_shape(m) {
                self.memory.history.count_shaped(turn, m, pawns, 13 * gain);
            }
        }
    }

    /// All moves were searched that had to be.
    pub(super) fn learn(&mut self, node: &Node<'_>, tried: &Tried) {
        let Node { window, setting, .. } = node;
        let Tried { best, quiets, captures, depth, .. } = tried;
        let (depth, turn) = (*depth, setting.turn);
        let Some(m) = best.m else {
            self.praise_last(node, depth, best.score);
            return;
        };
        let Ply { moved, worth, tried, known, .. } = *self.back(window.ply, 1);
        let trusted = node.first == Some(m);
        let (mut bonus, malus) = margins::credit(depth, trusted, worth);
        if !window.pv {
            bonus += bonus * (quiets.len() + captures.len()) as i32 / 256;
            self.memory.history.count_tables(if trusted { 918 } else { -747 });
        }
        if is_loud(m) {
            self.memory.history.count_capture(turn, m, bonus * 1_427 / 1_024);
        } else {
            let history = &mut self.memory.history;
            history.count(setting, m, bonus * 899 / 1_024);
            // The later a move came, the less it was expected to be good.
            let mut less = malus * 1_159 / 1_024;
            for other in quiets {
                less = less * 921 / 1_024;
                history.count(setting, *other, -less);
            }
        }
        if moved.is_some() && tried == 1 + i32::from(known) {
            self.credit_last(setting, -malus * 713 / 1_024);
        }
        for other in captures {
            self.memory.history.count_capture(turn, *other, -malus * 1_489 / 1_024);
        }
    }

    /// No move reached alpha: the last one was good.
    fn praise_last(&mut self, node: &Node<'_>, depth: i32, score: i32) {
        let Setting { turn, ply, pawns, check: here, .. } = node.setting;
        let turn = turn.other();
        let Ply { moved, worth, tried, still, check, .. } = *self.back(ply, 1);
        let Some(m) = moved else { return };
        if m.is_capture() {
            self.memory.history.count_capture(turn, m, GOOD_CAPTURE);
            return;
        }
        let [answer, quiet, shaped] = margins::praise(Praise {
            depth,
            worth,
            number: tried,
            short: node.still.filter(|_| !here).map(|still| still - score),
            short_before: still.filter(|_| !check).map(|still| -still - score),
        });
        self.credit_last(&node.setting, answer);
        self.memory.history.count_quiet(turn, m, quiet);
        if has_shape(m) {
            self.memory.history.count_shaped(turn, m, pawns, shaped);
        }
    }

    /// The last move, if quiet, was as good or as bad an answer to those before it.
    fn credit_last(&mut self, setting: &Setting, bonus: i32) {
        let Setting { turn, ply, .. } = *setting;
        let Ply { moved, check, .. } = *self.back(ply, 1);
        if ply > 0
            && let Some(m) = moved.filter(|m| !m.is_capture())
        {
            let past = self.past(ply - 1);
            self.memory.history.count_answer(turn.other(), m, &past, check, bonus);
        }
    }
}

/// Whether the shape of the pawns says something of a quiet move that was made: it is the same after it.
fn has_shape(m: Move) -> bool {
    m.role() != Role::Pawn
}

//! What is asked of a move before it is searched: whether it is searched at all, and how much less deep.

use super::Tree;
use super::attack::{Checks, Threats};
use super::correction::Places;
use super::history::Setting;
use super::margins;
use super::moves::is_loud;
use super::scale::{piece_value, wins};
use super::table::{Bound, Known, MATES};
use super::window::Window;
use shakmaty::{Chess, Move, Position};

/// A position whose moves are searched.
pub(super) struct Node<'a> {
    pub position: &'a Chess,
    pub key: u64,
    pub window: Window,
    /// Where its moves are played.
    pub setting: Setting,
    /// Where what the evaluation gets wrong in positions alike is remembered.
    pub places: Places,
    /// What is known of it, with a score.
    pub known: Option<Known>,
    /// The table's move.
    pub first: Option<Move>,
    /// The evaluation, in check that of the mover's last turn; none if that was none.
    pub still: Option<i32>,
    /// What the evaluation was corrected by.
    pub error: i32,
    /// The evaluation is better than at the mover's last turn.
    pub improving: bool,
    /// It is or was on a best line.
    pub was_pv: bool,
    pub checks: Checks,
    pub threats: Threats,
    /// What the mover has beside pawns.
    pub pieces: i32,
}

impl Node<'_> {
    /// Nothing is likely to reach alpha.
    pub fn is_all(&self) -> bool {
        !(self.window.pv || self.window.fails)
    }

    /// The table's move takes something.
    pub fn takes_first(&self) -> bool {
        self.first.is_some_and(is_loud)
    }
}

/// A move that may be searched, and when.
pub(super) struct Candidate {
    pub m: Move,
    pub depth: i32,
    /// Which it is.
    pub number: i32,
    pub alpha: i32,
    /// The best score so far.
    pub best: i32,
    /// How much less deep by its number alone, in [`margins::PLY`]ths.
    pub late: i32,
    pub gives_check: bool,
    /// It is a capture or a promotion to a queen.
    pub loud: bool,
    /// What it is known for as an answer to the last move and to the one before it.
    pub answers: [i32; 2],
}

/// Whether a move is searched.
pub(super) enum Worth {
    Looking,
    /// No.
    Nothing,
    /// No: it comes to so much at most.
    AtMost(i32),
}

impl Tree<'_> {
    /// Whether a move is worth being looked at so near to the end of the line.
    pub(super) fn weigh(&self, node: &Node<'_>, candidate: &Candidate) -> Worth {
        let Candidate { m, depth, alpha, .. } = *candidate;
        let (position, turn, history) = (node.position, node.position.turn(), &self.memory.history);
        let left = depth - 1 - candidate.late / margins::PLY;
        if candidate.loud || candidate.gives_check {
            let known_for = history.of_capture(turn, m);
            let hope = margins::capture_hope(left, known_for)
                .filter(|_| !candidate.gives_check)
                .zip(node.still)
                .map(|(hope, still)| still + hope + m.capture().map_or(0, piece_value));
            // The last piece may be given away for a stalemate.
            let may_lose = alpha < 0 && node.pieces == piece_value(m.role());
            let loss = margins::capture_loss(depth, known_for);
            return match () {
                () if hope.is_some_and(|hope| hope <= alpha) => Worth::Nothing,
                () if !may_lose && !wins(position, m, -loss) => Worth::Nothing,
                () => Worth::Looking,
            };
        }
        if node.window.pv && self.back(node.window.ply, 0).follows {
            return Worth::Looking;
        }
        let shaped = history.of_shaped(turn, m, node.setting.pawns);
        let answers = candidate.answers[0] + candidate.answers[1] + shaped;
        if margins::is_bad_answer(depth, answers) {
            return Worth::Nothing;
        }
        let left = left + margins::history_plies(depth, answers, history.of_quiet(turn, m));
        if let Some(still) = node.still.filter(|_| !node.setting.check)
            && let Some(hope) = margins::quiet_hope(left, still > alpha)
            && still + hope <= alpha
        {
            return Worth::AtMost(still + hope);
        }
        let loss = margins::quiet_loss(left.max(0));
        if wins(position, m, -loss) { Worth::Looking } else { Worth::Nothing }
    }

    /// How much less deep a late move is searched, in [`margins::PLY`]ths.
    pub(super) fn reduction(&mut self, node: &Node<'_>, candidate: &Candidate) -> i32 {
        let Candidate { m, depth, number, alpha, loud, answers, .. } = *candidate;
        let Window { ply, fails, pv, .. } = node.window;
        let (turn, history) = (node.position.turn(), &self.memory.history);
        let is = i32::from;
        let known_for = if loud {
            873 * m.capture().map_or(0, piece_value) / 128 + history.of_capture(turn, m)
        } else {
            (2_252 * history.of_quiet(turn, m) + 1_126 * answers[0] + 1_093 * answers[1]) / 1_024
        };
        let mut less = candidate.late + 697 - 65 * number - node.error.abs() / 26_310;
        if node.was_pv {
            let high = node.known.is_none_or(|known| known.score > alpha);
            let deep = node.known.is_some_and(|known| known.depth >= depth);
            less -= 3_023 + 1_004 * is(pv) + 885 * is(high) + is(deep) * (816 + 940 * is(fails));
        }
        if fails {
            less += 4_026 + 933 * is(node.first.is_none());
        }
        less += 1_079 * is(node.takes_first());
        let refuted = self.back(ply + 1, 0).refuted;
        if refuted > 1 {
            less += 264 + 1_095 * is(refuted > 2) + 1_138 * is(node.is_all());
        } else if node.first == Some(m) {
            less -= 2_179;
        }
        self.at(ply).worth = known_for;
        less -= known_for * 439 / 4_096;
        if node.is_all() {
            less += less * 276 / (256 * depth + 268);
        }
        less
    }
}

/// The score of a position that is known to be far above beta (ProbCut).
pub(super) fn is_far_above(window: Window, known: Option<Known>) -> Option<i32> {
    let Window { depth, beta, ply, .. } = window;
    let bar = beta + margins::FAR_ABOVE;
    let known = known.filter(|known| ply > 0 && known.depth >= depth - 4)?;
    let is_low = known.bound != Bound::Upper;
    (is_low && (bar..MATES).contains(&known.score) && beta.abs() < MATES).then_some(bar)
}

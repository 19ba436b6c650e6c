//! What is asked of a move before it is searched: whether it is searched at all, and how much less deep.

use super::attack::{Checks, Threats};
use super::credit::Window;
use super::history::Past;
use super::margins;
use super::scale::{endgame_value, wins};
use super::{Ply, Tree};
use crate::conventional::table::{Bound, Known, MATES};
use shakmaty::{Chess, Move, Position};

/// A position whose moves are searched.
pub(super) struct Node<'a> {
    pub position: &'a Chess,
    pub key: u64,
    pub window: Window,
    /// What is kept of the position before.
    pub last: Ply,
    pub past: Past,
    pub known: Option<Known>,
    /// The table's move.
    pub first: Option<Move>,
    /// None in check.
    pub still: Option<i32>,
    /// The evaluation is better than at the mover's last turn.
    pub improving: bool,
    /// It is or was on a best line.
    pub was_pv: bool,
    pub checks: Checks,
    pub threats: Threats,
    /// The mover has more than pawns.
    pub has_pieces: bool,
}

/// A move that may be searched, and when.
pub(super) struct Candidate {
    pub m: Move,
    pub depth: i32,
    pub alpha: i32,
    /// Plies less by its number alone.
    pub late: i32,
    pub gives_check: bool,
    /// What it is known for as an answer to the moves before it.
    pub answers: i32,
    /// The same, and what it is known for by itself.
    pub known_for: i32,
}

impl Tree<'_> {
    /// Whether a move is not worth being looked at so near to the end of the line.
    pub(super) fn skips(&self, node: &Node<'_>, candidate: &Candidate) -> bool {
        let Candidate { m, depth, alpha, gives_check, .. } = *candidate;
        let left = (depth - 1 - candidate.late).max(0);
        let falls_short = |hope: Option<i32>, bar: i32| {
            node.still.zip(hope).is_some_and(|(still, hope)| still + hope < bar)
        };
        if m.is_capture() || gives_check {
            let known_for = self.memory.history.of_capture(node.position.turn(), m);
            let hope = margins::capture_hope(left, known_for)
                .filter(|_| !gives_check && !node.window.pv)
                .map(|hope| hope + m.capture().map_or(0, endgame_value));
            return falls_short(hope, alpha)
                || !wins(node.position, m, -margins::capture_loss(depth));
        }
        margins::is_bad_answer(depth, left, candidate.answers)
            || falls_short(margins::quiet_hope(left, candidate.known_for), alpha + 1)
            || !wins(node.position, m, -margins::quiet_loss(left))
    }

    /// Plies that a late move is searched less deep by.
    pub(super) fn reduction(
        &mut self,
        node: &Node<'_>,
        candidate: &Candidate,
        singular: bool,
    ) -> i32 {
        let Candidate { m, depth, late, .. } = *candidate;
        let Window { ply, fails, pv, .. } = node.window;
        let known_for = candidate.known_for - margins::ORDINARY;
        self.at(ply).worth = known_for;
        let known = node.known.filter(|_| node.first.is_some());
        let low = known.is_some_and(|known| known.bound != Bound::Lower && known.depth >= depth);
        let threatened = m.from().is_some_and(|from| node.threats.threatened.contains(from));
        let more = if node.was_pv && !(pv && low) { 2 } else { 0 }
            + if pv { margins::pv_more(depth) } else { 0 }
            + i32::from(node.last.tried > margins::MANY)
            + i32::from(singular)
            + i32::from(depth > 9 && threatened);
        let less = if fails { 2 } else { 0 }
            + i32::from(node.first.is_some_and(|m| m.is_capture()))
            + i32::from(self.at(ply + 1).refuted > margins::REFUTATIONS);
        late + less - more + margins::history_less(depth, known_for)
    }
}

/// The score of a position in check where the table's capture is far above beta (ProbCut).
pub(super) fn takes_in_check(
    window: Window,
    known: Option<Known>,
    first: Option<Move>,
) -> Option<i32> {
    let Window { depth, beta, pv, .. } = window;
    let bar = beta + margins::TAKES_IN_CHECK;
    let known = known.filter(|_| !pv && depth >= 2 && first.is_some_and(|m| m.is_capture()))?;
    let near = known.bound != Bound::Upper && known.depth >= depth - 3;
    (near && (bar..MATES).contains(&known.score) && beta.abs() < MATES).then_some(bar)
}

/// Whether the mover has more than pawns: else it may well be better to pass, were it allowed.
pub(super) fn has_pieces(position: &Chess) -> bool {
    let board = position.board();
    (position.us() & !board.pawns() & !board.kings()).any()
}

//! Which moves are searched further than others.

use super::candidate::{Candidate, Node};
use super::credit::Window;
use super::{Tree, margins};
use crate::chess::action::Action;
use crate::conventional::table::{Bound, Known, MATES};

/// How much further a move is searched.
pub(super) enum Extension {
    None,
    /// By so much: the others are worse, or not.
    Alone(i32),
    /// By a ply.
    Check,
    /// Not at all: the position's score is beta at least.
    Refuted(i32),
}

impl Tree<'_> {
    /// How much further a move is looked at. `answer` is what it is known for as an answer to the last move.
    pub(super) fn extend(
        &mut self,
        node: &Node<'_>,
        candidate: &Candidate,
        answer: i32,
    ) -> Extension {
        let Candidate { m, depth, gives_check, .. } = *candidate;
        let Window { ply, pv, .. } = node.window;
        if ply as i32 >= 2 * self.depth {
            return Extension::None;
        }
        let is_first = node.first == Some(m);
        let alone = node.known.filter(|known| {
            ply > 0
                && is_first
                && depth >= margins::alone_from(pv && known.pv)
                && known.score.abs() < MATES
                && known.bound != Bound::Upper
                && known.depth >= depth - 3
        });
        if let Some(known) = alone {
            return self.extend_alone(node, known);
        }
        let (deep, unequal) = margins::CHECKS;
        let check = gives_check && depth > deep;
        let killer = self.at(ply).killers[0] == Some(Action::new(m));
        match node.still {
            Some(still) if check && still.abs() > unequal => Extension::Check,
            _ if pv && is_first && killer && answer >= margins::PROVEN => Extension::Check,
            _ => Extension::None,
        }
    }

    /// Where all moves but the table's are worse by a margin, it is the position's only one (singular extensions: Anantharaman,
    /// Campbell & Hsu 1990).
    fn extend_alone(&mut self, node: &Node<'_>, known: Known) -> Extension {
        let Window { depth, beta, alpha, ply, fails, pv } = node.window;
        let bar = known.score - margins::alone(depth, node.was_pv && !pv);
        let kept = *self.at(ply);
        self.at(ply).excluded = known.action;
        let score = self.negamax(node.position, (depth - 1) / 2, bar - 1, bar, ply, fails);
        let at = self.at(ply);
        at.excluded = None;
        (at.tried, at.known) = (kept.tried, kept.known);
        match score {
            _ if self.over => Extension::None,
            _ if score < bar => {
                let far = score < bar - margins::FAR_ALONE && kept.doubled <= margins::DOUBLED;
                Extension::Alone(if far && !pv { 2 } else { 1 })
            }
            // Another move refutes as well.
            _ if bar >= beta => Extension::Refuted(bar),
            _ if known.score >= beta => Extension::Alone(-2),
            _ if known.score <= alpha && known.score <= score => Extension::Alone(-1),
            _ => Extension::None,
        }
    }
}

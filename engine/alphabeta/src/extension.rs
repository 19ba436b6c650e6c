//! Singular extensions and multi-cut.

use super::candidate::{Candidate, Node};
use super::correction::Corrections;
use super::margins::{self, SingularFactors};
use super::table::{Bound, MATES, TtEntry};
use super::window::Window;
use super::{Tree, moves::is_noisy};
use shakmaty::{Chess, Move, Position};

/// Result of the singular-extension test.
pub(super) enum Extension {
    /// Plies; negative = a reduction.
    By(i32),
    /// Multi-cut: return this score.
    Refuted(i32),
}

impl Tree<'_> {
    /// Extension of a move in plies.
    pub(super) fn extend(&mut self, node: &Node<'_>, candidate: &Candidate) -> Extension {
        let Candidate { m, depth, .. } = *candidate;
        let ply = node.window.ply;
        let is_excluded_search = self.at(ply).excluded.is_some();
        let singular = node.entry.filter(|entry| {
            ply > 0
                && node.tt_move == Some(m)
                && !is_excluded_search
                && depth >= margins::singular_depth(node.was_pv)
                && entry.score.abs() < MATES
                && entry.bound != Bound::Upper
                && entry.depth >= depth - 3
                && !self.is_shuffling(node.position, m, ply)
        });
        match singular {
            Some(entry) => self.extend_singular(node, candidate, entry),
            None => Extension::By(0),
        }
    }

    /// Singular extension (Anantharaman, Campbell & Hsu 1990): if all other moves fail low against the table's score
    /// less a margin, the table's move is extended.
    fn extend_singular(
        &mut self,
        node: &Node<'_>,
        candidate: &Candidate,
        entry: TtEntry,
    ) -> Extension {
        let Window { beta, ply, cut_node, pv, .. } = node.window;
        let threshold = entry.score - margins::singular_margin(candidate.depth, node.was_pv && !pv);
        let shallow = (candidate.depth - 1) / 2;
        self.at(ply).excluded = entry.action;
        let score = self.negamax(node.position, shallow, threshold - 1, threshold, ply, cut_node);
        self.at(ply).excluded = None;
        match score {
            _ if self.stopped => Extension::By(0),
            _ if score < threshold => {
                let (double, triple) = margins::extension_margins(SingularFactors {
                    pv,
                    was_pv: node.was_pv,
                    quiet: !node.tt_move_is_noisy(),
                    correction: node.correction,
                    tt_move_history: self.memory.history.tt_move_score(),
                    deep: ply as i32 > self.depth,
                });
                let exceeds = |margin: i32| i32::from(score < threshold - margin);
                Extension::By(1 + exceeds(double) + exceeds(triple))
            }
            // Multi-cut: another move fails high, too.
            _ if score >= beta && score.abs() < MATES => {
                self.memory.history.update_tt_move(-421 - 110 * candidate.depth);
                if let Some(static_eval) = node
                    .static_eval
                    .filter(|static_eval| !node.history_context.check && score > *static_eval)
                {
                    let bonus = Corrections::bonus_of_others(score - static_eval, shallow);
                    self.memory.corrections.learn(&node.indices, bonus);
                }
                Extension::Refuted(score)
            }
            _ if entry.score >= beta || cut_node => Extension::By(-margins::NEGATIVE_EXTENSION),
            _ => Extension::By(0),
        }
    }

    /// Whether a piece moves back and forth, far from the root.
    fn is_shuffling(&self, position: &Chess, m: Move, ply: usize) -> bool {
        let (calm, far) = margins::SHUFFLING;
        if is_noisy(m) || position.halfmoves() < calm || ply < far {
            return false;
        }
        // No null moves in between.
        let no_null_move = (1..=6).all(|plies| self.back(ply, plies).current_move.is_some());
        let (two, four) = (self.back(ply, 2).current_move, self.back(ply, 4).current_move);
        let back = |later: Option<Move>, earlier: Option<Move>| {
            later.zip(earlier).is_some_and(|(later, earlier)| later.from() == Some(earlier.to()))
        };
        no_null_move && back(Some(m), two) && back(two, four)
    }
}

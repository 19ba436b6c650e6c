//! Which moves are searched further than others.

use super::candidate::{Candidate, Node};
use super::correction::Corrections;
use super::margins::{self, Alone};
use super::table::{Bound, Known, MATES};
use super::window::Window;
use super::{Tree, moves::is_loud};
use shakmaty::{Chess, Move, Position};

/// How much further a move is searched.
pub(super) enum Extension {
    /// By so much.
    By(i32),
    /// Not at all: the position's score is so much, beta at least.
    Refuted(i32),
}

impl Tree<'_> {
    /// How much further a move is looked at.
    pub(super) fn extend(&mut self, node: &Node<'_>, candidate: &Candidate) -> Extension {
        let Candidate { m, depth, .. } = *candidate;
        let ply = node.window.ply;
        let excludes = self.at(ply).excluded.is_some();
        let alone = node.known.filter(|known| {
            ply > 0
                && node.first == Some(m)
                && !excludes
                && depth >= margins::alone_from(node.was_pv)
                && known.score.abs() < MATES
                && known.bound != Bound::Upper
                && known.depth >= depth - 3
                && !self.shuffles(node.position, m, ply)
        });
        match alone {
            Some(known) => self.extend_alone(node, candidate, known),
            None => Extension::By(0),
        }
    }

    /// Where all moves but the table's are worse by a margin, it is the position's only one (singular extensions: Anantharaman,
    /// Campbell & Hsu 1990).
    fn extend_alone(&mut self, node: &Node<'_>, candidate: &Candidate, known: Known) -> Extension {
        let Window { beta, ply, fails, pv, .. } = node.window;
        let bar = known.score - margins::alone(candidate.depth, node.was_pv && !pv);
        let shallow = (candidate.depth - 1) / 2;
        self.at(ply).excluded = known.action;
        let score = self.negamax(node.position, shallow, bar - 1, bar, ply, fails);
        self.at(ply).excluded = None;
        match score {
            _ if self.over => Extension::By(0),
            _ if score < bar => {
                let (twice, thrice) = margins::far_alone(Alone {
                    pv,
                    was_pv: node.was_pv,
                    quiet: !node.takes_first(),
                    error: node.error,
                    trust: self.memory.history.of_tables(),
                    deep: ply as i32 > self.depth,
                });
                let further = |margin: i32| i32::from(score < bar - margin);
                Extension::By(1 + further(twice) + further(thrice))
            }
            // Another move refutes as well.
            _ if score >= beta && score.abs() < MATES => {
                self.memory.history.count_tables(-421 - 110 * candidate.depth);
                if let Some(still) =
                    node.still.filter(|still| !node.setting.check && score > *still)
                {
                    let bonus = Corrections::bonus_of_others(score - still, shallow);
                    self.memory.corrections.learn(&node.places, bonus);
                }
                Extension::Refuted(score)
            }
            _ if known.score >= beta || fails => Extension::By(-margins::NOT_ALONE),
            _ => Extension::By(0),
        }
    }

    /// Whether a piece goes back and forth, far from the root.
    fn shuffles(&self, position: &Chess, m: Move, ply: usize) -> bool {
        let (calm, far) = margins::SHUFFLING;
        if is_loud(m) || position.halfmoves() < calm || ply < far {
            return false;
        }
        // Nobody passed on the way.
        let none = (1..=6).all(|plies| self.back(ply, plies).moved.is_some());
        let (two, four) = (self.back(ply, 2).moved, self.back(ply, 4).moved);
        let back = |later: Option<Move>, earlier: Option<Move>| {
            later.zip(earlier).is_some_and(|(later, earlier)| later.from() == Some(earlier.to()))
        };
        none && back(Some(m), two) && back(two, four)
    }
}

//! Players without a network, as chess programs were before and as paper 002 (section "Tree engines") builds
//! them: [`negamax`] is minimax and alpha-beta with their heuristics over a small [`evaluation`] made by
//! hand, [`uct`] the tree of random games, [`regress`] small networks that guess a board's value. They know nothing of clocks and protocols: whoever asks them
//! watches, and stops them.
//!
//! They are sparring partners and the lower rungs of the league, and share chess, options and reports with
//! the search that has a network.

pub mod evaluation;
pub mod negamax;
mod refutations;
pub mod regress;
pub mod uct;

use crate::chess::action::Action;

/// Watches a search. Asked now and then, by the searching thread.
pub trait Watch {
    /// True ends the search after so many nodes; what is found by then counts.
    fn is_over(&mut self, nodes: u64) -> bool;

    /// A better answer is known.
    fn heard(&mut self, found: &Found);
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The best line, at least one move; none before the first was looked at.
    pub line: Vec<Action>,
    /// Win probability of the side to move.
    pub win: f32,
    /// Plies to a mate that is proven; negative if the mover is mated.
    pub mate_plies: Option<i32>,
    /// Plies searched.
    pub depth: u32,
    /// Plies of the longest line.
    pub seldepth: u32,
    /// Positions looked at, or random games' leaves.
    pub nodes: u64,
}

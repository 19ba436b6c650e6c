//! What the network says of one node: its board, and the moves in order of preference or the outcome.

use crate::chess::action::Action;
use nn::writer::Trace;
use nn::writer::word::{BUCKETS, complement};
use shakmaty::{Chess, Color, Position};

/// How a game ended, as the network sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This side has won.
    Won(Color),
    /// Nobody has.
    Drawn,
    /// The board answered is none. The side that led there is to avoid it (paper 000, section 3.1).
    NoState,
}

/// One node.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The board; None if the network's answer is none.
    pub state: Option<Chess>,
    /// What follows from it.
    pub answer: Answer,
}

/// Moves or an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Moves, best first, each with the bucket of its value to the side to move; the first move's bucket is
    /// the node's. Never empty.
    List(Vec<(Action, u8)>),
    /// The game is over.
    Over(Outcome),
}

impl Page {
    /// A board that is none.
    #[must_use]
    pub fn refused() -> Page {
        Page::over(None, Outcome::NoState)
    }

    /// A game that is over.
    #[must_use]
    pub fn over(state: Option<Chess>, outcome: Outcome) -> Page {
        Page { state, answer: Answer::Over(outcome) }
    }

    /// The list; empty where the game is over.
    #[must_use]
    pub fn list(&self) -> &[(Action, u8)] {
        match &self.answer {
            Answer::List(list) => list,
            Answer::Over(_) => &[],
        }
    }

    /// Gives the list, or the end, to a trace that asks for it.
    pub fn give(&self, trace: &mut Trace) {
        let list: Vec<_> =
            self.list().iter().map(|(action, bucket)| (action.to_code(false), *bucket)).collect();
        match self.end() {
            None => trace.give_list(&list),
            Some(bucket) => trace.give_over(bucket),
        }
    }

    /// The bucket of an end to the side to move; None where the game goes on.
    #[must_use]
    pub fn end(&self) -> Option<u8> {
        let Answer::Over(outcome) = &self.answer else { return None };
        let turn = self.state.as_ref().map(Position::turn);
        Some(match outcome {
            Outcome::Won(winner) if turn == Some(*winner) => BUCKETS - 1,
            Outcome::Won(_) => 0,
            Outcome::Drawn => DRAWN,
            Outcome::NoState => BUCKETS - 1,
        })
    }
}

/// A draw; a ply above it is one bucket less.
const DRAWN: u8 = BUCKETS / 2;

/// The win probability in the middle of a bucket.
#[must_use]
pub fn centre(bucket: u8) -> f32 {
    (f32::from(bucket) + 0.5) / f32::from(BUCKETS)
}

/// A node's value as the side sees it that has moved there.
#[must_use]
pub fn to_parent(bucket: u8) -> u8 {
    complement(bucket)
}

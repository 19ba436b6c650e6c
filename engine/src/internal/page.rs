//! Evaluation of a node: its board, and its moves in order of preference or its outcome.

use chess::action::Action;
use nn::encode::MoveCode;
use nn::writer::Trace;
use nn::writer::word::{BUCKETS, complement};
use shakmaty::{Chess, Color, Position};

/// Predicted end of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictedOutcome {
    /// This side has won.
    Won(Color),
    /// A draw.
    Drawn,
    /// The predicted board is invalid. The side that moved there must avoid it (paper 000, section 3.1).
    NoState,
}

/// Evaluation of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePage {
    /// The board; None if the prediction is invalid.
    pub state: Option<Chess>,
    /// Moves or outcome.
    pub answer: NodeAnswer,
}

/// Move list or outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeAnswer {
    /// Moves, best first, each with the bucket of its value for the side to move; the first move's bucket is the
    /// node's. Never empty.
    List(Vec<(Action, u8)>),
    /// The game is over.
    Over(PredictedOutcome),
}

impl NodePage {
    /// Page of an invalid prediction.
    #[must_use]
    pub fn refused() -> NodePage {
        NodePage::over(None, PredictedOutcome::NoState)
    }

    /// Page of a finished game.
    #[must_use]
    pub fn over(state: Option<Chess>, outcome: PredictedOutcome) -> NodePage {
        NodePage { state, answer: NodeAnswer::Over(outcome) }
    }

    /// The move list; empty if the game is over.
    #[must_use]
    pub fn list(&self) -> &[(Action, u8)] {
        match &self.answer {
            NodeAnswer::List(list) => list,
            NodeAnswer::Over(_) => &[],
        }
    }

    /// Writes the list or the end to a trace that awaits it.
    pub fn give(&self, trace: &mut Trace) {
        let list: Vec<_> = self
            .list()
            .iter()
            .map(|(action, bucket)| (MoveCode::of(*action, false), *bucket))
            .collect();
        match self.end() {
            None => trace.give_list(&list),
            Some(bucket) => trace.give_over(bucket),
        }
    }

    /// Bucket of the outcome for the side to move; None while the game continues.
    #[must_use]
    pub fn end(&self) -> Option<u8> {
        let NodeAnswer::Over(outcome) = &self.answer else { return None };
        let turn = self.state.as_ref().map(Position::turn);
        Some(match outcome {
            PredictedOutcome::Won(winner) if turn == Some(*winner) => BUCKETS - 1,
            PredictedOutcome::Won(_) => 0,
            PredictedOutcome::Drawn => DRAWN,
            PredictedOutcome::NoState => BUCKETS - 1,
        })
    }
}

/// Bucket of a draw; one ply above it is one bucket less.
const DRAWN: u8 = BUCKETS / 2;

/// Win probability at the centre of a bucket.
#[must_use]
pub fn centre(bucket: u8) -> f32 {
    (f32::from(bucket) + 0.5) / f32::from(BUCKETS)
}

/// A node's value for the side that moved there.
#[must_use]
pub fn to_parent(bucket: u8) -> u8 {
    complement(bucket)
}

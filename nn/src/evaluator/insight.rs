//! All outputs of a network's heads for one position, as whole distributions, for people to inspect. Play needs
//! only an [`Evaluation`].

use super::query::Evaluation;
use crate::encode::MoveCode;

/// One position as the network sees it, from the side to move's point of view.
#[derive(Clone, Debug, PartialEq)]
pub struct Insight {
    /// The evaluation used in play.
    pub evaluation: Evaluation,
    /// `[64]`: probability of each bucket of win probability; sums to 1.
    pub value: Vec<f32>,
    /// `[m, 64]`: the same after each legal move.
    pub actions: Vec<f32>,
    /// `[m]`: probability of each legal move by the legality head.
    pub legality: Vec<f32>,
    /// The moves that the network predicts as legal, in the frame of the side to move, with their
    /// probabilities.
    pub believed: Vec<(MoveCode, f32)>,
}

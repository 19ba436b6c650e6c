//! All that a network's heads say of one position, with whole distributions: for people to look at. Play asks
//! for less, an [`Evaluation`].

use super::query::Evaluation;
use crate::encode::MoveCode;

/// One position as a network sees it, from the side to move's point of view.
#[derive(Clone, Debug, PartialEq)]
pub struct Insight {
    /// What play is told.
    pub evaluation: Evaluation,
    /// `[64]`: the probability of each bucket of win probability; sums to 1.
    pub value: Vec<f32>,
    /// `[m, 64]`: the same after each legal move.
    pub actions: Vec<f32>,
    /// `[m]`: the probability that the legality head gives each legal move.
    pub legality: Vec<f32>,
    /// The moves that the network takes for legal, in the frame of the side to move, with their probabilities.
    pub believed: Vec<(MoveCode, f32)>,
}

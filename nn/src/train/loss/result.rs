//! Result: cross-entropy of lost, drawn and won, `[3]`, against how the game ended for the side to move
//! (paper 004's z, as three classes).

use super::entropy::{cross_entropy, one_hot};
use crate::cpu::{Activations, HeadGradients};
use crate::data::Example;
use crate::net::layout::RESULTS;

/// The loss of position `p`; None if its game's result is unknown.
pub(super) fn loss(
    example: &Example,
    weight: f32,
    p: usize,
    activations: &Activations,
    grads: &mut HeadGradients,
) -> Option<f64> {
    let row = p * RESULTS..(p + 1) * RESULTS;
    example.result.map(|result| {
        let target: [f32; RESULTS] = one_hot(usize::from(result.min(2)));
        cross_entropy(&activations.result[row.clone()], &target, weight, &mut grads.result[row])
    })
}

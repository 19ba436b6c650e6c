//! Transition: the next board, token by token, `[64, 16]`: cross-entropy of the 13 piece classes and
//! binary cross-entropy of the three flags (castling rooks, en passant); the sum over tokens, divided
//! by 8. It stands for the next state that paper 000's model writes out (section 2).

use super::entropy::{binary, cross_entropy, one_hot};
use crate::cpu::{Activations, HeadGradients};
use crate::data::Example;
use crate::net::layout::TRANSITION_OUTPUTS;
use crate::net::{Layout, TOKENS};

/// Piece classes; the other outputs are flags.
pub const PIECES: usize = 13;
pub const FLAGS: usize = TRANSITION_OUTPUTS - PIECES;

/// The loss of position `p`; None if the example is not of the form `MAV(s, a)`.
pub(super) fn loss(
    example: &Example,
    layout: &Layout,
    weight: f32,
    p: usize,
    activations: &Activations,
    grads: &mut HeadGradients,
) -> Option<f64> {
    let next = example.next.as_ref()?;
    let weight = weight / 8.0;
    let mut sum = 0.0;
    for t in 0..TOKENS {
        let (logits, _) = activations.transition(layout, p, t);
        let grad = &mut grads.transition[(p * TOKENS + t) * TRANSITION_OUTPUTS..];
        let target: [f32; PIECES] = one_hot(usize::from(next.pieces[t]));
        sum += cross_entropy(&logits[..PIECES], &target, weight, &mut grad[..PIECES]);
        for bit in 0..FLAGS {
            let (loss, slope) = binary(logits[PIECES + bit], next.flags[t] & (1 << bit) != 0);
            sum += loss;
            grad[PIECES + bit] = weight * slope;
        }
    }
    Some(sum / 8.0)
}

//! Legality: binary cross-entropy of every (from, to) pair, `[64, 64]`, and of "moves from here
//! promote" on the squares that have a move, `[64]`; the sum over all, divided by 64. It stands for the
//! list of legal moves that paper 000's model writes out (section 2).

use super::entropy::binary;
use crate::cpu::{Activations, HeadGradients, ops};
use crate::data::Example;
use crate::net::{Layout, TOKENS};

const SQUARE: usize = TOKENS * TOKENS;

/// The loss of position `p`.
pub(super) fn loss(
    example: &Example,
    layout: &Layout,
    weight: f32,
    p: usize,
    activations: &Activations,
    grads: &mut HeadGradients,
) -> f64 {
    let logits = &activations.legality[p * SQUARE..][..SQUARE];
    let weight = weight / TOKENS as f32;
    let grad = &mut grads.legality[p * SQUARE..][..SQUARE];
    let mut sum = f64::from(ops::binary_negative(logits, weight, grad));
    let mut previous = None;
    let mut movers = 0u64;
    // Canonical order puts the four promotions of a pair side by side (the frame flips ranks only).
    for m in &example.moves {
        let pair = usize::from(m.from) * TOKENS + usize::from(m.to);
        if previous.replace(pair) != Some(pair) {
            // For a true pair the loss is softplus(x) - x instead of softplus(x).
            sum -= f64::from(logits[pair]);
            grad[pair] -= weight;
        }
        if movers & (1 << m.from) == 0 {
            movers |= 1 << m.from;
            let (_, logit) = activations.transition(layout, p, usize::from(m.from));
            let promotes = example.moves.iter().any(|o| o.from == m.from && o.promotion > 0);
            let (loss, slope) = binary(logit, promotes);
            sum += loss;
            grads.promotes[p * TOKENS + usize::from(m.from)] = weight * slope;
        }
    }
    sum / TOKENS as f64
}

//! Terminal: cross-entropy of ongoing, lost and drawn by the board alone, `[3]`: how a search on
//! predicted states knows the end (paper 000, section 3.1).

use super::entropy::{cross_entropy, one_hot};
use crate::cpu::{Activations, HeadGradients};
use crate::data::{Example, Terminal};
use crate::net::layout::TERMINALS;

/// Class of the terminal head.
#[must_use]
pub fn class(terminal: Terminal) -> usize {
    match terminal {
        Terminal::Ongoing => 0,
        Terminal::Lost => 1,
        Terminal::Drawn => 2,
    }
}

/// The loss of position `p`.
pub(super) fn loss(
    example: &Example,
    weight: f32,
    p: usize,
    activations: &Activations,
    grads: &mut HeadGradients,
) -> f64 {
    let row = p * TERMINALS..(p + 1) * TERMINALS;
    let target: [f32; TERMINALS] = one_hot(class(example.terminal));
    cross_entropy(&activations.terminal[row.clone()], &target, weight, &mut grads.terminal[row])
}

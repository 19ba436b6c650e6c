//! Losses of the world model's heads: game end, legal moves, next board: the parts of paper 000's model output
//! (section 2) that are not values.

use super::entropy::{binary, cross_entropy, one_hot};
use super::place::PositionMoves;
use crate::data::Terminal;
use nn::kernels::{Isa, ops};
use nn::net::TOKENS;
use nn::net::layout::{TERMINALS, TRANSITION_OUTPUTS};

const SQUARE: usize = TOKENS * TOKENS;
/// Piece classes of the transition head; its other outputs are flags.
pub const PIECES: usize = 13;
/// Flags of the transition head.
pub const FLAGS: usize = TRANSITION_OUTPUTS - PIECES;

/// Class of the terminal head.
#[must_use]
pub fn terminal_class(terminal: Terminal) -> usize {
    match terminal {
        Terminal::Ongoing => 0,
        Terminal::Lost => 1,
        Terminal::Drawn => 2,
    }
}

/// Terminal: cross-entropy of ongoing, lost and drawn by the board only, `[3]`: how a search on predicted
/// states detects the end (paper 000, section 3.1).
pub(super) fn terminal(at: &mut PositionMoves<'_>, weight: f32) -> f64 {
    let row = at.p * TERMINALS..(at.p + 1) * TERMINALS;
    let target: [f32; TERMINALS] = one_hot(terminal_class(at.example.terminal));
    let grad = &mut at.grads.terminal[row.clone()];
    cross_entropy(&at.activations.logits.terminal[row], &target, weight, grad)
}

/// Legality: binary cross-entropy of every (from, to) pair, `[64, 64]`, and of "moves from here promote" on the
/// squares that have a move, `[64]`; the sum over all, divided by 64.
pub(super) fn legality(at: &mut PositionMoves<'_>, weight: f32) -> f64 {
    let logits = &at.activations.logits.legality[at.p * SQUARE..][..SQUARE];
    let weight = weight / TOKENS as f32;
    let grad = &mut at.grads.legality[at.p * SQUARE..][..SQUARE];
    let moves = &at.example.moves;
    let mut sum = f64::from(ops::binary_negative(Isa::found(), logits, weight, grad));
    let mut previous = None;
    let mut movers = 0u64;
    // Canonical order puts the four promotions of a pair side by side (the frame flips ranks only).
    for m in moves {
        let pair = usize::from(m.from) * TOKENS + usize::from(m.to);
        if previous.replace(pair) != Some(pair) {
            // For a true pair the loss is softplus(x) - x instead of softplus(x).
            sum -= f64::from(logits[pair]);
            grad[pair] -= weight;
        }
        if movers & (1 << m.from) == 0 {
            movers |= 1 << m.from;
            let (_, logit) = at.activations.transition(at.layout, at.p, usize::from(m.from));
            let promotes = moves.iter().any(|o| o.from == m.from && o.promotion > 0);
            let (loss, slope) = binary(logit, promotes);
            sum += loss;
            at.grads.promotes[at.p * TOKENS + usize::from(m.from)] = weight * slope;
        }
    }
    sum / TOKENS as f64
}

/// Transition: the next board, token by token, `[64, 16]`: cross-entropy of the 13 piece classes and binary
/// cross-entropy of the three flags (castling rooks, en passant); the sum over tokens, divided by 8. None if the
/// example is not of the form `MAV(s, a)`.
pub(super) fn transition(at: &mut PositionMoves<'_>, weight: f32) -> Option<f64> {
    let next = at.example.next.as_ref()?;
    let weight = weight / 8.0;
    let mut sum = 0.0;
    for t in 0..TOKENS {
        let (logits, _) = at.activations.transition(at.layout, at.p, t);
        let grad = &mut at.grads.transition[(at.p * TOKENS + t) * TRANSITION_OUTPUTS..];
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

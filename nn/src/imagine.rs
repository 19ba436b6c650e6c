//! What the network imagines: legal moves, game end and next board, read off the heads' logits. The
//! answers are taken as they are; whether they make a position is for the caller to find out.

use crate::cpu::Trace;
use crate::data::Terminal;
use crate::encode::{MoveCode, NextBoard};
use crate::net::{Layout, TOKENS};

/// The moves that the legality head finds legal at position `p` of a pass over all heads, by (from,
/// to, promotion) of the input's frame.
#[must_use]
pub fn legal_moves(layout: &Layout, trace: &Trace, p: usize) -> Vec<MoveCode> {
    let pairs = &trace.legality[p * TOKENS * TOKENS..][..TOKENS * TOKENS];
    let mut moves = Vec::new();
    for (index, _) in pairs.iter().enumerate().filter(|(_, logit)| **logit > 0.0) {
        let (from, to) = ((index / TOKENS) as u8, (index % TOKENS) as u8);
        let (_, promotes) = trace.transition(layout, p, usize::from(from));
        let promotions = if promotes > 0.0 { 1..=4 } else { 0..=0 };
        moves.extend(promotions.map(|promotion| MoveCode { from, to, promotion }));
    }
    moves
}

/// What the terminal head says of position `p`.
#[must_use]
pub fn terminal(trace: &Trace, p: usize) -> Terminal {
    match largest(&trace.terminal[p * 3..][..3]) {
        0 => Terminal::Ongoing,
        1 => Terminal::Lost,
        _ => Terminal::Drawn,
    }
}

/// The board after the marked action, for a position `p` of the form `MAV(s, a)`.
#[must_use]
pub fn next_board(layout: &Layout, trace: &Trace, p: usize) -> NextBoard {
    let mut next = NextBoard { pieces: [0; 64], flags: [0; 64] };
    for t in 0..TOKENS {
        let (logits, _) = trace.transition(layout, p, t);
        next.pieces[t] = largest(&logits[..13]) as u8;
        for bit in 0..3 {
            next.flags[t] |= u8::from(logits[13 + bit] > 0.0) << bit;
        }
    }
    next
}

/// Index of the largest logit, the first of equals.
fn largest(logits: &[f32]) -> usize {
    crate::metrics::best_index(logits).unwrap_or(0)
}

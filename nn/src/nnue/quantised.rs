//! The network in whole numbers, from board to board.
//!
//! The first layer's sums are kept for the last boards; the next board's follow from the squares that differ, whatever
//! happened in between, so that no move need be told. Plain loops, compiled for each set of instructions.

use super::features::View;
use super::layout::{Layout, Parameters};
use super::{BUCKETS, HIDDEN, INPUTS, bucket};
use crate::cpu::isa::by_isa;
use shakmaty::{Bitboard, Chess, Color, Position, Role, Square};

/// One in the first layer's whole numbers: sums are clipped there.
const ONE: i16 = 127;
/// One in the last layer's: its weights stay below 258 of these, so that a product of 127 and one has 16 bits.
const OUTPUT_ONE: f32 = 448.0;

/// The parameters rounded to whole numbers.
pub struct Nnue {
    rows: Vec<[i16; HIDDEN]>,
    bias: [i16; HIDDEN],
    output: Vec<[[i16; HIDDEN]; 2]>,
    output_bias: [f32; BUCKETS],
}

impl Nnue {
    /// Rounds them.
    #[must_use]
    pub fn new(parameters: &Parameters) -> Nnue {
        let layout = Layout::new();
        let values = &parameters.values;
        let round = |value: &f32| (value * f32::from(ONE)).round().clamp(-8000.0, 8000.0) as i16;
        let last = |value: &f32| (value * OUTPUT_ONE).round().clamp(-258.0, 258.0) as i16;
        let (output, _) = values[layout.output].as_chunks::<HIDDEN>();
        let (rows, _) = values[layout.rows].as_chunks::<HIDDEN>();
        let mut bias = [0; HIDDEN];
        bias.iter_mut().zip(&values[layout.bias]).for_each(|(to, from)| *to = round(from));
        let mut output_bias = [0.0; BUCKETS];
        output_bias.copy_from_slice(&values[layout.output_bias]);
        debug_assert_eq!(rows.len(), INPUTS);
        Nnue {
            rows: rows.iter().map(|row| row.each_ref().map(round)).collect(),
            bias,
            output: output
                .as_chunks::<2>()
                .0
                .iter()
                .map(|sides| sides.each_ref().map(|side| side.each_ref().map(last)))
                .collect(),
            output_bias,
        }
    }

    /// The mover's win probability as a logit. `ply` says where in `accumulators` the sums are to lie: those one ply
    /// before are begun with.
    #[must_use]
    pub fn evaluate(&self, accumulators: &mut Accumulators, ply: usize, position: &Chess) -> f32 {
        let stack = &mut accumulators.0;
        if stack.len() <= ply {
            stack.resize_with(ply + 1, || Accumulator::empty(self));
        }
        let (before, rest) = stack.split_at_mut(ply);
        let at = &mut rest[0];
        if let Some(before) = before.last() {
            at.clone_from(before);
        }
        at.turn_into(self, position);
        let pieces = position.board().occupied().count();
        let bucket = bucket(pieces);
        let turn = usize::from(position.turn().is_black());
        let [ours, theirs] = &self.output[bucket];
        let sum = dot(&at.sums[turn], ours) as f32 + dot(&at.sums[1 - turn], theirs) as f32;
        let one = f32::from(ONE);
        sum / (one * one * OUTPUT_ONE) + self.output_bias[bucket]
    }
}

/// The sums of the first layer for the boards of a line.
#[derive(Default)]
pub struct Accumulators(Vec<Accumulator>);

/// The sums for one board.
#[derive(Clone)]
struct Accumulator {
    /// White's pieces by role, then black's.
    pieces: [[Bitboard; 6]; 2],
    /// How white, how black sees the board.
    views: [View; 2],
    /// As white, as black sees the board.
    sums: [[i16; HIDDEN]; 2],
}

impl Accumulator {
    fn empty(nnue: &Nnue) -> Accumulator {
        Accumulator {
            pieces: [[Bitboard::EMPTY; 6]; 2],
            views: [View::default(); 2],
            sums: [nnue.bias; 2],
        }
    }

    /// Follows to another board.
    fn turn_into(&mut self, nnue: &Nnue, position: &Chess) {
        let board = position.board();
        for (side, color) in [Color::White, Color::Black].into_iter().enumerate() {
            let view = board
                .king_of(color)
                .map_or(self.views[side], |king| View::of(seen_from(side, king)));
            if self.views[side] != view {
                self.views[side] = view;
                self.anew(nnue, side);
            }
        }
        for (color, pieces) in [board.white(), board.black()].into_iter().enumerate() {
            for role in Role::ALL {
                let now = board.by_role(role) & pieces;
                let place = &mut self.pieces[color][role as usize - 1];
                let before = std::mem::replace(place, now);
                for square in now & !before {
                    self.change(nnue, color, role, square, add);
                }
                for square in before & !now {
                    self.change(nnue, color, role, square, subtract);
                }
            }
        }
    }

    /// One side's sums, from nothing.
    fn anew(&mut self, nnue: &Nnue, side: usize) {
        self.sums[side] = nnue.bias;
        for color in 0..2 {
            for role in Role::ALL {
                for square in self.pieces[color][role as usize - 1] {
                    let row = self.row(side, color, role, square);
                    add(&mut self.sums[side], &nnue.rows[row]);
                }
            }
        }
    }

    fn row(&self, side: usize, color: usize, role: Role, square: Square) -> usize {
        self.views[side].row(color != side, role as usize - 1, seen_from(side, square))
    }

    fn change(
        &mut self,
        nnue: &Nnue,
        color: usize,
        role: Role,
        square: Square,
        by: fn(&mut [i16; HIDDEN], &[i16; HIDDEN]),
    ) {
        for side in 0..2 {
            let row = self.row(side, color, role, square);
            by(&mut self.sums[side], &nnue.rows[row]);
        }
    }
}

/// A square as white (0) or black (1) sees it from its own edge.
fn seen_from(side: usize, square: Square) -> usize {
    usize::from(square) ^ (56 * side)
}

by_isa! {
    /// Adds a row.
    pub fn add(sums: &mut [i16; HIDDEN], row: &[i16; HIDDEN]) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_add(*value);
        }
    }
}

by_isa! {
    /// Takes a row away.
    pub fn subtract(sums: &mut [i16; HIDDEN], row: &[i16; HIDDEN]) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_sub(*value);
        }
    }
}

by_isa! {
    /// The sum of weights times squares of clipped sums: at most 127 * 127 * 258 * 256, less than 2^31.
    pub fn dot(sums: &[i16; HIDDEN], weights: &[i16; HIDDEN]) -> i32 {
        let mut total = 0i32;
        for (sum, weight) in sums.iter().zip(weights) {
            let clipped = (*sum).clamp(0, ONE);
            total += i32::from(clipped.wrapping_mul(*weight)) * i32::from(clipped);
        }
        total
    }
}

#[cfg(test)]
mod tests;

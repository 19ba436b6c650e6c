//! The integer network with incremental updates.
//!
//! Accumulators are kept for the boards of a line, and for the last board of each king view; the next board's
//! follow from the differing pieces, whatever happened in between, so that no move needs to be passed. Plain
//! loops, compiled for each instruction set.

use super::features::View;
use super::layout::{Layout, Parameters};
use super::{BUCKETS, HIDDEN, INPUTS, bucket};
use arrayvec::ArrayVec;
use kernels::by_isa;
use kernels::{Isa, huge_pages};
use shakmaty::{Bitboard, Chess, Color, Position, Role, Square};

/// Fixed-point 1 of the first layer, at which its sums are clipped.
const ONE: i16 = 127;
/// Fixed-point 1 of the output weights, which stay below 258, so that 127 times a weight fits in 16 bits.
const OUTPUT_ONE: f32 = 448.0;

/// The quantized parameters.
pub struct Nnue {
    /// Instruction set of its loops.
    isa: Isa,
    rows: Vec<[i16; HIDDEN]>,
    bias: [i16; HIDDEN],
    output: Vec<[[i16; HIDDEN]; 2]>,
    output_bias: [f32; BUCKETS],
}

impl Nnue {
    /// Quantizes the parameters.
    #[must_use]
    pub fn new(parameters: &Parameters) -> Nnue {
        let layout = Layout::new();
        let values = parameters.values();
        let round = |value: &f32| (value * f32::from(ONE)).round().clamp(-8000.0, 8000.0) as i16;
        let last = |value: &f32| (value * OUTPUT_ONE).round().clamp(-258.0, 258.0) as i16;
        let (output, _) = values[layout.output].as_chunks::<HIDDEN>();
        let (rows, _) = values[layout.rows].as_chunks::<HIDDEN>();
        let mut bias = [0; HIDDEN];
        bias.iter_mut().zip(&values[layout.bias]).for_each(|(to, from)| *to = round(from));
        let mut output_bias = [0.0; BUCKETS];
        output_bias.copy_from_slice(&values[layout.output_bias]);
        debug_assert_eq!(rows.len(), INPUTS);
        let mut rounded = huge_pages::with_capacity(INPUTS);
        rounded.extend(rows.iter().map(|row| row.each_ref().map(round)));
        Nnue {
            isa: Isa::found(),
            rows: rounded,
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

    /// The mover's win probability as a logit. `ply` is the index in `accumulators`; the accumulator one ply
    /// before is the starting point.
    #[must_use]
    pub fn evaluate(&self, accumulators: &mut Accumulators, ply: usize, position: &Chess) -> f32 {
        self.follow(accumulators, ply, position);
        let at = &accumulators.line[ply];
        let pieces = position.board().occupied().count();
        let bucket = bucket(pieces);
        let turn = usize::from(position.turn().is_black());
        let [ours, theirs] = &self.output[bucket];
        let (us, them) = (&at[turn].sums, &at[1 - turn].sums);
        let sum = dot(self.isa, us, ours) + dot(self.isa, them, theirs);
        let one = f32::from(ONE);
        sum / (one * one * OUTPUT_ONE) + self.output_bias[bucket]
    }

    /// Updates the accumulators at `ply` to `position`, so that the next ply may start from them.
    pub fn follow(&self, accumulators: &mut Accumulators, ply: usize, position: &Chess) {
        let Accumulators { line, refresh_cache } = accumulators;
        if line.len() <= ply {
            line.resize_with(ply + 1, || [self.empty_accumulator(), self.empty_accumulator()]);
        }
        refresh_cache.resize_with(2 * View::COUNT, || self.empty_accumulator());
        let board = position.board();
        let mut pieces = Pieces::default();
        for (color, of) in [board.white(), board.black()].into_iter().enumerate() {
            for role in Role::ALL {
                pieces[color][role as usize - 1] = board.by_role(role) & of;
            }
        }
        let (before, rest) = line.split_at_mut(ply);
        for (side, color) in [Color::White, Color::Black].into_iter().enumerate() {
            let king = board.king_of(color).map_or(0, |king| seen_from(side, king));
            let view = View::of(king);
            let (at, home) =
                (&mut rest[0][side], &mut refresh_cache[side * View::COUNT + view.index()]);
            if at.view == view && at.pieces == pieces {
                continue;
            }
            let parent = before.last().map(|parent| &parent[side]);
            match parent.filter(|parent| parent.view == view) {
                Some(parent) if parent.is_near(&pieces, home) => {
                    at.update_from(self, parent, side, &pieces);
                }
                _ => {
                    // The last board seen from this view.
                    home.view = view;
                    at.update_from(self, home, side, &pieces);
                    home.clone_from(at);
                }
            }
        }
    }

    /// Accumulator of an empty board.
    fn empty_accumulator(&self) -> Accumulator {
        Accumulator { pieces: Pieces::default(), view: View::default(), sums: self.bias }
    }
}

/// White's pieces by role, then black's.
type Pieces = [[Bitboard; 6]; 2];

/// The accumulators of a line of boards.
#[derive(Default)]
pub struct Accumulators {
    /// White's and Black's perspective.
    line: Vec<[Accumulator; 2]>,
    /// By side and view, the last board: refresh cache for king moves.
    refresh_cache: Vec<Accumulator>,
}

/// The accumulator of one board from one side.
#[derive(Clone)]
struct Accumulator {
    pieces: Pieces,
    view: View,
    sums: [i16; HIDDEN],
}

impl Accumulator {
    /// Whether this board is a better starting point for `pieces` than `home`.
    fn is_near(&self, pieces: &Pieces, home: &Accumulator) -> bool {
        let squares = self.distance(pieces);
        // One move away: another board is hardly ever nearer.
        squares <= 2 || squares <= home.distance(pieces)
    }

    /// Number of differing squares.
    fn distance(&self, pieces: &Pieces) -> usize {
        let both = self.pieces.as_flattened().iter().zip(pieces.as_flattened());
        both.fold(Bitboard::EMPTY, |differ, (before, now)| differ | (*before ^ *now)).count()
    }

    /// Updates to another board from `before`, which has the same view.
    fn update_from(&mut self, nnue: &Nnue, before: &Accumulator, side: usize, pieces: &Pieces) {
        let (mut added, mut removed) = (Rows::new(), Rows::new());
        for (color, (old, new)) in before.pieces.iter().zip(pieces).enumerate() {
            for (role, (old, new)) in old.iter().zip(new).enumerate() {
                // Most bitboards are unchanged.
                if old == new {
                    continue;
                }
                let row = |square| {
                    let row = before.view.row(color != side, role, seen_from(side, square));
                    &nnue.rows[row]
                };
                added.extend((*new & !*old).into_iter().map(row));
                removed.extend((*old & !*new).into_iter().map(row));
            }
        }
        (self.pieces, self.view) = (*pieces, before.view);
        let (isa, to, from) = (nnue.isa, &mut self.sums, &before.sums);
        let (added, removed) = match (&added[..], &removed[..]) {
            ([a, added @ ..], [b, c, removed @ ..]) => {
                capture(isa, to, from, a, b, c);
                (added, removed)
            }
            ([a, added @ ..], [b, removed @ ..]) => {
                step(isa, to, from, a, b);
                (added, removed)
            }
            both => {
                to.copy_from_slice(from);
                both
            }
        };
        added.iter().for_each(|row| add(isa, to, row));
        removed.iter().for_each(|row| subtract(isa, to, row));
    }
}

/// Rows of pieces: a board has 32 at most, unless its FEN is unusual.
type Rows<'a> = ArrayVec<&'a [i16; HIDDEN], 64>;

/// A square from White's (0) or Black's (1) own edge.
fn seen_from(side: usize, square: Square) -> usize {
    usize::from(square) ^ (56 * side)
}

by_isa! {
    /// A piece went from `b` to `a`.
    pub fn step(to: &mut [i16; HIDDEN], from: &[i16; HIDDEN], a: &[i16; HIDDEN], b: &[i16; HIDDEN]) {
        for (((to, from), a), b) in to.iter_mut().zip(from).zip(a).zip(b) {
            *to = from.wrapping_add(*a).wrapping_sub(*b);
        }
    }
}

by_isa! {
    /// A piece went from `b` to `a`, and `c` is gone.
    pub fn capture(to: &mut [i16; HIDDEN], from: &[i16; HIDDEN], a: &[i16; HIDDEN], b: &[i16; HIDDEN], c: &[i16; HIDDEN]) {
        for ((((to, from), a), b), c) in to.iter_mut().zip(from).zip(a).zip(b).zip(c) {
            *to = from.wrapping_add(*a).wrapping_sub(*b).wrapping_sub(*c);
        }
    }
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
    /// Subtracts a row.
    pub fn subtract(sums: &mut [i16; HIDDEN], row: &[i16; HIDDEN]) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_sub(*value);
        }
    }
}

by_isa! {
    /// Dot product of weights and squared clipped sums.
    pub fn dot(sums: &[i16; HIDDEN], weights: &[i16; HIDDEN]) -> f32 {
        // At most 127 * 127 * 258 * 512, less than 2^31.
        const PART: usize = 512;
        const { assert!(HIDDEN.is_multiple_of(PART)) };
        let mut total = 0.0;
        for (sums, weights) in sums.as_chunks::<PART>().0.iter().zip(weights.as_chunks::<PART>().0) {
            let mut part = 0i32;
            for (sum, weight) in sums.iter().zip(weights) {
                let clipped = (*sum).clamp(0, ONE);
                part += i32::from(clipped.wrapping_mul(*weight)) * i32::from(clipped);
            }
            total += part as f32;
        }
        total
    }
}

#[cfg(test)]
mod tests;

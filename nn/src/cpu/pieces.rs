//! The first blocks of a network with `piece_blocks`: only occupied and flagged squares have tokens, 22 of 64 on
//! average. The rows of all positions lie one behind the other; attention goes position by position, with the
//! entries of every table that belong to the position's squares.

use super::relations::Relations;
use super::weights::Weights;
use crate::encode::Item;
use crate::kernels::gemm::{Accumulate, Mat, matmul};
use crate::kernels::norm;
use crate::net::TOKENS;
use crate::net::layout::{BlockLayout, Layout};
use std::ops::Range;

const SQUARE: usize = TOKENS * TOKENS;
/// Attention bias of the free columns behind a position's tokens.
const ABSENT: f32 = -1e4;
/// Kernels that normalise take whole groups of rows.
const ROWS: usize = 8;

/// The tokens of a pass.
#[derive(Default)]
pub(super) struct Pieces {
    /// Square of each token.
    squares: Vec<u8>,
    /// Where each position's tokens end.
    ends: Vec<usize>,
    /// Entries of the dynamic bias's patterns, `[rank, tokens, tokens]` of each position.
    patterns: Vec<f32>,
    scratch: Attention,
}

/// Scratch of one position.
#[derive(Default)]
struct Attention {
    /// `[tokens, 64]`.
    scores: Vec<f32>,
    /// `[tokens, 64]`.
    bias: Vec<f32>,
    /// `[heads, tokens, tokens]`.
    mixture: Vec<f32>,
}

impl Pieces {
    /// Copies the rows of occupied and flagged squares of `x`, `[64 * items, width]`, to `rows`, `[tokens, width]` and
    /// padding, and gathers the patterns.
    pub(super) fn gather(
        &mut self,
        layout: &Layout,
        w: &Weights,
        items: &[Item<'_>],
        x: &[f32],
        rows: &mut Vec<f32>,
    ) {
        let width = layout.config.width;
        self.squares.clear();
        self.ends.clear();
        rows.clear();
        self.patterns.clear();
        let basis = &w[layout.bias_basis.clone()];
        for (item, x) in items.iter().zip(x.chunks_exact(TOKENS * width)) {
            let first = self.squares.len();
            for (t, row) in x.chunks_exact(width).enumerate() {
                if item.features.is_occupied_or_flagged(t) {
                    self.squares.push(t as u8);
                    rows.extend(row);
                }
            }
            self.ends.push(self.squares.len());
            let squares = &self.squares[first..];
            for pattern in basis.chunks_exact(SQUARE) {
                for &from in squares {
                    let row = &pattern[usize::from(from) * TOKENS..][..TOKENS];
                    self.patterns.extend(squares.iter().map(|&to| row[usize::from(to)]));
                }
            }
        }
        rows.resize(self.squares.len().next_multiple_of(ROWS) * width, 0.0);
    }

    /// Writes `rows` back to their squares of `x`.
    pub(super) fn scatter(&self, rows: &[f32], x: &mut [f32], width: usize) {
        for (row, at) in rows.chunks_exact(width).zip(self.places()) {
            x[at * width..][..width].copy_from_slice(row);
        }
    }

    /// `compressed`, `[rows, channels]`, as whole boards, `[64 * positions, channels]`; absent squares are zero.
    pub(super) fn boards(&self, compressed: &mut Vec<f32>, channels: usize) {
        let mut boards = vec![0.0; self.ends.len() * TOKENS * channels];
        for (row, at) in compressed.chunks_exact(channels).zip(self.places()) {
            boards[at * channels..][..channels].copy_from_slice(row);
        }
        *compressed = boards;
    }

    /// Row among all squares of all positions, of each token.
    fn places(&self) -> impl Iterator<Item = usize> {
        let rows = rows(&self.ends).enumerate();
        rows.flat_map(|(p, rows)| {
            self.squares[rows].iter().map(move |&square| p * TOKENS + usize::from(square))
        })
    }

    /// Attention of all positions from `qkv`, `[rows, 3 * width]`, and `bias_mix`, the patterns' shares, `[positions *
    /// heads, rank]`, to `mixed`, `[rows, width]`.
    pub(super) fn attend(
        &mut self,
        layout: &Layout,
        w: &Weights,
        places: &BlockLayout,
        relations: &Relations,
        (qkv, bias_mix): (&[f32], &[f32]),
        mixed: &mut [f32],
    ) {
        let (width, heads) = (layout.config.width, layout.config.heads);
        let (dim, stride) = (width / heads, 3 * width);
        let Pieces { squares, ends, patterns, scratch } = self;
        let Attention { scores, bias, mixture } = scratch;
        let mut patterns = &patterns[..];
        let rank = layout.config.dynamic_bias.map_or(0, |sizes| sizes.rank);
        for (p, rows) in rows(ends).enumerate() {
            let (squares, count) = (&squares[rows.clone()], rows.len());
            let (here, rest) = patterns.split_at(rank * count * count);
            patterns = rest;
            let qkv = &qkv[rows.start * stride..rows.end * stride];
            scores.clear();
            scores.resize(count * TOKENS, 0.0);
            bias.resize(count * TOKENS, 0.0);
            if count == 0 {
                continue;
            }
            if rank > 0 {
                let square = count * count;
                mixture.resize(heads * square, 0.0);
                let shares = Mat::new(&bias_mix[p * heads * rank..], heads, rank, rank);
                let (here, into) = (Mat::new(here, rank, square, square), Accumulate::Replace);
                matmul(w.method(), mixture, square, into, 1.0, shares, here);
            }
            for h in 0..heads {
                let table = &w[places.attention_bias.clone()][h * SQUARE..][..SQUARE];
                for (row, &from) in bias.chunks_exact_mut(TOKENS).zip(squares) {
                    let table = &table[usize::from(from) * TOKENS..][..TOKENS];
                    for (place, &to) in row.iter_mut().zip(squares) {
                        *place = table[usize::from(to)];
                    }
                    row[count..].fill(ABSENT);
                }
                if rank > 0 {
                    let mixture = mixture[h * count * count..].chunks_exact(count);
                    for (row, mixed) in bias.chunks_exact_mut(TOKENS).zip(mixture) {
                        row.iter_mut().zip(mixed).for_each(|(bias, mixed)| *bias += mixed);
                    }
                }
                if let Some(table) = &places.relations {
                    relations.add_among(p, squares, h, &w[table.clone()], bias);
                }
                let part = |i: usize| Mat::new(&qkv[i * width + h * dim..], count, dim, stride);
                let scale = (dim as f32).sqrt().recip();
                let (method, into) = (w.method(), Accumulate::Replace);
                matmul(method, scores, TOKENS, into, scale, part(0), part(1).t());
                norm::attention_softmax(w.isa(), scores, bias);
                let weights = Mat::new(scores, count, count, TOKENS);
                let mixed = &mut mixed[rows.start * width + h * dim..];
                matmul(method, mixed, width, Accumulate::Replace, 1.0, weights, part(2));
            }
        }
    }
}

/// Each position's tokens, by where they end.
fn rows(ends: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(|(start, &end)| start..end)
}

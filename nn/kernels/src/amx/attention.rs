//! Attention of a whole position by AMX, 16 rows of every head at a time, so that scores and biases stay in L1:
//! the dynamic biases of these rows are mixed on top of the static ones, query-key products are added, and the
//! softmax of the sum weighs the values.

use crate::TOKENS;
use crate::amx::tiles::{Pair, Panel, ROWS, Steps, configured, side_by_side};
use crate::attention::bf16_softmax::{SCORES, exponentials, write};
use crate::attention::bias_mixture::{FixedBasis, Mixed, QuantizedShares};
use crate::gemm::{Bf16Rows, Buffer, Left, Method, Right};
use crate::isa::Isa;
use crate::precision::Arithmetic;
use crate::simd::avx512::LANES;
use crate::simd::horizontal::{FOUR, broadcast4};
use std::arch::x86_64::*;

const SQUARE: usize = TOKENS * TOKENS;
/// Keys and values are packed as for vectors: panels as wide as a row of scores.
pub(crate) const PANELS: Method = Method { isa: Isa::Avx512, arithmetic: Arithmetic::Bf16 };
/// Scores of 16 rows (one tile's height) of one head.
const STRIP: usize = ROWS * TOKENS;
/// Channels per pass: their bf16 fill a tile's row.
const CHANNELS: usize = 2 * LANES;

/// One position with packed heads.
#[derive(Clone, Copy)]
pub struct Board<'a> {
    /// Heads.
    pub heads: usize,
    /// Channels of a head.
    pub dim: usize,
    /// `[heads, 64, 64]`, added to the scores.
    pub bias: &'a [f32],
    /// Position-dependent bias, added too.
    pub dynamic: Option<Mixture<'a>>,
}

/// Dynamic bias: a mixture of patterns.
#[derive(Clone, Copy)]
pub struct Mixture<'a> {
    /// `[heads, rank]`.
    pub shares: &'a [f32],
    /// `[rank, 64 * 64]`.
    pub patterns: &'a FixedBasis,
}

/// A cache line of floats, accessed through [`floats`].
#[derive(Clone, Copy)]
#[repr(align(64))]
struct FloatLine {
    _floats: [f32; LANES],
}

/// Scratch: packed operands of one position.
#[derive(Default)]
pub struct AttentionScratch {
    /// By head: queries / sqrt(dim) row by row; keys by pairs of channels; values by pairs of rows.
    heads: Vec<[Buffer; 3]>,
    shares: Vec<QuantizedShares>,
    /// Biases of 16 rows, `[heads, 16, 64]`, and the scores of one head.
    bias: Vec<FloatLine>,
    scores: Vec<FloatLine>,
    weights: Buffer,
    /// Attention outputs of 16 rows, `[16, width]`.
    out: Vec<FloatLine>,
}

impl AttentionScratch {
    /// Buffers for queries, keys and values of `count` heads.
    pub fn heads(&mut self, count: usize) -> &mut [[Buffer; 3]] {
        self.heads.resize_with(count, Default::default);
        &mut self.heads
    }

    /// Packs rows of bf16: queries / sqrt(dim), keys and values of each head.
    ///
    /// # Panics
    /// If they do not fill vectors, or the CPU has no bf16: a fault of the caller.
    pub fn pack<'a>(&mut self, heads: impl ExactSizeIterator<Item = [Bf16Rows<'a>; 3]>) {
        let buffers = self.heads(heads.len());
        for ([queries, keys, values], buffers) in heads.zip(buffers) {
            let [first, second, third] = buffers;
            let _ = Left::copied(queries, first);
            let _ = Right::channels(keys, PANELS.isa, second);
            let _ = Right::halves(values, PANELS.isa, third);
        }
    }
}

/// The floats of the lines.
fn floats(lines: &mut [FloatLine]) -> &mut [f32] {
    // SAFETY: a line is 16 floats and nothing else.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), LANES * lines.len()) }
}

/// Whether [`attend`] supports heads of `dim` channels with `isa` on this CPU: values fill whole panels, or half
/// of one.
pub fn supports(isa: Isa, dim: usize) -> bool {
    isa.available() == Isa::Amx && (dim == CHANNELS || dim.is_multiple_of(2 * CHANNELS))
}

/// Calls `take` with the index of the first row and the attention outputs of 16 rows, `[16, width]`, four
/// times. The weights go to `kept`, `[heads, 64, 64]` bf16.
///
/// # Panics
/// If [`supports`] is false for `dim`, or heads, biases or room are missing: a fault of the caller.
pub fn attend(
    board: &Board<'_>,
    packed: &mut AttentionScratch,
    kept: Option<&mut [u32]>,
    take: &mut dyn FnMut(usize, &[f32]),
) {
    let Board { heads, dim, bias, dynamic } = *board;
    assert!(supports(Isa::Amx, dim) && packed.heads.len() == heads, "{heads} heads of {dim}");
    let lanes = TOKENS * dim / 2;
    let whole = |buffer: &Buffer| buffer.lanes().len() >= lanes;
    assert!(packed.heads.as_flattened().iter().all(whole), "heads that are not packed");
    assert!(bias.len() >= heads * SQUARE, "a bias of {}", bias.len());
    let line = FloatLine { _floats: [0.0; LANES] };
    packed.scores.resize(STRIP / LANES, line);
    packed.bias.resize(heads * STRIP / LANES, line);
    packed.out.resize(ROWS * heads * dim / LANES, line);
    if let Some(Mixture { shares, patterns }) = dynamic {
        let each = FOUR * shares.len() / heads;
        packed.shares.resize_with(heads.div_ceil(FOUR), Default::default);
        for (shares, four) in shares.chunks(each).zip(&mut packed.shares) {
            patterns.round(shares, four);
        }
    }
    if let Some(kept) = &kept {
        assert!(kept.len() >= heads * SQUARE / 2, "room for {} weights", 2 * kept.len());
    }
    let heads = HeadsPass {
        board,
        heads: &packed.heads,
        shares: &packed.shares,
        mixed: floats(&mut packed.bias),
        scores: packed.scores.as_mut_ptr().cast(),
        weights: packed.weights.hold(2 * STRIP / 2),
        kept: kept.map(<[u32]>::as_mut_ptr),
        out: floats(&mut packed.out),
    };
    // SAFETY: `supports` found AMX with AVX512_BF16; each head's three buffers hold 64 * dim / 2 lanes, the biases
    // heads * 4096 floats, `kept` as many bf16 (asserted above); scores, mixed biases, weights and `out` were
    // sized above.
    unsafe { configured(ROWS, ROWS, || heads.attend(take)) };
}

/// State of a pass over all heads, 16 rows of each head in turn.
struct HeadsPass<'a> {
    board: &'a Board<'a>,
    heads: &'a [[Buffer; 3]],
    shares: &'a [QuantizedShares],
    /// Mixed biases of the current rows, `[heads, 16, 64]`; unused without a dynamic bias.
    mixed: &'a mut [f32],
    /// `[16, 64]`
    scores: *mut f32,
    /// Ring of two: `[2, 16, 64]` bf16.
    weights: *mut u32,
    /// `[heads, 64, 64]` bf16: replaces the ring if weights are kept.
    kept: Option<*mut u32>,
    /// `[16, width]`
    out: &'a mut [f32],
}

impl HeadsPass<'_> {
    /// Software pipeline: while the tiles multiply for head n, vector code computes the softmax of head n - 1,
    /// and head n - 2 is averaged, because data just written cannot be loaded into a tile at once (store
    /// forwarding).
    ///
    /// # Safety
    /// Inside [`configured`] for whole tiles; operands are packed, and buffers as large as [`attend`] makes them.
    #[inline(always)]
    unsafe fn attend(mut self, take: &mut dyn FnMut(usize, &[f32])) {
        let heads = self.heads.len();
        let all = TOKENS / ROWS * heads;
        let place = |n: usize| (n / heads * ROWS, n % heads);
        let (ring, kept) = (self.weights, self.kept);
        let weights = |n: usize| match (kept, place(n)) {
            (Some(kept), (first, h)) => kept.wrapping_add((h * TOKENS + first) * TOKENS / 2),
            (None, _) => ring.wrapping_add(n % 2 * STRIP / 2),
        };
        for n in 0..all + 2 {
            // SAFETY: AMX is configured for whole tiles; `first + 16 <= 64` and `h < heads` by `place`; scores
            // are `[16, 64]`, the ring `[2, 16, 64]`, `kept` `[heads, 64, 64]`, `out` `[16, width]`.
            unsafe {
                if n < all {
                    let (first, h) = place(n);
                    if h == 0 {
                        self.mix(first);
                    }
                    self.score(first, h);
                }
                if (1..=all).contains(&n) {
                    weigh(self.scores, weights(n - 1));
                }
                if n < all {
                    Panel::store(self.scores.cast(), 4 * TOKENS);
                }
                if n > 1 {
                    let (first, h) = place(n - 2);
                    self.average(h, weights(n - 2));
                    if h == heads - 1 {
                        take(first, self.out);
                    }
                }
            }
        }
    }

    /// Mixes the biases of 16 rows from `first` on.
    #[inline(always)]
    fn mix(&mut self, first: usize) {
        let Some(Mixture { patterns, .. }) = self.board.dynamic else { return };
        let bases = self.board.bias.chunks(FOUR * SQUARE);
        let groups = self.mixed.chunks_mut(FOUR * STRIP).zip(bases);
        for ((out, base), four) in groups.zip(self.shares) {
            let (base, places) = (Some(base), first * TOKENS..first * TOKENS + STRIP);
            patterns.four(four, Mixed { places, base, out, stride: STRIP });
        }
    }

    /// Leaves the scores of head `h` in tiles 0 to 3.
    ///
    /// # Safety
    /// As [`HeadsPass::attend`].
    #[inline(always)]
    unsafe fn score(&self, first: usize, h: usize) {
        let [queries, keys, _] = &self.heads[h];
        let dim = self.board.dim;
        let keys = Right::of(keys.lanes(), TOKENS, TOKENS, dim, PANELS);
        let (a_row, count) = (dim / 2, dim / 2 / ROWS);
        let base = match self.board.dynamic {
            Some(_) => self.mixed[h * STRIP..].as_ptr(),
            None => self.board.bias[h * SQUARE + first * TOKENS..].as_ptr(),
        };
        // SAFETY: AMX is configured for whole tiles; queries have 64 rows of `dim / 2` lanes, `dim / 2` a
        // multiple of 16, keys one panel of 64 columns; 16 rows of 64 floats lie at `base`.
        unsafe {
            let scores = Panel {
                a: queries.lanes().as_ptr().add(first * a_row),
                b: side_by_side(keys.data.as_ptr()),
                base: base.cast(),
                base_row: 4 * TOKENS,
            };
            scores.multiply_halves(Steps { a_row, b_row: keys.step, lanes: ROWS, count });
        }
    }

    /// Writes head `h`'s attention outputs.
    ///
    /// # Safety
    /// As [`HeadsPass::attend`]; `weights` leads to `[16, 64]` bf16.
    #[inline(always)]
    unsafe fn average(&mut self, h: usize, weights: *const u32) {
        let (dim, width) = (self.board.dim, self.heads.len() * self.board.dim);
        let values = Right::of(self.heads[h][2].lanes(), dim, dim, TOKENS, PANELS);
        let (a_row, count) = (TOKENS / 2, TOKENS / 2 / ROWS);
        for col in (0..dim).step_by(CHANNELS) {
            // SAFETY: AMX is configured for whole tiles; weights have 16 rows of 32 lanes, values 32 lane rows
            // of `dim` columns, a multiple of 32; `out` has 16 rows `width` floats apart.
            unsafe {
                let means = Pair {
                    a: weights,
                    b: values.data.as_ptr().add(values.at(col)),
                    out: self.out.as_mut_ptr().add(h * dim + col).cast(),
                    out_row: 4 * width,
                };
                means.multiply_halves(Steps { a_row, b_row: values.step, lanes: ROWS, count });
            }
        }
    }
}

/// Softmax of 16 rows of scores.
///
/// # Safety
/// There are `[16, 64]` scores, and room for as many bf16 at `weights`; the CPU has AVX-512 F, BW, DQ and
/// AVX512_BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
unsafe fn weigh(scores: *const f32, weights: *mut u32) {
    for first in (0..ROWS).step_by(FOUR) {
        // SAFETY: the enabled AVX-512 F/BW/DQ/BF16; rows `first..first + 4` of 16, 64 columns each, lie in
        // both.
        unsafe {
            let mut rows = [[_mm512_setzero_ps(); SCORES]; FOUR];
            for (i, row) in rows.iter_mut().enumerate() {
                for (j, vector) in row.iter_mut().enumerate() {
                    *vector = _mm512_loadu_ps(scores.add((first + i) * TOKENS + j * LANES));
                }
            }
            let sums = exponentials(&mut rows);
            let shares = broadcast4(_mm512_div_ps(_mm512_set1_ps(1.0), sums));
            for (i, (row, share)) in rows.iter_mut().zip(shares).enumerate() {
                for vector in row.iter_mut() {
                    *vector = _mm512_mul_ps(*vector, share);
                }
                write(*row, weights.add((first + i) * TOKENS / 2));
            }
        }
    }
}

//! Attention by bf16 products (AVX512_BF16): two channels of queries and keys per lane, then two positions of
//! weights and values. Scores stay in registers from the product to the softmax.

use super::bf16_softmax::{SCORES, bias, exponentials, write};
use super::head::Head;
use crate::TOKENS;
use crate::gemm::{Buffer, Left, Mat, Method, Right};
use crate::isa::Isa;
use crate::precision::Arithmetic;
use crate::simd::avx512::LANES;
use crate::simd::horizontal::{FOUR, broadcast4};
use std::arch::x86_64::*;
use std::mem::transmute;

/// Vectors of channels per pass over a row of weights.
const CHANNELS: usize = 2;

/// Scratch: packed queries, keys and values.
#[derive(Default)]
pub(super) struct Bf16Scratch {
    queries: Buffer,
    keys: Buffer,
    values: Buffer,
}

/// Packed operands.
#[derive(Clone, Copy)]
struct Bf16Operands<'a> {
    queries: Left<'a>,
    keys: Right<'a>,
    values: Right<'a>,
}

/// Whether [`attend`] supports this head size.
pub(super) fn supports(dim: usize) -> bool {
    dim.is_multiple_of(CHANNELS * LANES)
}

/// See [`super::attend`].
///
/// # Panics
/// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
///
/// # Safety
/// The lengths are as [`super::attend`] checks them, and [`supports`] allows the head.
pub(super) unsafe fn attend(
    head: &Head<'_>,
    packed: &mut Bf16Scratch,
    out: &mut [f32],
    row: usize,
) {
    let method = Method { isa: Isa::Avx512, arithmetic: Arithmetic::Bf16 };
    let part = |i: usize| Mat::new(head.qkv[i], TOKENS, head.dim, head.stride);
    let operands = Bf16Operands {
        queries: Left::halves(part(0), 1.0, method.isa, &mut packed.queries),
        keys: Right::packed(part(1).t(), method, &mut packed.keys),
        values: Right::packed(part(2), method, &mut packed.values),
    };
    // SAFETY: packing asserted AVX512_BF16, and with it AVX-512 F/BW/DQ; operands are 64 rows of `dim`; `out`
    // has 64 rows `row` apart by this function's contract.
    unsafe { rows(head, operands, out, row) }
}

/// All 64 rows, eight at a time.
///
/// # Safety
/// The CPU has AVX-512 F, BW, DQ and AVX512_BF16; `operands` are this head's; the rest as [`attend`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
unsafe fn rows(head: &Head<'_>, operands: Bf16Operands<'_>, out: &mut [f32], row: usize) {
    const { assert!(TOKENS.is_multiple_of(2 * FOUR)) };
    for first in (0..TOKENS).step_by(2 * FOUR) {
        let mut weights = [[0; TOKENS / 2]; 2 * FOUR];
        let (upper, lower) = weights.split_at_mut(FOUR);
        // SAFETY: the enabled features; `first + 8 <= 64`; `out` has 64 rows of `dim` floats, `row` apart.
        unsafe {
            let shares =
                [weigh(head, operands, first, upper), weigh(head, operands, first + FOUR, lower)];
            let out = out.as_mut_ptr().add(first * row);
            mix(head.dim, operands.values, &weights, shares, out, row);
        }
    }
}

/// Unnormalised attention weights of four rows from `first` on, in bf16; returns the reciprocals of their sums,
/// row i's in quarter i of the vector.
///
/// # Safety
/// As [`rows`]; there are such rows.
#[inline(always)]
unsafe fn weigh(
    head: &Head<'_>,
    operands: Bf16Operands<'_>,
    first: usize,
    weights: &mut [[u32; TOKENS / 2]],
) -> __m512 {
    let Bf16Operands { queries, keys, .. } = operands;
    // SAFETY: AVX-512 F/BW/DQ/BF16; queries have 64 rows of `depth` lanes, keys `depth` rows of one panel of 64
    // columns, `weights` four rows of 32 lanes.
    unsafe {
        let mut scores = [[_mm512_setzero_ps(); SCORES]; FOUR];
        let lanes = queries.data.as_ptr().add(first * queries.row);
        for p in 0..queries.depth {
            let keys = keys.data.as_ptr().add(p * keys.step);
            let columns: [_; SCORES] = std::array::from_fn(|j| load(keys.add(j * LANES)));
            for (i, scores) in scores.iter_mut().enumerate() {
                let query = broadcast(*lanes.add(i * queries.row + p));
                for (score, column) in scores.iter_mut().zip(columns) {
                    *score = _mm512_dpbf16_ps(*score, query, column);
                }
            }
        }
        bias(head, first, &mut scores);
        let sums = exponentials(&mut scores);
        for (scores, weights) in scores.iter().zip(weights) {
            write(*scores, weights.as_mut_ptr());
        }
        _mm512_div_ps(_mm512_set1_ps(1.0), sums)
    }
}

/// Weighted means of the values for eight rows, normalised by `shares`, the reciprocal sums.
///
/// # Safety
/// As [`rows`]; there is room for eight rows of `dim` at `out`, `row` floats apart.
#[inline(always)]
unsafe fn mix(
    dim: usize,
    values: Right<'_>,
    weights: &[[u32; TOKENS / 2]; 2 * FOUR],
    shares: [__m512; 2],
    out: *mut f32,
    row: usize,
) {
    // SAFETY: AVX-512 F/BF16; values are 32 lane rows in panels of up to 64 columns, `dim` a multiple of 32;
    // `out` has eight rows of `dim` floats, `row` apart.
    unsafe {
        for col in (0..dim).step_by(CHANNELS * LANES) {
            let panel = values.data.as_ptr().add(col / TOKENS * values.panel + col % TOKENS);
            let mut sums = [[_mm512_setzero_ps(); CHANNELS]; 2 * FOUR];
            for p in 0..TOKENS / 2 {
                let values = panel.add(p * values.step);
                let columns: [_; CHANNELS] = std::array::from_fn(|j| load(values.add(j * LANES)));
                for (sums, weights) in sums.iter_mut().zip(weights) {
                    let weight = broadcast(weights[p]);
                    for (sum, column) in sums.iter_mut().zip(columns) {
                        *sum = _mm512_dpbf16_ps(*sum, weight, column);
                    }
                }
            }
            let [upper, lower] = shares;
            let shares = [broadcast4(upper), broadcast4(lower)];
            for (i, sums) in sums.iter().enumerate() {
                for (j, sum) in sums.iter().enumerate() {
                    let to = out.add(i * row + col + j * LANES);
                    _mm512_storeu_ps(to, _mm512_mul_ps(*sum, shares[i / FOUR][i % FOUR]));
                }
            }
        }
    }
}

/// Loads 16 lanes of two bf16.
///
/// # Safety
/// There are 16 lanes at `from`; the CPU has AVX-512.
#[inline(always)]
unsafe fn load(from: *const u32) -> __m512bh {
    // SAFETY: AVX-512F; 16 lanes lie at `from`; both types are 64 plain bytes.
    unsafe { transmute::<__m512i, __m512bh>(_mm512_loadu_si512(from.cast())) }
}

/// Broadcasts a lane.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn broadcast(lane: u32) -> __m512bh {
    // SAFETY: AVX-512F; both types are 64 plain bytes.
    unsafe { transmute::<__m512i, __m512bh>(_mm512_set1_epi32(lane as i32)) }
}

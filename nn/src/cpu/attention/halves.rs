//! The same pass by products of bf16 (AVX512_BF16): two channels of queries and keys in a lane, then two
//! positions of weights and values. Scores stay in registers from the first product to the softmax.
#![allow(unsafe_code)]

use super::head::Head;
use super::softmax::{LANES, SCORES, bias, exponentials, write};
use crate::cpu::isa::Isa;
use crate::cpu::matmul::{Buffer, Left, Mat, Method, Right};
use crate::cpu::quarters::{FOUR, each};
use crate::net::TOKENS;
use crate::precision::Arithmetic;
use std::arch::x86_64::*;
use std::mem::transmute;

/// Vectors of channels that a row of weights is multiplied with at a time.
const CHANNELS: usize = 2;

/// Queries, keys and values on their way.
#[derive(Default)]
pub(super) struct Packed {
    queries: Buffer,
    keys: Buffer,
    values: Buffer,
}

/// The operands as the products want them.
#[derive(Clone, Copy)]
struct Operands<'a> {
    queries: Left<'a>,
    keys: Right<'a>,
    values: Right<'a>,
}

/// Whether [`attend`] can do heads of this size.
pub(super) fn takes(dim: usize) -> bool {
    dim.is_multiple_of(CHANNELS * LANES)
}

/// As [`super::attend`].
///
/// # Panics
/// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
///
/// # Safety
/// The lengths are as [`super::attend`] checks them, and [`takes`] allows the head.
pub(super) unsafe fn attend(head: &Head<'_>, packed: &mut Packed, out: &mut [f32], row: usize) {
    let method = Method { isa: Isa::Avx512, arithmetic: Arithmetic::Bf16 };
    let part = |i: usize| Mat::new(head.qkv[i], TOKENS, head.dim, head.stride);
    let operands = Operands {
        queries: Left::halves(part(0), 1.0, method.isa, &mut packed.queries),
        keys: Right::packed(part(1).t(), method, &mut packed.keys),
        values: Right::packed(part(2), method, &mut packed.values),
    };
    // SAFETY: the operands could not be packed without the instructions; the rest is this function's contract.
    unsafe { rows(head, operands, out, row) }
}

/// All 64 rows, eight at a time.
///
/// # Safety
/// The CPU has the instructions of [`Arithmetic::Bf16`], AVX-512 DQ among them; these are the head's operands; the
/// rest as [`attend`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
unsafe fn rows(head: &Head<'_>, operands: Operands<'_>, out: &mut [f32], row: usize) {
    const { assert!(TOKENS.is_multiple_of(2 * FOUR)) };
    for first in (0..TOKENS).step_by(2 * FOUR) {
        let mut weights = [[0; TOKENS / 2]; 2 * FOUR];
        let (upper, lower) = weights.split_at_mut(FOUR);
        // SAFETY: rows stay below 64; the rest is this function's contract.
        unsafe {
            let shares =
                [weigh(head, operands, first, upper), weigh(head, operands, first + FOUR, lower)];
            let out = out.as_mut_ptr().add(first * row);
            mix(head.dim, operands.values, &weights, shares, out, row);
        }
    }
}

/// The weights of four rows from `first` on, not divided by their sums yet; returns one over the sums, those of
/// a row in its quarter of the vector.
///
/// # Safety
/// As [`rows`]; there are such rows.
#[inline(always)]
unsafe fn weigh(
    head: &Head<'_>,
    operands: Operands<'_>,
    first: usize,
    weights: &mut [[u32; TOKENS / 2]],
) -> __m512 {
    let Operands { queries, keys, .. } = operands;
    // SAFETY: this function's contract; panels hold whole vectors of every column.
    unsafe {
        let mut scores = [[_mm512_setzero_ps(); SCORES]; FOUR];
        let lanes = queries.data.as_ptr().add(first * queries.row);
        for p in 0..queries.depth {
            let keys = keys.data.as_ptr().add(p * keys.step);
            let columns: [_; SCORES] = std::array::from_fn(|j| load(keys.add(j * LANES)));
            for (i, scores) in scores.iter_mut().enumerate() {
                let query = all(*lanes.add(i * queries.row + p));
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

/// The means of the values by the weights of eight rows and one over their sums.
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
    // SAFETY: this function's contract; panels hold whole vectors of every column.
    unsafe {
        for col in (0..dim).step_by(CHANNELS * LANES) {
            let panel = values.data.as_ptr().add(col / TOKENS * values.panel + col % TOKENS);
            let mut sums = [[_mm512_setzero_ps(); CHANNELS]; 2 * FOUR];
            for p in 0..TOKENS / 2 {
                let values = panel.add(p * values.step);
                let columns: [_; CHANNELS] = std::array::from_fn(|j| load(values.add(j * LANES)));
                for (sums, weights) in sums.iter_mut().zip(weights) {
                    let weight = all(weights[p]);
                    for (sum, column) in sums.iter_mut().zip(columns) {
                        *sum = _mm512_dpbf16_ps(*sum, weight, column);
                    }
                }
            }
            let [upper, lower] = shares;
            let shares = [each(upper), each(lower)];
            for (i, sums) in sums.iter().enumerate() {
                for (j, sum) in sums.iter().enumerate() {
                    let to = out.add(i * row + col + j * LANES);
                    _mm512_storeu_ps(to, _mm512_mul_ps(*sum, shares[i / FOUR][i % FOUR]));
                }
            }
        }
    }
}

/// A vector of lanes.
///
/// # Safety
/// There are 16 lanes at `from`; the CPU has AVX-512.
#[inline(always)]
unsafe fn load(from: *const u32) -> __m512bh {
    // SAFETY: this function's contract; a vector of lanes is one of halves.
    unsafe { transmute::<__m512i, __m512bh>(_mm512_loadu_si512(from.cast())) }
}

/// The same lane sixteen times.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn all(lane: u32) -> __m512bh {
    // SAFETY: this function's contract.
    unsafe { transmute::<__m512i, __m512bh>(_mm512_set1_epi32(lane as i32)) }
}

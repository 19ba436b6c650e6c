//! Attention in 16-bit fixed point (AVX2), used beside int8 weights: two channels of queries and keys per
//! 32-bit lane, then two positions of weights and values. `vpmaddwd` multiplies twice as many of these per
//! instruction as `vfmadd` of floats.

use super::head::Head;
use crate::TOKENS;
use crate::gemm::int16::{COLUMNS, FOUR, LANES, LaneLine, highest, products};
use crate::simd::{Vector, transpose_four};
use std::arch::x86_64::*;

/// Vectors that hold a row of scores.
const SCORES: usize = TOKENS / LANES;
/// Quantized absolute maximum of a head's values. A sum of 64 products with weights of at most 1 fits in 32 bits;
/// slack is left because the weight of a very long query's best key may round above 1.
const TOP_VALUE: i32 = 2000;
/// log2 of the fixed-point weight that stands for 1.
const ONE: i32 = 14;

const _: () = assert!(((TOP_VALUE as i64 * TOKENS as i64) << ONE) < 1 << 31);

/// Scratch: packed queries, keys and values.
#[derive(Default)]
pub(super) struct Int16Scratch {
    /// `[64, dim / 2]`.
    queries: Vec<LaneLine>,
    /// `[64, dim / 2]`: quantized keys before the transposition into `keys`.
    rows: Vec<LaneLine>,
    /// `[dim / 2, 64]`.
    keys: Vec<LaneLine>,
    /// `[32, dim]`.
    values: Vec<LaneLine>,
}

/// Packed operands and their scales.
#[derive(Clone, Copy)]
struct Int16Operands {
    queries: *const i32,
    keys: *const i32,
    values: *const i32,
    /// Scale of a query-key product, divided by sqrt(dim).
    score: f32,
    value: f32,
}

/// Whether [`attend`] supports this head size.
pub(super) fn supports(dim: usize) -> bool {
    dim.is_multiple_of(COLUMNS * LANES)
}

/// See [`super::attend`].
///
/// # Safety
/// The lengths are as [`super::attend`] checks them, [`supports`] allows the head, and the CPU has AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn attend(
    head: &Head<'_>,
    packed: &mut Int16Scratch,
    out: &mut [f32],
    row: usize,
) {
    let lines = TOKENS * head.dim / 32;
    let Int16Scratch { queries, rows, keys, values } = packed;
    let [queries, rows, keys, values] = [queries, rows, keys, values].map(|lanes| {
        lanes.resize(lines, LaneLine::default());
        lanes.as_mut_ptr().cast::<i32>()
    });
    // SAFETY: AVX2 and FMA by this function's contract; each buffer holds 64 rows of `dim / 2` lanes (values:
    // 32 rows of `dim`), `dim` is a multiple of 16, and `out` has 64 rows `row` apart.
    unsafe {
        let query = by_rows(head, 0, queries);
        let key = by_rows(head, 1, rows);
        for d in (0..head.dim / 2).step_by(4) {
            for j in (0..TOKENS).step_by(4) {
                let (from, to) = (rows.add(j * head.dim / 2 + d), keys.add(d * TOKENS + j));
                // The transposition copies bits; lanes need not be floats.
                transpose_four(from.cast(), head.dim / 2, to.cast(), TOKENS);
            }
        }
        let value = by_pairs(head, values);
        let score = query * key * (head.dim as f32).sqrt().recip();
        let operands = Int16Operands { queries, keys, values, score, value };
        for first in (0..TOKENS).step_by(FOUR) {
            let mut weights = [[0; TOKENS / 2]; FOUR];
            let shares = weigh(head, operands, first, &mut weights);
            mix(head.dim, operands, &weights, shares, out.as_mut_ptr().add(first * row), row);
        }
    }
}

/// The factor that maps the absolute maximum of a part to `top`, and its inverse, the scale.
///
/// # Safety
/// As [`attend`].
#[inline(always)]
unsafe fn steps(head: &Head<'_>, part: usize, top: i32) -> (f32, f32) {
    // SAFETY: AVX2; each of the 64 rows, `stride` apart, has `dim` floats, a multiple of two vectors.
    let high = unsafe {
        let mut high = [__m256::all(0.0); COLUMNS];
        for i in 0..TOKENS {
            let from = head.qkv[part].as_ptr().add(i * head.stride);
            for at in (0..head.dim).step_by(COLUMNS * LANES) {
                for (j, high) in high.iter_mut().enumerate() {
                    *high = high.high_bits(__m256::load(from.add(at + j * LANES)));
                }
            }
        }
        f32::from_bits(high[0].high_bits(high[1]).highest_bits())
    };
    // A NaN quantizes to 0; its NaN scale makes every sum NaN.
    let factor = if high > 0.0 { top as f32 / high } else { 0.0 };
    (factor, high / top as f32)
}

/// Quantizes queries or keys, two channels per lane; returns the scale.
///
/// # Safety
/// As [`attend`]; there is room for 64 rows of `dim / 2` lanes at `to`.
#[inline(always)]
unsafe fn by_rows(head: &Head<'_>, part: usize, to: *mut i32) -> f32 {
    // SAFETY: AVX2; 64 rows of `dim` floats are read, `dim` a multiple of 16, and 64 rows of `dim / 2` lanes
    // written at `to`.
    unsafe {
        let (factor, scale) = steps(head, part, highest(head.dim));
        let factor = _mm256_set1_ps(factor);
        for i in 0..TOKENS {
            let from = head.qkv[part].as_ptr().add(i * head.stride);
            for at in (0..head.dim).step_by(2 * LANES) {
                let eight = |from| _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(from), factor));
                let (low, high) = (eight(from.add(at)), eight(from.add(at + LANES)));
                store_pairs(low, high, to.add((i * head.dim + at) / 2));
            }
        }
        scale
    }
}

/// Writes 16 integers, two per lane.
///
/// # Safety
/// There is room for 8 lanes at `to`; the CPU has AVX2.
#[inline(always)]
unsafe fn store_pairs(low: __m256i, high: __m256i, to: *mut i32) {
    // SAFETY: AVX2; 8 lanes fit at `to`.
    unsafe {
        // `packs` interleaves 128-bit halves: restore the order of the 64-bit quarters.
        let lanes = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(low, high));
        _mm256_storeu_si256(to.cast(), lanes);
    }
}

/// Quantizes values, two positions per lane; returns the scale.
///
/// # Safety
/// As [`attend`]; there is room for 32 rows of `dim` lanes at `to`.
#[inline(always)]
unsafe fn by_pairs(head: &Head<'_>, to: *mut i32) -> f32 {
    // SAFETY: AVX2; 64 rows of `dim` floats are read, `dim` a multiple of 8, and 32 rows of `dim` lanes written
    // at `to`.
    unsafe {
        let (factor, scale) = steps(head, 2, TOP_VALUE);
        let factor = _mm256_set1_ps(factor);
        for i in 0..TOKENS / 2 {
            let from = head.qkv[2].as_ptr().add(2 * i * head.stride);
            for at in (0..head.dim).step_by(LANES) {
                let eight = |from| _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(from), factor));
                let (one, two) = (eight(from.add(at)), eight(from.add(head.stride + at)));
                let lanes = _mm256_blend_epi16::<0b1010_1010>(one, _mm256_slli_epi32::<16>(two));
                _mm256_storeu_si256(to.add(i * head.dim + at).cast(), lanes);
            }
        }
        scale
    }
}

/// Unnormalised attention weights of four rows from `first` on; returns the reciprocals of their sums.
///
/// # Safety
/// As [`attend`]; there are such rows, and these are the head's operands.
#[inline(always)]
unsafe fn weigh(
    head: &Head<'_>,
    operands: Int16Operands,
    first: usize,
    weights: &mut [[i32; TOKENS / 2]; FOUR],
) -> [f32; FOUR] {
    // SAFETY: AVX2 and FMA; `first + 4 <= 64`; queries are `[64, dim / 2]` lanes, keys `[dim / 2, 64]`, both
    // biases `[64, 64]` floats; 8 vectors are one row of scores.
    unsafe {
        let mut scores = [[_mm256_setzero_ps(); SCORES]; FOUR];
        let depth = head.dim / 2;
        let queries = operands.queries.add(first * depth);
        let scale = _mm256_set1_ps(operands.score);
        for col in (0..SCORES).step_by(COLUMNS) {
            let keys = operands.keys.add(col * LANES);
            let sums = products(queries, depth, keys, TOKENS, depth);
            for (i, sums) in sums.into_iter().enumerate() {
                for (j, sum) in sums.into_iter().enumerate() {
                    let at = (first + i) * TOKENS + (col + j) * LANES;
                    let mut bias = _mm256_loadu_ps(head.bias.as_ptr().add(at));
                    if let Some(dynamic) = head.dynamic {
                        bias = _mm256_add_ps(bias, _mm256_loadu_ps(dynamic.as_ptr().add(at)));
                    }
                    scores[i][col + j] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, bias);
                }
            }
        }
        exponentials(&mut scores, weights)
    }
}

/// exp(score - row maximum) in units of 2^-[`ONE`], rounded to nearest; returns the reciprocals of the rows'
/// sums.
///
/// # Safety
/// The CPU has AVX2 and FMA.
#[inline(always)]
unsafe fn exponentials(
    rows: &mut [[__m256; SCORES]; FOUR],
    weights: &mut [[i32; TOKENS / 2]; FOUR],
) -> [f32; FOUR] {
    // Minimax polynomial of degree 4 for 2^r, |r| <= 1/2: relative error below 3e-6.
    const POLYNOMIAL: [f32; 5] = [9.582_85e-3, 5.590_643e-2, 0.240_241, 0.693_124_2, 1.0];
    // SAFETY: AVX2 and FMA; `weights` has 32 lanes a row, written 8 at a time.
    unsafe {
        let log2 = _mm256_set1_ps(std::f32::consts::LOG2_E);
        // Adding 1.5 * 2^23 rounds to the nearest integer in the mantissa's low bits.
        let round = _mm256_set1_ps(12_582_912.0);
        let tops = reduce4(rows, |a, b| _mm256_max_ps(a, b));
        for ((row, top), weights) in rows.iter_mut().zip(tops).zip(weights) {
            let top = _mm256_set1_ps(top * std::f32::consts::LOG2_E - ONE as f32);
            for score in row.iter_mut() {
                let t = _mm256_fmsub_ps(*score, log2, top);
                // `max` returns its second operand for NaN: NaN propagates.
                let t = _mm256_max_ps(_mm256_set1_ps(-64.0), t);
                let shifted = _mm256_add_ps(t, round);
                let r = _mm256_sub_ps(t, _mm256_sub_ps(shifted, round));
                let [highest, rest @ ..] = POLYNOMIAL.map(|c| _mm256_set1_ps(c));
                let p = rest.into_iter().fold(highest, |p, c| _mm256_fmadd_ps(p, r, c));
                *score = p.shift(shifted);
            }
            for (pair, to) in row.chunks_exact(2).zip(weights.chunks_exact_mut(LANES)) {
                let (low, high) = (_mm256_cvtps_epi32(pair[0]), _mm256_cvtps_epi32(pair[1]));
                store_pairs(low, high, to.as_mut_ptr());
            }
        }
        reduce4(rows, |a, b| _mm256_add_ps(a, b)).map(f32::recip)
    }
}

/// Horizontal reduction of each of four rows by `both`.
///
/// # Safety
/// The CPU has AVX.
#[inline(always)]
unsafe fn reduce4(
    rows: &[[__m256; SCORES]; FOUR],
    both: impl Fn(__m256, __m256) -> __m256,
) -> [f32; FOUR] {
    // SAFETY: AVX; registers only, except the store to a local array of 8 floats.
    unsafe {
        let eight = |[a, b, c, d, e, f, g, h]: [__m256; SCORES]| {
            both(both(both(a, b), both(c, d)), both(both(e, f), both(g, h)))
        };
        let halves =
            |a, b| both(_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
        let ab = halves(eight(rows[0]), eight(rows[1]));
        let cd = halves(eight(rows[2]), eight(rows[3]));
        // 64-bit quarters: two partial results each of rows a, c, b, d.
        let pairs = both(_mm256_shuffle_ps::<0x44>(ab, cd), _mm256_shuffle_ps::<0xee>(ab, cd));
        let all = both(pairs, _mm256_permute_ps::<0xb1>(pairs));
        let mut floats = [0.0; LANES];
        _mm256_storeu_ps(floats.as_mut_ptr(), all);
        let [a, _, c, _, b, _, d, _] = floats;
        [a, b, c, d]
    }
}

/// Weighted means of the values for four rows, normalised by `shares`, the reciprocal sums.
///
/// # Safety
/// As [`weigh`]; there is room for four rows of `dim` at `out`, `row` floats apart.
#[inline(always)]
unsafe fn mix(
    dim: usize,
    operands: Int16Operands,
    weights: &[[i32; TOKENS / 2]; FOUR],
    shares: [f32; FOUR],
    out: *mut f32,
    row: usize,
) {
    // SAFETY: AVX2; weights are `[4, 32]` lanes, values `[32, dim]`; `out` has four rows of `dim` floats, `row`
    // apart.
    unsafe {
        for col in (0..dim).step_by(COLUMNS * LANES) {
            let (weights, values) = (weights.as_ptr().cast(), operands.values.add(col));
            let sums = products(weights, TOKENS / 2, values, dim, TOKENS / 2);
            for (i, sums) in sums.into_iter().enumerate() {
                let scale = _mm256_set1_ps(operands.value * shares[i]);
                for (j, sum) in sums.into_iter().enumerate() {
                    let to = out.add(i * row + col + j * LANES);
                    _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale));
                }
            }
        }
    }
}

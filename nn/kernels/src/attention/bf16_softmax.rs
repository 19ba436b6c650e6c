//! Softmax of attention scores for the bf16 kernels (AVX512_BF16, AMX), four rows of 64 scores at a time.

use super::head::Head;
use crate::TOKENS;
use crate::simd::avx512::{LANES, f32_to_bf16};
use crate::simd::horizontal::{FOUR, broadcast4, reduce4};
use std::arch::x86_64::*;

/// Vectors per row of scores.
pub(crate) const SCORES: usize = TOKENS / LANES;

/// `scores * 1 / sqrt(dim) + biases` for four rows from `first` on.
///
/// # Safety
/// There are such rows; the biases are `[64, 64]`; the CPU has AVX-512.
#[inline(always)]
pub(crate) unsafe fn bias(head: &Head<'_>, first: usize, rows: &mut [[__m512; SCORES]; FOUR]) {
    // SAFETY: AVX-512F; `first + 4 <= 64`, and both biases hold `[64, 64]` floats.
    unsafe {
        let scale = _mm512_set1_ps((head.dim as f32).sqrt().recip());
        for (i, scores) in rows.iter_mut().enumerate() {
            for (j, score) in scores.iter_mut().enumerate() {
                let at = (first + i) * TOKENS + j * LANES;
                let mut bias = _mm512_loadu_ps(head.bias.as_ptr().add(at));
                if let Some(dynamic) = head.dynamic {
                    bias = _mm512_add_ps(bias, _mm512_loadu_ps(dynamic.as_ptr().add(at)));
                }
                *score = _mm512_fmadd_ps(*score, scale, bias);
            }
        }
    }
}

/// Writes a row in bf16, two neighbours per lane.
///
/// # Safety
/// There is room for 32 lanes at `to`; the CPU has AVX512_BF16.
#[inline(always)]
pub(crate) unsafe fn write([a, b, c, d]: [__m512; SCORES], to: *mut u32) {
    // SAFETY: AVX512_BF16; 32 lanes fit at `to`.
    unsafe {
        _mm512_storeu_si512(to.cast(), f32_to_bf16(a, b));
        _mm512_storeu_si512(to.add(LANES).cast(), f32_to_bf16(c, d));
    }
}

/// exp(score - row maximum), relative error 8e-5 (bf16 rounds by 2e-3); returns the rows' sums, row i's in
/// quarter i of the vector.
///
/// # Safety
/// The CPU has AVX-512 F and DQ.
#[inline(always)]
pub(crate) unsafe fn exponentials(rows: &mut [[__m512; SCORES]; FOUR]) -> __m512 {
    // Minimax polynomial of degree 3 for 2^f, 0 <= f < 1.
    const POLYNOMIAL: [f32; 4] = [0.078_024_81, 0.226_067_45, 0.695_833, 0.999_925_3];
    // `vreduceps` control: x - floor(x), exceptions suppressed.
    const FRACTION: i32 = 0x09;
    // SAFETY: AVX-512 F and DQ; registers only.
    unsafe {
        let log2 = _mm512_set1_ps(std::f32::consts::LOG2_E);
        let tops = reduce_rows(rows, |a, b| _mm512_max_ps(a, b));
        for (row, top) in rows.iter_mut().zip(broadcast4(_mm512_mul_ps(tops, log2))) {
            for score in row {
                let t = _mm512_fmsub_ps(*score, log2, top);
                let fraction = _mm512_reduce_ps::<FRACTION>(t);
                let [highest, rest @ ..] = POLYNOMIAL.map(|c| _mm512_set1_ps(c));
                let p = rest.into_iter().fold(highest, |p, c| _mm512_fmadd_ps(p, fraction, c));
                *score = _mm512_scalef_ps(p, t);
            }
        }
        reduce_rows(rows, |a, b| _mm512_add_ps(a, b))
    }
}

/// Horizontal reduction of four rows of scores by `both`: row i's result fills quarter i.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn reduce_rows(
    rows: &[[__m512; SCORES]; FOUR],
    both: impl Fn(__m512, __m512) -> __m512,
) -> __m512 {
    let sixteen = |[a, b, c, d]: [__m512; SCORES]| both(both(a, b), both(c, d));
    let [a, b, c, d] = rows;
    // SAFETY: AVX-512F; registers only.
    unsafe { reduce4([sixteen(*a), sixteen(*b), sixteen(*c), sixteen(*d)], &both) }
}

//! What the passes in bf16 make of scores, four rows at a time.
#![allow(unsafe_code)]

use super::head::Head;
use crate::cpu::matmul::halves;
use crate::cpu::quarters::{FOUR, each, together};
use crate::net::TOKENS;
use std::arch::x86_64::*;

/// Floats of a vector.
pub(super) const LANES: usize = 16;
/// Vectors that hold a row of scores.
pub(super) const SCORES: usize = TOKENS / LANES;

/// Scales the products of queries and keys of four rows from `first` on, and adds the biases.
///
/// # Safety
/// There are such rows; the biases are `[64, 64]`; the CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn bias(head: &Head<'_>, first: usize, rows: &mut [[__m512; SCORES]; FOUR]) {
    // SAFETY: this function's contract.
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

/// Writes a row in bf16, two neighbours a lane.
///
/// # Safety
/// There is room for 32 lanes at `to`; the CPU has AVX512_BF16.
#[inline(always)]
pub(super) unsafe fn write([a, b, c, d]: [__m512; SCORES], to: *mut u32) {
    // SAFETY: this function's contract.
    unsafe {
        _mm512_storeu_si512(to.cast(), halves(a, b));
        _mm512_storeu_si512(to.add(LANES).cast(), halves(c, d));
    }
}

/// exp of the scores less the highest of their row, with a relative error of 8e-5, where bf16 has one of 2e-3;
/// returns the rows' sums, each in its quarter of the vector.
///
/// # Safety
/// The CPU has AVX-512 F and DQ.
#[inline(always)]
pub(super) unsafe fn exponentials(rows: &mut [[__m512; SCORES]; FOUR]) -> __m512 {
    // The best polynomial of degree 3 for two to the power of what is left above a whole exponent.
    const POLYNOMIAL: [f32; 4] = [0.078_024_81, 0.226_067_45, 0.695_833, 0.999_925_3];
    // What is left of a number above the next whole one below it, without a word to the flags.
    const FRACTION: i32 = 0x09;
    // SAFETY: this function's contract.
    unsafe {
        let log2 = _mm512_set1_ps(std::f32::consts::LOG2_E);
        let tops = all(rows, |a, b| _mm512_max_ps(a, b));
        for (row, top) in rows.iter_mut().zip(each(_mm512_mul_ps(tops, log2))) {
            for score in row {
                let t = _mm512_fmsub_ps(*score, log2, top);
                let fraction = _mm512_reduce_ps::<FRACTION>(t);
                let [highest, rest @ ..] = POLYNOMIAL.map(|c| _mm512_set1_ps(c));
                let p = rest.into_iter().fold(highest, |p, c| _mm512_fmadd_ps(p, fraction, c));
                *score = _mm512_scalef_ps(p, t);
            }
        }
        all(rows, |a, b| _mm512_add_ps(a, b))
    }
}

/// What `both` makes of all the scores of a row, for four rows at once: each result in its quarter of the vector.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn all(rows: &[[__m512; SCORES]; FOUR], both: impl Fn(__m512, __m512) -> __m512) -> __m512 {
    let sixteen = |[a, b, c, d]: [__m512; SCORES]| both(both(a, b), both(c, d));
    let [a, b, c, d] = rows;
    // SAFETY: this function's contract.
    unsafe { together([sixteen(*a), sixteen(*b), sixteen(*c), sixteen(*d)], &both) }
}

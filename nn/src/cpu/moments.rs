//! Mean and deviation of eight rows at a time by AVX-512: fewer would wait for their own sums.
#![allow(unsafe_code)]

use super::ops::EPSILON;
use super::quarters::{EIGHT, all, apart};
use std::arch::x86_64::*;

/// Floats of a vector.
const LANES: usize = 16;

/// Means of eight rows, and one over their deviations, as [`layer_norm`](super::ops::layer_norm) wants them: those of four in the quarters of a vector.
pub(super) struct Moments {
    pub means: [__m512; 2],
    pub deviations: [__m512; 2],
}

impl Moments {
    /// # Safety
    /// Eight rows of `width`, a multiple of 16, follow each other at `x`; the CPU has AVX-512.
    #[inline(always)]
    pub unsafe fn of(x: *const f32, width: usize) -> Moments {
        // SAFETY: this function's contract; `at` goes to the width in whole vectors.
        unsafe {
            let load = |row: usize, at: usize| _mm512_loadu_ps(x.add(row * width + at));
            let share = _mm512_set1_ps((width as f32).recip());
            let add = |a, b| _mm512_add_ps(a, b);
            let mut sums = [_mm512_setzero_ps(); EIGHT];
            for at in (0..width).step_by(LANES) {
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum = _mm512_add_ps(*sum, load(row, at));
                }
            }
            let mut means = all(sums, add);
            for means in &mut means {
                *means = _mm512_mul_ps(*means, share);
            }
            let mean = apart(means);
            let mut squares = [_mm512_setzero_ps(); EIGHT];
            for at in (0..width).step_by(LANES) {
                for (row, sum) in squares.iter_mut().enumerate() {
                    let d = _mm512_sub_ps(load(row, at), mean[row]);
                    *sum = _mm512_fmadd_ps(d, d, *sum);
                }
            }
            let mut deviations = all(squares, add);
            for deviation in &mut deviations {
                let variance = _mm512_fmadd_ps(*deviation, share, _mm512_set1_ps(EPSILON));
                *deviation = _mm512_div_ps(_mm512_set1_ps(1.0), _mm512_sqrt_ps(variance));
            }
            Moments { means, deviations }
        }
    }
}

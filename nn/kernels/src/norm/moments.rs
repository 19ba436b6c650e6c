//! Mean and standard deviation of eight rows at a time by AVX-512: fewer do not hide the latency of the sums.

use crate::ops::EPSILON;
use crate::simd::avx512::LANES;
use crate::simd::horizontal::{EIGHT, broadcast8, reduce8};
use std::arch::x86_64::*;

/// Means and 1 / standard deviation of eight rows, as in [`layer_norm`](crate::ops::layer_norm): row i's in
/// quarter i of the two vectors.
pub(crate) struct Moments {
    pub means: [__m512; 2],
    pub deviations: [__m512; 2],
}

impl Moments {
    /// # Safety
    /// Eight rows of `width`, a multiple of 16, follow each other at `x`; the CPU has AVX-512.
    #[inline(always)]
    pub unsafe fn of(x: *const f32, width: usize) -> Moments {
        // SAFETY: AVX-512F; eight rows of `width` floats, a multiple of 16, lie at `x`.
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
            let mut means = reduce8(sums, add);
            for means in &mut means {
                *means = _mm512_mul_ps(*means, share);
            }
            let mean = broadcast8(means);
            let mut squares = [_mm512_setzero_ps(); EIGHT];
            for at in (0..width).step_by(LANES) {
                for (row, sum) in squares.iter_mut().enumerate() {
                    let d = _mm512_sub_ps(load(row, at), mean[row]);
                    *sum = _mm512_fmadd_ps(d, d, *sum);
                }
            }
            let mut deviations = reduce8(squares, add);
            for deviation in &mut deviations {
                let variance = _mm512_fmadd_ps(*deviation, share, _mm512_set1_ps(EPSILON));
                *deviation = _mm512_div_ps(_mm512_set1_ps(1.0), _mm512_sqrt_ps(variance));
            }
            Moments { means, deviations }
        }
    }
}

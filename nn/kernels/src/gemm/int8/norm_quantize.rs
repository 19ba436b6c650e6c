//! Layer normalisation and quantization of eight rows at a time by AVX-512: fewer do not hide the latency of
//! the sums.

use super::task::Levels;
use crate::norm::moments::Moments;
use crate::simd::Vector;
use crate::simd::avx512::LANES;
use crate::simd::horizontal::{EIGHT, broadcast8, reduce8};
use std::arch::x86_64::*;

/// Rows are a multiple of this wide.
pub(super) const WIDTH: usize = <__m512 as Vector>::STEP;

/// Parameters.
#[derive(Clone, Copy)]
pub(super) struct Norm<'a> {
    pub gamma: &'a [f32],
    pub beta: &'a [f32],
    pub levels: Levels,
}

/// Normalises eight rows of `x` as [`ops::layer_norm`](crate::ops::layer_norm) does, and quantizes them
/// into contiguous rows of bytes, one scale each. `block` holds the normalised rows.
///
/// # Safety
/// The CPU has AVX-512 F, BW, VL and DQ; `gamma` and `beta` have the same length, a multiple of [`WIDTH`]; `x`,
/// `bytes` and `block` are eight times as long.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
pub(super) unsafe fn rows(
    x: &[f32],
    norm: Norm<'_>,
    bytes: &mut [u8],
    scales: &mut [f32; EIGHT],
    block: &mut [f32],
) {
    let Norm { gamma, beta, levels } = norm;
    let width = gamma.len();
    // SAFETY: the enabled AVX-512 F/BW/VL/DQ; eight rows of `width` lie in `x`, `block` and `bytes`, and `at`
    // steps through `width` in whole vectors.
    unsafe {
        let load = |row: usize, at: usize| _mm512_loadu_ps(x.as_ptr().add(row * width + at));
        let Moments { means, deviations } = Moments::of(x.as_ptr(), width);
        let mut offsets = means;
        for (offset, deviation) in offsets.iter_mut().zip(deviations) {
            *offset = _mm512_mul_ps(*offset, deviation);
        }
        let (deviation, offset) = (broadcast8(deviations), broadcast8(offsets));
        let sign = _mm512_set1_epi32(i32::MAX);
        let mut highest = [_mm512_setzero_ps(); EIGHT];
        // Non-negative floats are ordered like their bits, NaN above all.
        let higher = |a, b| {
            let bits = _mm512_max_epu32(_mm512_castps_si512(a), _mm512_castps_si512(b));
            _mm512_castsi512_ps(bits)
        };
        for at in (0..width).step_by(LANES) {
            let gamma = _mm512_loadu_ps(gamma.as_ptr().add(at));
            let beta = _mm512_loadu_ps(beta.as_ptr().add(at));
            for (row, high) in highest.iter_mut().enumerate() {
                let unit = _mm512_fmsub_ps(load(row, at), deviation[row], offset[row]);
                let y = _mm512_fmadd_ps(unit, gamma, beta);
                _mm512_storeu_ps(block.as_mut_ptr().add(row * width + at), y);
                let bits = _mm512_and_si512(_mm512_castps_si512(y), sign);
                *high = higher(*high, _mm512_castsi512_ps(bits));
            }
        }
        for (row, top) in broadcast8(reduce8(highest, higher)).into_iter().enumerate() {
            let top = _mm512_cvtss_f32(top);
            scales[row] = top / levels.top;
            let factor = _mm512_set1_ps(levels.factor(top));
            for at in (0..width).step_by(WIDTH) {
                let place = row * width + at;
                let to = bytes.as_mut_ptr().add(place);
                Vector::bytes(block.as_ptr().add(place), factor, levels.zero, to);
            }
        }
    }
}

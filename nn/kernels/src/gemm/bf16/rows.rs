//! Conversion between rows of floats and rows of bf16, and sums of such rows (AVX512_BF16).

use super::pairs::AHEAD;
use crate::gemm::matrix::Mat;
use crate::simd::avx512::{LANES, along, bf16_to_f32, f32_to_bf16, tail_mask};
use crate::simd::prefetch::prefetch;
use std::arch::x86_64::*;

/// `scale * a` in bf16, rows `row` lanes apart; `a`'s columns are contiguous.
///
/// # Safety
/// `out` has room for whole vectors of every row; the CPU has AVX-512 F, BW and AVX512_BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(crate) unsafe fn pack_rows(a: Mat<'_>, scale: f32, row: usize, out: *mut u32) {
    let whole = a.cols / (2 * LANES) * LANES;
    for i in 0..a.rows {
        let from = a.data.as_ptr().wrapping_add(i * a.row_stride);
        let ahead = from.wrapping_add(AHEAD * a.row_stride);
        // SAFETY: the enabled AVX-512 F/BW/BF16; `Mat` holds its rows and columns, loads end at `whole` or are
        // masked, and `out` holds `row` lanes, whole vectors, for each row.
        unsafe {
            let out = out.add(i * row);
            for at in (0..whole).step_by(LANES) {
                prefetch(ahead.wrapping_add(2 * at));
                prefetch(ahead.wrapping_add(2 * at + LANES));
                let scaled = |from| _mm512_mul_ps(_mm512_loadu_ps(from), _mm512_set1_ps(scale));
                let (low, high) = (from.add(2 * at), from.add(2 * at + LANES));
                _mm512_storeu_si512(out.add(at).cast(), f32_to_bf16(scaled(low), scaled(high)));
            }
            for at in (whole..row).step_by(LANES) {
                _mm512_storeu_si512(out.add(at).cast(), along::<true>(from, a.cols, at, scale));
            }
        }
    }
}

/// Converts rows of bf16, `row` lanes apart at `from`, to `out`, whole rows of `cols` floats.
///
/// # Safety
/// As many rows of whole vectors lie at `from`; the CPU has AVX-512 F and BW.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn unpack_rows(from: *const u32, row: usize, cols: usize, out: &mut [f32]) {
    for (i, out) in out.chunks_exact_mut(cols).enumerate() {
        for (at, out) in out.chunks_mut(LANES).enumerate() {
            // SAFETY: the enabled AVX-512 F/BW; each row at `from` is whole vectors; the tail mask ends at the
            // row's end in `out`.
            unsafe {
                let floats = bf16_to_f32(from.add(i * row + at * LANES / 2));
                match out.len() {
                    LANES => _mm512_storeu_ps(out.as_mut_ptr(), floats),
                    len => _mm512_mask_storeu_ps(out.as_mut_ptr(), tail_mask(len), floats),
                }
            }
        }
    }
}

/// Adds `rows` rows of halves, `row` lanes apart at `from`, to `out`, which is as long as they are.
///
/// # Safety
/// `rows` rows of whole vectors lie at `from`; the CPU has AVX-512 F and BW.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn add_halves(from: *const u32, row: usize, rows: usize, out: &mut [f32]) {
    for (at, out) in out.chunks_mut(LANES).enumerate() {
        let mask = tail_mask(out.len());
        // SAFETY: the enabled AVX-512 F/BW; each row at `from` is whole vectors; the tail mask ends at `out`'s
        // end.
        unsafe {
            let from = from.add(at * LANES / 2);
            let sum = _mm512_maskz_loadu_ps(mask, out.as_ptr());
            let add = |sum, i| _mm512_add_ps(sum, bf16_to_f32(from.add(i * row)));
            _mm512_mask_storeu_ps(out.as_mut_ptr(), mask, (0..rows).fold(sum, add));
        }
    }
}

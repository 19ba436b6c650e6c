//! Quantization and int8 products by AVX2.
//!
//! The kernel broadcasts four bytes of the activations at a time and reads vectors of 8 columns of the weights.
//! It adds four 16-bit results before it widens them: the weights are scaled so that they fit.

use super::quantize;
use super::task::{CHAIN, Finish, Int8Product, Levels, PANEL, by_finish};
use crate::norm;
use std::arch::x86_64::*;

pub(super) const LANES: usize = 8;

/// [`quantize::round`].
///
/// # Safety
/// The CPU has AVX2 and FMA; the rest as there.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn round(
    x: &[f32],
    depth: usize,
    levels: Levels,
    bytes: &mut [u8],
    stride: usize,
    scales: &mut [f32],
) {
    // SAFETY: AVX2 and FMA are enabled; the caller guarantees the lengths that `quantize::round` asks for.
    unsafe { quantize::round::<__m256>(x, depth, levels, bytes, stride, scales) }
}

/// [`norm::normalise`].
///
/// # Safety
/// The CPU has AVX2 and FMA; the rest as there.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn normalise(x: &[f32], gamma: &[f32], beta: &[f32], out: &mut [f32]) {
    // SAFETY: AVX2 and FMA are enabled; the caller guarantees the lengths that `norm::normalise` asks for.
    unsafe { norm::normalise::<__m256>(x, gamma, beta, out) }
}

/// All rows and columns.
///
/// # Safety
/// The CPU has AVX2 and FMA; the task's pointers hold what it says.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn product(task: &Int8Product, finish: Finish) {
    // SAFETY: AVX2 and FMA are enabled; the task's pointers hold its rows, depth and whole panels by the caller's
    // contract.
    unsafe { by_finish!(finish, panels, task) }
}

/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn panels<const FINISH: u8>(task: &Int8Product) {
    for col in (0..task.cols).step_by(PANEL) {
        // SAFETY: AVX2 and FMA; `col < cols`, and panels are whole, so up to 8 vectors of columns exist there.
        unsafe {
            match (task.cols - col).min(PANEL).div_ceil(LANES) {
                1 => panel::<FINISH, 1>(task, col),
                2 => panel::<FINISH, 2>(task, col),
                3..=5 => panel::<FINISH, 5>(task, col),
                _ => panel::<FINISH, 8>(task, col),
            }
        }
    }
}

/// `NR` vectors of columns, one row at a time: weights are memory operands, so that registers are left for
/// sums.
///
/// # Safety
/// As [`product`]; the panel has these columns, though some may lie beyond `task.cols`.
#[inline(always)]
unsafe fn panel<const FINISH: u8, const NR: usize>(task: &Int8Product, col: usize) {
    // SAFETY: AVX2; `col + NR * 8` lies within the panel of 64; each row of `a` has `depth` bytes, a multiple
    // of 16; `start` has whole panels.
    unsafe {
        let b = task.b.add(col / PANEL * task.depth * PANEL);
        let ones = _mm256_set1_epi16(1);
        for row in 0..task.rows {
            let a = task.a.add(row * task.depth);
            let mut sums = [_mm256_setzero_si256(); NR];
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = _mm256_loadu_si256(task.start.add(col + j * LANES).cast());
            }
            for k in (0..task.depth).step_by(CHAIN) {
                let (a, b) = (a.add(k).cast::<i32>(), b.add(k * PANEL));
                let fours = [0, 1, 2, 3].map(|s| _mm256_set1_epi32(a.add(s).read_unaligned()));
                for (j, sum) in sums.iter_mut().enumerate() {
                    let product = |s: usize| {
                        let column = b.add(s * 4 * PANEL + j * 4 * LANES).cast();
                        _mm256_maddubs_epi16(fours[s], _mm256_loadu_si256(column))
                    };
                    let low = _mm256_add_epi16(product(0), product(1));
                    let all = _mm256_add_epi16(low, _mm256_add_epi16(product(2), product(3)));
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(all, ones));
                }
            }
            for (j, sum) in sums.into_iter().enumerate() {
                finish::<FINISH>(task, sum, row, col + j * LANES);
            }
        }
    }
}

/// Scales the sums of 8 columns from `at` on, adds the bias, applies `FINISH` and writes; columns from
/// `task.cols` on are skipped.
///
/// # Safety
/// As [`product`]; the panels have such columns.
#[inline(always)]
pub(super) unsafe fn finish<const FINISH: u8>(
    task: &Int8Product,
    sum: __m256i,
    row: usize,
    at: usize,
) {
    if at >= task.cols {
        return;
    }
    // SAFETY: AVX2 and FMA; scales and bias have whole panels; the tail mask ends at `cols`, inside the row of
    // `out`.
    unsafe {
        let a_scale = _mm256_set1_ps(*task.a_scales.add(row));
        let scale = _mm256_mul_ps(a_scale, _mm256_loadu_ps(task.b_scales.add(at)));
        let bias = _mm256_loadu_ps(task.bias.add(at));
        let mut y = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, bias);
        let out = task.out.add(row * task.stride + at);
        // AMD's CPUs are slow at masked stores.
        let whole = task.cols - at >= LANES;
        let left = _mm256_set1_epi32((task.cols - at).min(LANES) as i32);
        let mask = _mm256_cmpgt_epi32(left, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        if FINISH == 1 {
            let old = if whole { _mm256_loadu_ps(out) } else { _mm256_maskload_ps(out, mask) };
            y = _mm256_add_ps(y, old);
        } else if FINISH == 2 {
            // `max` returns its second operand for NaN: NaN propagates.
            y = _mm256_max_ps(_mm256_setzero_ps(), y);
            y = _mm256_mul_ps(y, y);
        }
        if whole {
            _mm256_storeu_ps(out, y);
        } else {
            _mm256_maskstore_ps(out, mask, y);
        }
    }
}

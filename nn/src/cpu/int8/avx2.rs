//! Rounding and products of bytes by AVX2.
//!
//! Of the activations it broadcasts four bytes at a time, of the weights it reads vectors of 8 columns. Four
//! results of 16 bits are added up before they are widened: the weights were scaled so that they fit.
#![allow(unsafe_code)]

use super::{CHAIN, Finish, PANEL, Task, ops};
use std::arch::x86_64::*;

const LANES: usize = 8;

/// [`super::round_row`].
///
/// # Safety
/// The CPU has AVX2 and FMA; `bytes` is as long as `x`.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn round(x: &[f32], top: f32, zero: i32, bytes: &mut [u8]) -> f32 {
    let whole = x.len() / (4 * LANES) * (4 * LANES);
    let (body, rest) = x.split_at(whole);
    // SAFETY: `body` is whole blocks of four vectors, and `bytes` is as long.
    unsafe {
        let sign = _mm256_set1_epi32(i32::MAX);
        let mut high = _mm256_setzero_si256();
        for at in (0..whole).step_by(LANES) {
            let bits = _mm256_loadu_si256(body.as_ptr().add(at).cast());
            high = _mm256_max_epu32(high, _mm256_and_si256(bits, sign));
        }
        let mut lanes = [0u32; LANES];
        _mm256_storeu_si256(lanes.as_mut_ptr().cast(), high);
        let rests = rest.iter().map(|x| x.abs().to_bits());
        let high = f32::from_bits(lanes.into_iter().chain(rests).max().unwrap_or(0));
        let factor = if high > 0.0 { top / high } else { 0.0 };
        let (factors, zeros) = (_mm256_set1_ps(factor), _mm256_set1_epi32(zero));
        // Packing works on halves of vectors: this puts their quarters in order again.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        for at in (0..whole).step_by(4 * LANES) {
            let q = |i: usize| {
                let x = _mm256_loadu_ps(body.as_ptr().add(at + i * LANES));
                _mm256_add_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(x, factors)), zeros)
            };
            let low = _mm256_packs_epi32(q(0), q(1));
            let packed = _mm256_packus_epi16(low, _mm256_packs_epi32(q(2), q(3)));
            let packed = _mm256_permutevar8x32_epi32(packed, order);
            _mm256_storeu_si256(bytes.as_mut_ptr().add(at).cast(), packed);
        }
        for (byte, x) in bytes[whole..].iter_mut().zip(rest) {
            *byte = ((x * factor).round_ties_even() as i32 + zero) as u8;
        }
        high / top
    }
}

/// [`ops::layer_norm`] of one row, without what only the gradient wants.
///
/// # Safety
/// The CPU has AVX2 and FMA; the length of `x` is a multiple of 8, and no slice is shorter.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn normalise(x: &[f32], (gamma, beta): (&[f32], &[f32]), out: &mut [f32]) {
    let width = x.len();
    let share = (width as f32).recip();
    // SAFETY: `at + 8 <= width` for each `at` below in steps of 8.
    unsafe {
        let load = |from: &[f32], at: usize| _mm256_loadu_ps(from.as_ptr().add(at));
        let mut sum = _mm256_setzero_ps();
        for at in (0..width).step_by(LANES) {
            sum = _mm256_add_ps(sum, load(x, at));
        }
        let mean = _mm256_set1_ps(total(sum) * share);
        let mut squares = _mm256_setzero_ps();
        for at in (0..width).step_by(LANES) {
            let d = _mm256_sub_ps(load(x, at), mean);
            squares = _mm256_fmadd_ps(d, d, squares);
        }
        let scale = _mm256_set1_ps(1.0 / (total(squares) * share + ops::EPSILON).sqrt());
        for at in (0..width).step_by(LANES) {
            let unit = _mm256_mul_ps(_mm256_sub_ps(load(x, at), mean), scale);
            let y = _mm256_fmadd_ps(unit, load(gamma, at), load(beta, at));
            _mm256_storeu_ps(out.as_mut_ptr().add(at), y);
        }
    }
}

/// The sum of 8 lanes.
#[target_feature(enable = "avx2")]
fn total(x: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

/// All rows and columns.
///
/// # Safety
/// The CPU has AVX2 and FMA; the task's pointers hold what it says.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn product(task: &Task, finish: Finish) {
    // SAFETY: this function's contract.
    unsafe {
        match finish {
            Finish::Replace => panels::<0>(task),
            Finish::Add => panels::<1>(task),
            Finish::SquaredRelu => panels::<2>(task),
        }
    }
}

/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn panels<const FINISH: u8>(task: &Task) {
    for col in (0..task.cols).step_by(PANEL) {
        // SAFETY: `col` is below `cols`; the rest is the caller's contract.
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

/// `NR` vectors of columns, row by row: so the weights are operands in memory, and registers are left for sums.
///
/// # Safety
/// As [`product`]; there are such columns at `col` in the panels, though not all may count.
#[inline(always)]
unsafe fn panel<const FINISH: u8, const NR: usize>(task: &Task, col: usize) {
    // SAFETY: this function's contract: reads stay inside rows and panels, writes inside the mask.
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
            let a_scale = _mm256_set1_ps(*task.a_scales.add(row));
            for (j, sum) in sums.into_iter().enumerate() {
                let at = col + j * LANES;
                if at >= task.cols {
                    break;
                }
                let scale = _mm256_mul_ps(a_scale, _mm256_loadu_ps(task.b_scales.add(at)));
                let bias = _mm256_loadu_ps(task.bias.add(at));
                let mut y = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, bias);
                let out = task.out.add(row * task.stride + at);
                // AMD's processors are slow to write by masks.
                let whole = task.cols - at >= LANES;
                let left = _mm256_set1_epi32((task.cols - at).min(LANES) as i32);
                let mask = _mm256_cmpgt_epi32(left, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
                if FINISH == 1 {
                    let old =
                        if whole { _mm256_loadu_ps(out) } else { _mm256_maskload_ps(out, mask) };
                    y = _mm256_add_ps(y, old);
                } else if FINISH == 2 {
                    // The second operand is what comes of NaN.
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
    }
}

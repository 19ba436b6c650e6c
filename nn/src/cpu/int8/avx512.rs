//! Rounding and products of bytes by AVX-512 with VNNI.
//!
//! It broadcasts four bytes of the activations at a time, and reads vectors of 16 columns of the weights.
#![allow(unsafe_code)]

use super::rounding;
use super::task::{Finish, Levels, PANEL, Task};
use crate::cpu::rows;
use std::arch::x86_64::*;

const LANES: usize = 16;

/// The first `len` of 16 lanes.
#[inline(always)]
fn first(len: usize) -> __mmask16 {
    if len >= LANES { !0 } else { !(!0 << len) }
}

/// [`rounding::round`].
///
/// # Safety
/// The CPU has AVX-512 F, BW, VL and DQ; the rest as there.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
pub(super) unsafe fn round(
    x: &[f32],
    depth: usize,
    levels: Levels,
    bytes: &mut [u8],
    stride: usize,
    scales: &mut [f32],
) {
    // SAFETY: this function's contract.
    unsafe { rounding::round::<__m512>(x, depth, levels, bytes, stride, scales) }
}

/// [`rows::normalise`].
///
/// # Safety
/// The CPU has AVX-512 F, BW, VL and DQ; the rest as there.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
pub(super) unsafe fn normalise(x: &[f32], gamma: &[f32], beta: &[f32], out: &mut [f32]) {
    // SAFETY: this function's contract.
    unsafe { rows::normalise::<__m512>(x, gamma, beta, out) }
}

/// All rows and columns.
///
/// # Safety
/// The CPU has AVX-512 F, BW, VL and VNNI; the task's pointers hold what it says.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
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
                1 => panel::<FINISH, 12, 1>(task, col),
                2 => panel::<FINISH, 8, 2>(task, col),
                3 => panel::<FINISH, 8, 3>(task, col),
                _ => panel::<FINISH, 6, 4>(task, col),
            }
        }
    }
}

/// The rows of one panel: `MR` at a time, then 4, then one by one.
///
/// # Safety
/// As [`product`]; the panel at `col` has `NR` vectors of columns that count.
#[inline(always)]
unsafe fn panel<const FINISH: u8, const MR: usize, const NR: usize>(task: &Task, col: usize) {
    let mut i = 0;
    // SAFETY: `i` stays below `rows`; the rest is the caller's contract.
    unsafe {
        while i + MR <= task.rows {
            tile::<FINISH, MR, NR>(task, i, col);
            i += MR;
        }
        while i + 4 <= task.rows {
            tile::<FINISH, 4, NR>(task, i, col);
            i += 4;
        }
        while i < task.rows {
            tile::<FINISH, 1, NR>(task, i, col);
            i += 1;
        }
    }
}

/// `MR` rows and `NR` vectors of columns.
///
/// # Safety
/// As [`panel`]; there are such rows.
#[inline(always)]
unsafe fn tile<const FINISH: u8, const MR: usize, const NR: usize>(
    task: &Task,
    row: usize,
    col: usize,
) {
    // SAFETY: this function's contract: reads stay inside rows and panels, writes inside the mask.
    unsafe {
        let a = task.a.add(row * task.depth);
        let b = task.b.add(col / PANEL * task.depth * PANEL);
        let mut sums = [[_mm512_setzero_si512(); NR]; MR];
        for j in 0..NR {
            let start = _mm512_loadu_si512(task.start.add(col + j * LANES).cast());
            for sums in &mut sums {
                sums[j] = start;
            }
        }
        for k in (0..task.depth).step_by(4) {
            let b = b.add(k * PANEL);
            let mut columns = [_mm512_setzero_si512(); NR];
            for (j, column) in columns.iter_mut().enumerate() {
                *column = _mm512_loadu_si512(b.add(j * 4 * LANES).cast());
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let four = a.add(i * task.depth + k).cast::<i32>().read_unaligned();
                let four = _mm512_set1_epi32(four);
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = _mm512_dpbusd_epi32(*sum, four, column);
                }
            }
        }
        for j in 0..NR {
            let at = col + j * LANES;
            let mask = first(task.cols - at);
            let b_scale = _mm512_loadu_ps(task.b_scales.add(at));
            let bias = _mm512_loadu_ps(task.bias.add(at));
            for (i, sums) in sums.iter().enumerate() {
                let out = task.out.add((row + i) * task.stride + at);
                let scale = _mm512_mul_ps(_mm512_set1_ps(*task.a_scales.add(row + i)), b_scale);
                let mut y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[j]), scale, bias);
                if FINISH == 1 {
                    y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, out));
                } else if FINISH == 2 {
                    // The second operand is what comes of NaN.
                    y = _mm512_max_ps(_mm512_setzero_ps(), y);
                    y = _mm512_mul_ps(y, y);
                }
                _mm512_mask_storeu_ps(out, mask, y);
            }
        }
    }
}

//! Quantization and int8 products on Arm: `sdot` adds four products of signed bytes to each of four sums.
//!
//! The kernel reads four columns of the weights at a time, four bytes of each, and takes four bytes of the
//! activations from a lane of a 16-byte register.

use super::quantize;
use super::task::{CHAIN, Finish, Int8Product, Kernel, Levels, PANEL, by_finish};
use crate::norm;
use std::arch::aarch64::*;
use std::arch::asm;

/// Columns per vector.
const LANES: usize = 4;
/// Vectors of columns per tile: times four rows, enough sums to hide the latency of `sdot`, few enough for 32
/// registers.
const COLUMNS: usize = 4;

/// [`quantize::round`].
///
/// # Safety
/// As there; every aarch64 processor has NEON.
pub(super) unsafe fn round(
    _: Kernel,
    x: &[f32],
    depth: usize,
    levels: Levels,
    bytes: &mut [u8],
    stride: usize,
    scales: &mut [f32],
) {
    // SAFETY: aarch64 has NEON; the caller guarantees the lengths that `quantize::round` asks for.
    unsafe { quantize::round::<float32x4_t>(x, depth, levels, bytes, stride, scales) }
}

/// [`norm::normalise`].
///
/// # Safety
/// As there; every aarch64 processor has NEON.
pub(super) unsafe fn normalise(_: Kernel, x: &[f32], gamma: &[f32], beta: &[f32], out: &mut [f32]) {
    // SAFETY: aarch64 has NEON; the caller guarantees the lengths that `norm::normalise` asks for.
    unsafe { norm::normalise::<float32x4_t>(x, gamma, beta, out) }
}

/// All rows and columns.
///
/// # Safety
/// The CPU has `sdot`; the task's pointers hold what it says.
#[target_feature(enable = "neon,dotprod")]
pub(super) unsafe fn product(_: Kernel, task: &Int8Product, finish: Finish) {
    // SAFETY: NEON and dotprod are enabled; the task's pointers hold its rows, depth and whole panels by the
    // caller's contract.
    unsafe { by_finish!(finish, panels, task) }
}

/// Four rows at a time, then one by one.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn panels<const FINISH: u8>(task: &Int8Product) {
    for col in (0..task.cols).step_by(COLUMNS * LANES) {
        let whole = task.rows / 4 * 4;
        // SAFETY: NEON and dotprod; `col < cols`, rows stay below `rows`; a panel of 64 columns is a multiple
        // of a tile's 16.
        unsafe {
            for row in (0..whole).step_by(4) {
                tile::<FINISH, 4>(task, row, col);
            }
            for row in whole..task.rows {
                tile::<FINISH, 1>(task, row, col);
            }
        }
    }
}

/// `MR` rows and [`COLUMNS`] vectors of columns, some of which may lie beyond `task.cols`.
///
/// # Safety
/// As [`product`]; there are such rows, and columns at `col` in the panels.
#[inline(always)]
unsafe fn tile<const FINISH: u8, const MR: usize>(task: &Int8Product, row: usize, col: usize) {
    // SAFETY: NEON and dotprod; `MR` rows of `depth` bytes, a multiple of 16, and 16 columns of the panel
    // exist; `start` has whole panels.
    unsafe {
        let a = task.a.add(row * task.depth).cast::<i8>();
        let b = task.b.add(col / PANEL * task.depth * PANEL + col % PANEL * 4);
        let start: [_; COLUMNS] =
            std::array::from_fn(|j| vld1q_s32(task.start.add(col + j * LANES)));
        let mut sums = [start; MR];
        for k in (0..task.depth).step_by(CHAIN) {
            let rows: [_; MR] = std::array::from_fn(|i| vld1q_s8(a.add(i * task.depth + k)));
            let b = b.add(k * PANEL);
            fours::<0, MR>(&mut sums, rows, b);
            fours::<1, MR>(&mut sums, rows, b.add(4 * PANEL));
            fours::<2, MR>(&mut sums, rows, b.add(8 * PANEL));
            fours::<3, MR>(&mut sums, rows, b.add(12 * PANEL));
        }
        for (i, sums) in sums.into_iter().enumerate() {
            for (j, sum) in sums.into_iter().enumerate() {
                finish::<FINISH>(task, sum, row + i, col + j * LANES);
            }
        }
    }
}

/// Adds the products of four bytes of each row (lane `LANE`) with four of each column.
///
/// # Safety
/// The CPU has `sdot`; `b` leads to 4 bytes of each of the columns.
#[inline(always)]
unsafe fn fours<const LANE: i32, const MR: usize>(
    sums: &mut [[int32x4_t; COLUMNS]; MR],
    rows: [int8x16_t; MR],
    b: *const i8,
) {
    for j in 0..COLUMNS {
        // SAFETY: NEON; 4 * 16 bytes of columns lie at `b`.
        unsafe {
            let column = vld1q_s8(b.add(j * 4 * LANES));
            for (sums, row) in sums.iter_mut().zip(rows) {
                sums[j] = dot::<LANE>(sums[j], column, row);
            }
        }
    }
}

/// Adds the products of four bytes of each column with the four of lane `LANE` of `row` to the column's sum.
/// (The intrinsic is unstable.)
///
/// # Safety
/// The CPU has `sdot`.
#[inline(always)]
unsafe fn dot<const LANE: i32>(mut sum: int32x4_t, column: int8x16_t, row: int8x16_t) -> int32x4_t {
    // SAFETY: registers only; the CPU has `sdot`.
    unsafe {
        asm!(
            "sdot {sum:v}.4s, {column:v}.16b, {row:v}.4b[{lane}]",
            sum = inout(vreg) sum,
            column = in(vreg) column,
            row = in(vreg) row,
            lane = const LANE,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

/// Scales the sums of 4 columns from `at` on, adds the bias, applies `FINISH` and writes; columns from
/// `task.cols` on are skipped.
///
/// # Safety
/// As [`product`]; the panels have such columns.
#[inline(always)]
unsafe fn finish<const FINISH: u8>(task: &Int8Product, sum: int32x4_t, row: usize, at: usize) {
    if at >= task.cols {
        return;
    }
    let cols = (task.cols - at).min(LANES);
    // SAFETY: NEON; scales and bias have whole panels; at most `cols` floats of the row of `out` are read or
    // written.
    unsafe {
        let scale = vmulq_n_f32(vld1q_f32(task.b_scales.add(at)), *task.a_scales.add(row));
        let mut y = vfmaq_f32(vld1q_f32(task.bias.add(at)), vcvtq_f32_s32(sum), scale);
        let out = task.out.add(row * task.stride + at);
        let mut some = [0.0; LANES];
        if FINISH == 1 {
            if cols < LANES {
                std::ptr::copy_nonoverlapping(out, some.as_mut_ptr(), cols);
            }
            let old = if cols < LANES { some.as_ptr() } else { out.cast_const() };
            y = vaddq_f32(y, vld1q_f32(old));
        } else if FINISH == 2 {
            // `fmax` propagates NaN.
            y = vmaxq_f32(y, vdupq_n_f32(0.0));
            y = vmulq_f32(y, y);
        }
        if cols == LANES {
            vst1q_f32(out, y);
        } else {
            vst1q_f32(some.as_mut_ptr(), y);
            std::ptr::copy_nonoverlapping(some.as_ptr(), out, cols);
        }
    }
}

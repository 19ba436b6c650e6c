//! int8 products by AVX-VNNI, for CPUs without AVX-512 since Alder Lake and Zen 5. Quantization is AVX2's.
//!
//! The kernel broadcasts four bytes of the activations at a time and reads vectors of 8 columns of the weights.

use super::avx2::{LANES, finish};
use super::task::{Finish, Int8Product, PANEL, by_finish};
use std::arch::x86_64::*;

/// Rows and vectors of columns per tile: with one vector of weights they fill the 16 registers.
const ROWS: usize = 3;
const COLUMNS: usize = 4;

/// All rows and columns.
///
/// # Safety
/// The CPU has AVX2, FMA and AVX-VNNI; the task's pointers hold what it says.
#[target_feature(enable = "avx2,fma,avxvnni")]
pub(super) unsafe fn product(task: &Int8Product, finish: Finish) {
    // SAFETY: AVX2, FMA and AVX-VNNI are enabled; the task's pointers hold its rows, depth and whole panels by
    // the caller's contract.
    unsafe { by_finish!(finish, columns, task) }
}

/// Half a panel of columns at a time; rows three by three, then one by one.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn columns<const FINISH: u8>(task: &Int8Product) {
    const { assert!(PANEL.is_multiple_of(COLUMNS * LANES)) };
    for col in (0..task.cols).step_by(COLUMNS * LANES) {
        let whole = task.rows / ROWS * ROWS;
        // SAFETY: AVX2, FMA and AVX-VNNI; rows stay below `rows`, `col < cols`, and panels are whole.
        unsafe {
            for row in (0..whole).step_by(ROWS) {
                tile::<FINISH, ROWS>(task, row, col);
            }
            for row in whole..task.rows {
                tile::<FINISH, 1>(task, row, col);
            }
        }
    }
}

/// `MR` rows and half a panel of columns, some of which may lie beyond `task.cols`.
///
/// # Safety
/// As [`product`]; there are such rows, and columns at `col` in the panels.
#[inline(always)]
unsafe fn tile<const FINISH: u8, const MR: usize>(task: &Int8Product, row: usize, col: usize) {
    // SAFETY: AVX2 and AVX-VNNI; `MR` rows of `depth` bytes, a multiple of 16, and 32 columns of the panel
    // exist; `start` has whole panels.
    unsafe {
        let a = task.a.add(row * task.depth);
        let b = task.b.add(col / PANEL * task.depth * PANEL + col % PANEL * 4);
        let mut sums = [[_mm256_setzero_si256(); COLUMNS]; MR];
        for j in 0..COLUMNS {
            let start = _mm256_loadu_si256(task.start.add(col + j * LANES).cast());
            for sums in &mut sums {
                sums[j] = start;
            }
        }
        for k in (0..task.depth).step_by(4) {
            let mut fours = [_mm256_setzero_si256(); MR];
            for (i, four) in fours.iter_mut().enumerate() {
                let a = a.add(i * task.depth + k).cast::<i32>();
                *four = _mm256_set1_epi32(a.read_unaligned());
            }
            for j in 0..COLUMNS {
                let column = _mm256_loadu_si256(b.add(k * PANEL + j * 4 * LANES).cast());
                for (sums, four) in sums.iter_mut().zip(fours) {
                    sums[j] = _mm256_dpbusd_avx_epi32(sums[j], four, column);
                }
            }
        }
        for (i, sums) in sums.into_iter().enumerate() {
            for (j, sum) in sums.into_iter().enumerate() {
                finish::<FINISH>(task, sum, row + i, col + j * LANES);
            }
        }
    }
}

//! Packing of right operands into panels of columns: floats in plain loops or by AVX-512, bf16 by AVX512_BF16, either from
//! rows or transposed.

use super::bf16::pairs::{Bf16Rows, Pairs};
use super::matrix::Mat;
use crate::simd::avx512::{LANES, along, transpose};
use crate::simd::prefetch::prefetch;
use std::arch::x86_64::*;

/// Columns of a whole panel.
pub(crate) const PANEL: usize = 4 * LANES;

/// Panel layout of a right operand.
#[derive(Clone, Copy)]
pub(crate) struct Panels {
    /// Columns per panel.
    pub columns: usize,
    /// Lanes between a panel's rows.
    pub step: usize,
    /// Lanes along the inner dimension.
    pub depth: usize,
    /// Lanes of all panels.
    pub lanes: usize,
}

impl Panels {
    /// Layout of `cols` columns, `columns` per panel, `depth` lanes along the inner dimension.
    pub fn new(depth: usize, columns: usize, cols: usize) -> Panels {
        let step = cols.next_multiple_of(LANES).min(columns);
        Panels { columns, step, depth, lanes: depth * step * cols.div_ceil(columns) }
    }

    /// Index of the first lane of a column.
    #[inline(always)]
    pub fn at(self, column: usize) -> usize {
        column / self.columns * self.depth * self.columns + column % self.columns
    }
}

/// Panels of the transpose of `b`; lanes keep their two bf16.
///
/// # Safety
/// `out` has room for all panels; `b` has blocks of 16 rows and of 16 lanes; the CPU has AVX-512 F and BW.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn transpose_lanes(b: Bf16Rows<'_>, panels: Panels, out: *mut u32) {
    let (cols, _) = b.sizes();
    for col in (0..cols).step_by(LANES) {
        for p in (0..panels.depth).step_by(LANES) {
            let mut block = [_mm512_setzero_si512(); LANES];
            // SAFETY: the enabled AVX-512 F/BW; rows `col..col + 16` and lanes `p..p + 16` of `b` exist; `out`
            // holds all panels.
            unsafe {
                for (i, lanes) in block.iter_mut().enumerate() {
                    *lanes = b.lanes(col + i, p);
                }
                transpose(&mut block);
                let out = out.add(panels.at(col));
                for (i, lanes) in block.iter().enumerate() {
                    _mm512_storeu_si512(out.add((p + i) * panels.step).cast(), *lanes);
                }
            }
        }
    }
}

/// Panels of `b`; see [`Right`](super::packed::Right).
///
/// # Safety
/// `out` has room for all panels; the CPU has AVX-512 F, BW and AVX512_BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(crate) unsafe fn pack_panels<P: Pairs>(b: P, panels: Panels, out: *mut u32) {
    let (_, cols) = b.sizes();
    let Panels { step, depth, .. } = panels;
    for column in (0..cols).step_by(2 * LANES) {
        let [first, second] = [column, column + LANES].map(|at| out.wrapping_add(panels.at(at)));
        let both = column + LANES < cols;
        for p in 0..depth {
            // SAFETY: the enabled AVX-512 F/BW/BF16; row `2 p` and column `column` of `b` exist; the second
            // vector is stored only if it has columns, and panels hold whole vectors.
            unsafe {
                let lanes = b.pair(p, column);
                _mm512_storeu_si512(first.add(p * step).cast(), lanes[0]);
                if both {
                    _mm512_storeu_si512(second.add(p * step).cast(), lanes[1]);
                }
            }
        }
    }
}

/// bf16 panels of a transposed `b`.
///
/// # Safety
/// As [`pack_panels`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(crate) unsafe fn transpose_panels_half(b: Mat<'_>, panels: Panels, out: *mut u32) {
    // SAFETY: AVX-512 F/BW/BF16 are enabled; `out` has room for all panels by the caller's contract.
    unsafe { transpose_panels::<true>(b, panels, out) }
}

/// Panels of floats.
///
/// # Safety
/// `out` has room for all panels; the CPU has AVX-512.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn pack_right_single(b: Mat<'_>, panels: Panels, out: *mut u32) {
    if b.col_stride != 1 {
        // SAFETY: AVX-512 F/BW are enabled; `out` has room for all panels by the caller's contract.
        return unsafe { transpose_panels::<false>(b, panels, out) };
    }
    let Panels { step, depth, .. } = panels;
    for column in (0..b.cols).step_by(LANES) {
        let start = panels.at(column);
        for p in 0..depth {
            // SAFETY: AVX-512F; `Mat` holds its rows and columns, the tail mask ends at `b.cols`, and `out`
            // holds whole vectors of all panels.
            unsafe {
                let from = b.data.as_ptr().add(p * b.row_stride);
                let lanes = along::<false>(from, b.cols, column, 1.0);
                _mm512_storeu_si512(out.add(start + p * step).cast(), lanes);
            }
        }
    }
}

/// Panels of a transposed `b`, 16 x 16 lanes at a time.
///
/// # Safety
/// As [`pack_panels`], or [`pack_right_single`] for floats.
#[inline(always)]
unsafe fn transpose_panels<const HALF: bool>(b: Mat<'_>, panels: Panels, out: *mut u32) {
    let (data, Panels { step, depth, .. }) = (b.data.as_ptr(), panels);
    for column in (0..b.cols).step_by(LANES) {
        let start = panels.at(column);
        for at in (0..depth).step_by(LANES) {
            // SAFETY: the callers enable AVX-512 F/BW and, for bf16, AVX512_BF16; `Mat` holds its rows and
            // columns; `out` holds whole vectors of all panels.
            unsafe {
                let mut block = [_mm512_setzero_si512(); LANES];
                for (j, row) in block.iter_mut().enumerate().take(b.cols - column) {
                    let from = data.add((column + j) * b.col_stride);
                    let ahead = from.wrapping_add(LANES * b.col_stride);
                    prefetch(ahead.wrapping_add(if HALF { 2 * at } else { at }));
                    if HALF {
                        prefetch(ahead.wrapping_add(2 * at + LANES));
                    }
                    *row = along::<HALF>(from, b.rows, at, 1.0);
                }
                transpose(&mut block);
                for (p, row) in block.iter().enumerate().take(depth - at) {
                    _mm512_storeu_si512(out.add(start + (at + p) * step).cast(), *row);
                }
            }
        }
    }
}

/// Panels of floats without AVX-512.
///
/// # Safety
/// `out` has room for all panels.
pub(crate) unsafe fn pack_right_plain(b: Mat<'_>, panels: Panels, out: *mut u32) {
    let Panels { step, depth, .. } = panels;
    for column in (0..b.cols).step_by(LANES) {
        let start = panels.at(column);
        let cols = (b.cols - column).min(LANES);
        for p in 0..depth {
            let from = p * b.row_stride + column * b.col_stride;
            let value = |j: usize| if j < cols { b.data[from + j * b.col_stride] } else { 0.0 };
            let lanes: [u32; LANES] = std::array::from_fn(|j| value(j).to_bits());
            // SAFETY: no CPU feature is used; `out` holds all panels in whole vectors of 16 lanes.
            unsafe { out.add(start + p * step).cast::<[u32; LANES]>().write_unaligned(lanes) };
        }
    }
}

//! Right operands: panels of columns.
#![allow(unsafe_code)]

use super::pairs::{Halves, LANES, Pairs, along, transpose};
use super::view::Mat;
use crate::cpu::prefetch::prefetch;
use std::arch::x86_64::*;

/// How the panels of a right operand lie.
#[derive(Clone, Copy)]
pub(super) struct Panels {
    /// Of each.
    pub columns: usize,
    /// Lanes between a panel's rows.
    pub step: usize,
    /// Lanes along the inner dimension.
    pub depth: usize,
    /// Of all panels.
    pub lanes: usize,
}

impl Panels {
    /// Of an operand of so many lanes along the inner dimension, panels of so many of its columns.
    pub fn new(depth: usize, columns: usize, cols: usize) -> Panels {
        let step = cols.next_multiple_of(LANES).min(columns);
        Panels { columns, step, depth, lanes: depth * step * cols.div_ceil(columns) }
    }

    /// Where a column begins.
    #[inline(always)]
    pub fn at(self, column: usize) -> usize {
        column / self.columns * self.depth * self.columns + column % self.columns
    }
}

/// Panels of the transpose of `b`: a lane stays one.
///
/// # Safety
/// `out` has room for all panels; `b` has blocks of 16 rows and of 16 lanes; the CPU has AVX-512.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn transpose_lanes(b: Halves<'_>, panels: Panels, out: *mut u32) {
    let (cols, _) = b.sizes();
    for col in (0..cols).step_by(LANES) {
        for p in (0..panels.depth).step_by(LANES) {
            let mut block = [_mm512_setzero_si512(); LANES];
            // SAFETY: this function's contract.
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

/// Panels of `b`; see [`Right`](super::pack::Right).
///
/// # Safety
/// `out` has room for all panels; the CPU has the features of [`Arithmetic::Bf16`](crate::precision::Arithmetic::Bf16).
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn pack_panels<P: Pairs>(b: P, panels: Panels, out: *mut u32) {
    let (_, cols) = b.sizes();
    let Panels { step, depth, .. } = panels;
    for column in (0..cols).step_by(2 * LANES) {
        let [first, second] = [column, column + LANES].map(|at| out.wrapping_add(panels.at(at)));
        let both = column + LANES < cols;
        for p in 0..depth {
            // SAFETY: this function's contract; the second vector is written if there are columns for it.
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

/// Panels of a transposed `b` in halves.
///
/// # Safety
/// As [`pack_panels`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn transpose_panels_half(b: Mat<'_>, panels: Panels, out: *mut u32) {
    // SAFETY: the caller's contract.
    unsafe { transpose_panels::<true>(b, panels, out) }
}

/// Panels of floats.
///
/// # Safety
/// `out` has room for all panels; the CPU has AVX-512.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn pack_right_single(b: Mat<'_>, panels: Panels, out: *mut u32) {
    if b.col_stride != 1 {
        // SAFETY: the caller's contract.
        return unsafe { transpose_panels::<false>(b, panels, out) };
    }
    let Panels { step, depth, .. } = panels;
    for column in (0..b.cols).step_by(LANES) {
        let start = panels.at(column);
        for p in 0..depth {
            // SAFETY: `Mat` holds its rows and columns; `out` is the caller's contract.
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
            // SAFETY: `Mat` holds its rows and columns; `out` is the caller's contract.
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
pub(super) unsafe fn pack_right_plain(b: Mat<'_>, panels: Panels, out: *mut u32) {
    let Panels { step, depth, .. } = panels;
    for column in (0..b.cols).step_by(LANES) {
        let start = panels.at(column);
        let cols = (b.cols - column).min(LANES);
        for p in 0..depth {
            let from = p * b.row_stride + column * b.col_stride;
            let value = |j: usize| if j < cols { b.data[from + j * b.col_stride] } else { 0.0 };
            let lanes: [u32; LANES] = std::array::from_fn(|j| value(j).to_bits());
            // SAFETY: this row of the panel lies in `out` by this function's contract.
            unsafe { out.add(start + p * step).cast::<[u32; LANES]>().write_unaligned(lanes) };
        }
    }
}

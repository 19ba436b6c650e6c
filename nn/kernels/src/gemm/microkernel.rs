//! The matrix product by AVX2, AVX-512 or plain loops, in single precision or in bf16 with single-precision
//! sums.
//!
//! Both operands are 32-bit lanes (see [`super::packed`]), so one generic kernel serves all formats. It
//! broadcasts one lane of `a` at a time and reads vectors of 16 columns of `b`; the sums stay in registers.

use super::bf16::pairs::{Bf16Rows, Pairs};
use super::format::{Format, Half, Narrow, Plain, Product, Single};
use super::matrix::{Accumulate, fits};
use super::packed::{Buffer, Left, Right};
use super::panels::PANEL;
use crate::amx::bf16 as tiles;
use crate::amx::tiles::BLOCK;
use crate::isa::Isa;
use crate::precision::Arithmetic;
use crate::simd::avx512::LANES;
use crate::simd::prefetch::prefetch;
use std::ops::Range;

/// `MR` rows and `NR` vectors of columns; `mask` is the tail mask of the last vector.
///
/// # Safety
/// The task has `MR` rows from `first_row` on and `NR` vectors of columns from `first_col` on, which begin
/// at `b`; the CPU has the format's features.
#[inline(always)]
unsafe fn tile<F: Format, const MR: usize, const NR: usize>(
    task: &Product<'_>,
    first_row: usize,
    first_col: usize,
    mut b: *const u32,
    mask: u16,
) {
    let (row, a_step, b_step) = (task.left.row, task.left.step, task.right.step);
    let mut a = task.left.data.as_ptr().wrapping_add(first_row * row);
    // Prefetch the destination: the product takes longer than L2 or L3, where gradients lie.
    for (i, j) in (0..MR).flat_map(|i| (0..NR).map(move |j| (i, j))) {
        prefetch(task.out.wrapping_add((first_row + i) * task.stride + first_col + j * LANES));
    }
    // SAFETY: the CPU has `F`'s features; `MR` rows and `NR` vectors of columns of `depth` lanes exist and have
    // a destination; `wrapping_add` because the last step leads past the end.
    unsafe {
        let mut sums = [[F::zero(); NR]; MR];
        for _ in 0..task.left.depth {
            let mut columns = [F::load(b); NR];
            for (j, columns) in columns.iter_mut().enumerate().skip(1) {
                *columns = F::load(b.add(j * LANES));
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let x = F::spread(*a.add(i * row));
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = F::multiply(*sum, x, column);
                }
            }
            a = a.wrapping_add(a_step);
            b = b.wrapping_add(b_step);
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                let mask = if j + 1 == NR { mask } else { !0 };
                task.store::<F>(*sum, first_row + i, first_col + j * LANES, mask);
            }
        }
    }
}

/// Rows `rows` of one panel of `NR` vectors: `MR` at a time, then 4, then one by one.
///
/// # Safety
/// As [`tile`], for every one of these rows.
#[inline(always)]
unsafe fn panel<F: Format, const MR: usize, const NR: usize>(
    task: &Product<'_>,
    rows: Range<usize>,
    col: usize,
    b: *const u32,
    mask: u16,
) {
    let Range { start: mut i, end: rows } = rows;
    // SAFETY: `i + MR`, `i + 4` or `i + 1` is at most the rows' end; features, panel and mask are the caller's
    // contract.
    unsafe {
        while i + MR <= rows {
            tile::<F, MR, NR>(task, i, col, b, mask);
            i += MR;
        }
        while i + 4 <= rows {
            tile::<F, 4, NR>(task, i, col, b, mask);
            i += 4;
        }
        while i < rows {
            tile::<F, 1, NR>(task, i, col, b, mask);
            i += 1;
        }
    }
}

/// By panel: first column, number of vectors, and the tail mask of the last one.
#[inline(always)]
fn panels(cols: usize) -> impl Iterator<Item = (usize, usize, u16)> {
    (0..cols).step_by(PANEL).map(move |col| {
        let cols = (cols - col).min(PANEL);
        let vectors = cols.div_ceil(LANES);
        (col, vectors, !0 >> (vectors * LANES - cols))
    })
}

/// All rows and columns.
///
/// # Safety
/// As [`tile`], for all of them.
#[inline(always)]
unsafe fn product<F: Format>(task: &Product<'_>) {
    for (col, vectors, mask) in panels(task.right.cols) {
        // SAFETY: the caller guarantees `F`'s features and operands of `rows x depth` and `depth x cols`, whole
        // vectors; `col < cols`.
        unsafe {
            let b = task.right.data.as_ptr().add(col / PANEL * task.right.panel);
            let rows = 0..task.left.rows;
            // 16 to 24 sums hide the latency of multiply-add and fit in 32 registers.
            match vectors {
                1 => panel::<F, 16, 1>(task, rows, col, b, mask),
                2 => panel::<F, 8, 2>(task, rows, col, b, mask),
                3 => panel::<F, 8, 3>(task, rows, col, b, mask),
                _ => panel::<F, 6, 4>(task, rows, col, b, mask),
            }
        }
    }
}

/// All rows and columns, one vector of columns and `MR` rows at a time: for 16 registers.
///
/// # Safety
/// As [`tile`], for all of them.
#[inline(always)]
unsafe fn product_by_vector<F: Format, const MR: usize>(task: &Product<'_>) {
    let rows = task.left.rows;
    let rest = rows % MR % 4;
    // SAFETY: the caller guarantees `F`'s features and the operands; `rest <= rows`.
    unsafe { few_rows::<F>(task, rows - rest..rows) };
    for col in (0..task.right.cols).step_by(LANES) {
        let cols = (task.right.cols - col).min(LANES);
        // SAFETY: the caller guarantees `F`'s features and the operands; `col < cols`, and the vector at `col` is
        // whole.
        unsafe {
            let b = task.right.data.as_ptr();
            let b = b.add(col / PANEL * task.right.panel + col % PANEL);
            panel::<F, MR, 1>(task, 0..rows - rest, col, b, !0 >> (LANES - cols));
        }
    }
}

/// Rows one by one, four vectors of columns at a time: one vector would wait for the latency of its own sum.
///
/// # Safety
/// As [`tile`], for all of them.
#[inline(always)]
unsafe fn few_rows<F: Format>(task: &Product<'_>, rows: Range<usize>) {
    for (col, vectors, mask) in panels(task.right.cols) {
        let rows = rows.clone();
        // SAFETY: the caller guarantees `F`'s features and the operands, which have these rows; `col < cols`.
        unsafe {
            let b = task.right.data.as_ptr().add(col / PANEL * task.right.panel);
            match vectors {
                1 => panel::<F, 1, 1>(task, rows, col, b, mask),
                2 => panel::<F, 1, 2>(task, rows, col, b, mask),
                3 => panel::<F, 1, 3>(task, rows, col, b, mask),
                _ => panel::<F, 1, 4>(task, rows, col, b, mask),
            }
        }
    }
}

#[target_feature(enable = "avx2,fma")]
unsafe fn product_narrow(task: &Product<'_>) {
    // SAFETY: AVX2 and FMA are enabled; the caller guarantees the task's operands and destination.
    unsafe { product_by_vector::<Narrow, 6>(task) }
}

#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn product_single(task: &Product<'_>) {
    // SAFETY: AVX-512 F/BW are enabled; the caller guarantees the task's operands and destination.
    unsafe { product::<Single>(task) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn product_half(task: &Product<'_>) {
    // SAFETY: AVX-512 F/BW/BF16 are enabled; the caller guarantees the task's operands and destination.
    unsafe { product::<Half>(task) }
}

/// `out = scale * left * right`, plus what `into` adds; rows of `out` are `stride` apart.
///
/// # Panics
/// If the operands differ in depth or arithmetic, `out` is too small, or `isa` has no kernel for the
/// arithmetic: a fault of the caller.
pub(super) fn multiply(
    out: &mut [f32],
    stride: usize,
    into: Accumulate<'_>,
    scale: f32,
    isa: Isa,
    left: Left<'_>,
    right: Right<'_>,
) {
    let (rows, cols) = (left.rows, right.cols);
    assert!(left.depth == right.depth, "depths {} and {}", left.depth, right.depth);
    assert!(left.arithmetic == right.arithmetic, "operands of two arithmetics");
    assert!(fits(out.len(), rows, cols, stride), "{rows}x{cols} in {}", out.len());
    let arithmetic = left.arithmetic;
    let least = if arithmetic == Arithmetic::Bf16 { Isa::Avx512 } else { Isa::Portable };
    assert!((least..=Isa::found()).contains(&isa), "{arithmetic} by {isa}");
    let out = out.as_mut_ptr();
    let (base, base_row) = match into {
        Accumulate::Replace => (std::ptr::null(), 0),
        Accumulate::Add => (out.cast_const(), stride),
        Accumulate::Bias(bias) => {
            assert!(bias.len() >= cols, "bias of {} for {cols} columns", bias.len());
            (bias.as_ptr(), 0)
        }
    };
    // Regardless of the number of rows: AMX adds in another order, and a result must not depend on the batch
    // size.
    let by_tiles = arithmetic == Arithmetic::Bf16 && isa == Isa::Amx;
    let lanes = rows.next_multiple_of(LANES) * left.row;
    let columns = if by_tiles { LANES } else { PANEL };
    assert!(right.columns == columns, "panels of {}", right.columns);
    assert!(!by_tiles || left.step == 1 && left.data.len() >= lanes, "rows that fill no tile");
    let task = Product { left, right, out, stride, scale, base, base_row };
    // SAFETY: the makers of `Left` and `Right` checked that their lanes hold `rows x depth` and `depth x cols`,
    // the latter in whole vectors, and that the CPU has AVX512_BF16 for bf16 lanes; `isa` is at most
    // `Isa::found`, and lanes for whole tiles of rows exist, asserted above; `out` holds `rows x cols` and is
    // exclusively borrowed; `base` is null, `out` itself or a bias of `cols`.
    unsafe {
        match arithmetic {
            Arithmetic::Bf16 if by_tiles => tiles::product(&task),
            Arithmetic::Bf16 => product_half(&task),
            _ => match isa {
                Isa::Portable | Isa::Neon => product_by_vector::<Plain, 2>(&task),
                Isa::Avx2 => product_narrow(&task),
                Isa::Avx512 | Isa::Amx => product_single(&task),
            },
        }
    }
}

/// Adds `aᵀ * right` to `out`, whose rows are `stride` apart, by AMX; false without AMX, or if the product is
/// no whole blocks.
///
/// # Panics
/// If the operands differ in depth, or `out` is too small: a fault of the caller.
pub(super) fn add_transposed(
    out: &mut [f32],
    stride: usize,
    a: Bf16Rows<'_>,
    right: Right<'_>,
    buffer: &mut Buffer,
) -> bool {
    let (inner, rows) = a.sizes();
    assert!(inner.div_ceil(2) == right.depth, "depths {inner} and {}", right.depth);
    assert!(fits(out.len(), rows, right.cols, stride), "{rows}x{} in {}", right.cols, out.len());
    // Follows the packing of the right operand, whatever the limit is now.
    let by_tiles = right.columns == LANES && Isa::found() == Isa::Amx;
    if !by_tiles {
        return false;
    }
    let columns = buffer.hold(BLOCK * right.depth);
    // SAFETY: `Isa::found` is AMX, and with it AVX512_BF16; `columns` holds 32 columns of `depth` lanes, `out`
    // `rows x right.cols`, asserted above.
    unsafe { tiles::transposed(a, &right, columns, out.as_mut_ptr(), stride) }
}

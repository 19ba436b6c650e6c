//! The matrix product by AVX-512, in single precision or in bf16 with single-precision sums.
//!
//! Both operands are made of lanes of 32 bits (see [`super::pack`]), so one kernel multiplies both. Of `a`
//! it broadcasts a lane at a time, of `b` it reads vectors of 16 columns; the sums stay in registers.
#![allow(unsafe_code)]

use super::pack::{LANES, Left, PANEL, Right};
use super::{Arithmetic, Into, fits, tiles};
use std::arch::x86_64::*;

/// How the kernel multiplies a lane.
trait Format {
    /// `sum + a * b`, lane by lane.
    ///
    /// # Safety
    /// The caller is compiled for, and runs on, a CPU with the features of this format.
    unsafe fn multiply(sum: __m512, a: __m512i, b: __m512i) -> __m512;
}

struct Single;
struct Half;

impl Format for Single {
    #[inline(always)]
    unsafe fn multiply(sum: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: AVX-512F, by the contract of the trait.
        unsafe { _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), sum) }
    }
}

impl Format for Half {
    #[inline(always)]
    unsafe fn multiply(sum: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: AVX512_BF16, by the contract of the trait; all these types are 64 plain bytes.
        unsafe {
            let halves = |lanes| std::mem::transmute::<__m512i, __m512bh>(lanes);
            _mm512_dpbf16_ps(sum, halves(a), halves(b))
        }
    }
}

/// One product: the operands, the destination and what becomes of it.
pub(super) struct Task<'a> {
    pub left: Left<'a>,
    pub right: Right<'a>,
    pub out: *mut f32,
    pub stride: usize,
    pub scale: f32,
    /// What is added to each row, and how far apart its rows are; null: nothing.
    pub base: *const f32,
    pub base_row: usize,
}

/// `MR` rows and `NR` vectors of columns; of the last vector only `mask`'s columns are written.
///
/// # Safety
/// The task has `MR` rows from `first_row` on and `NR` vectors of columns from `first_col` on, which begin
/// at `b`; the CPU has the format's features.
#[inline(always)]
unsafe fn tile<F: Format, const MR: usize, const NR: usize>(
    task: &Task<'_>,
    (first_row, first_col): (usize, usize),
    mut b: *const u32,
    mask: __mmask16,
) {
    let (row, a_step, b_step) = (task.left.row, task.left.step, task.right.step);
    let mut a = task.left.data.as_ptr().wrapping_add(first_row * row);
    // SAFETY: by this function's contract; `wrapping_add` because the last step leads past the end.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); NR]; MR];
        for _ in 0..task.left.depth {
            let mut columns = [_mm512_setzero_si512(); NR];
            for (j, columns) in columns.iter_mut().enumerate() {
                *columns = _mm512_loadu_si512(b.add(j * LANES).cast());
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let x = _mm512_set1_epi32((*a.add(i * row)).cast_signed());
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = F::multiply(*sum, x, column);
                }
            }
            a = a.wrapping_add(a_step);
            b = b.wrapping_add(b_step);
        }
        let scale = _mm512_set1_ps(task.scale);
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                let mask = if j + 1 == NR { mask } else { !0 };
                let (i, j) = (first_row + i, first_col + j * LANES);
                let value = if task.base.is_null() {
                    _mm512_mul_ps(*sum, scale)
                } else {
                    let base = _mm512_maskz_loadu_ps(mask, task.base.add(i * task.base_row + j));
                    _mm512_fmadd_ps(*sum, scale, base)
                };
                _mm512_mask_storeu_ps(task.out.add(i * task.stride + j), mask, value);
            }
        }
    }
}

/// The rows of one panel of `NR` vectors from `i` on: `MR` at a time, then 4, then one by one.
///
/// # Safety
/// As [`tile`], for every row of the left operand.
#[inline(always)]
unsafe fn panel<F: Format, const MR: usize, const NR: usize>(
    task: &Task<'_>,
    (mut i, col): (usize, usize),
    b: *const u32,
    mask: __mmask16,
) {
    let rows = task.left.rows;
    // SAFETY: `i` stays below `rows`; the rest is the caller's contract.
    unsafe {
        while i + MR <= rows {
            tile::<F, MR, NR>(task, (i, col), b, mask);
            i += MR;
        }
        while i + 4 <= rows {
            tile::<F, 4, NR>(task, (i, col), b, mask);
            i += 4;
        }
        while i < rows {
            tile::<F, 1, NR>(task, (i, col), b, mask);
            i += 1;
        }
    }
}

/// All rows from `row` on.
///
/// # Safety
/// As [`tile`], for these rows and all columns.
#[inline(always)]
unsafe fn product<F: Format>(task: &Task<'_>, row: usize) {
    for col in (0..task.right.cols).step_by(PANEL) {
        let cols = (task.right.cols - col).min(PANEL);
        let vectors = cols.div_ceil(LANES);
        let mask = !0 >> (vectors * LANES - cols);
        // SAFETY: `col` is below `cols`; the rest is the caller's contract.
        unsafe {
            let b = task.right.data.as_ptr().add(col / PANEL * task.right.panel);
            // 16 to 24 sums: enough to hide the latency of a product, few enough for 32 registers.
            match vectors {
                1 => panel::<F, 16, 1>(task, (row, col), b, mask),
                2 => panel::<F, 8, 2>(task, (row, col), b, mask),
                3 => panel::<F, 8, 3>(task, (row, col), b, mask),
                _ => panel::<F, 6, 4>(task, (row, col), b, mask),
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn product_single(task: &Task<'_>) {
    // SAFETY: the caller's contract is `product`'s.
    unsafe { product::<Single>(task, 0) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn product_half(task: &Task<'_>, row: usize) {
    // SAFETY: the caller's contract is `product`'s.
    unsafe { product::<Half>(task, row) }
}

/// `out = scale * left * right`, and `into`'s share; rows of `out` are `stride` apart.
///
/// # Panics
/// If the operands differ in depth or arithmetic or `out` is too small: a fault of the caller's shapes.
pub(super) fn multiply(
    out: &mut [f32],
    stride: usize,
    into: Into<'_>,
    scale: f32,
    left: Left<'_>,
    right: Right<'_>,
) {
    let (rows, cols) = (left.rows, right.cols);
    assert!(left.depth == right.depth, "depths {} and {}", left.depth, right.depth);
    assert!(left.arithmetic == right.arithmetic, "operands of two arithmetics");
    assert!(fits(out.len(), rows, cols, stride), "{rows}x{cols} in {}", out.len());
    let arithmetic = left.arithmetic;
    let out = out.as_mut_ptr();
    let (base, base_row) = match into {
        Into::Replace => (std::ptr::null(), 0),
        Into::Add => (out.cast_const(), stride),
        Into::Bias(bias) => {
            assert!(bias.len() >= cols, "bias of {} for {cols} columns", bias.len());
            (bias.as_ptr(), 0)
        }
    };
    let task = Task { left, right, out, stride, scale, base, base_row };
    // SAFETY: the makers of `Left` and `Right` checked that their lanes hold `rows x depth` and `depth x
    // cols`, the latter in whole vectors, and that the CPU has the arithmetic's features; `out` was checked
    // above and is exclusively borrowed; `base` is null, `out` itself or a bias checked above.
    unsafe {
        match arithmetic {
            Arithmetic::Single => product_single(&task),
            Arithmetic::Bf16 => {
                let done = if tiles::available() { tiles::product(&task) } else { 0 };
                if done < rows {
                    product_half(&task, done);
                }
            }
        }
    }
}

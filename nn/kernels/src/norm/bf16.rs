//! Element-wise and row-wise work between the products of a training step, by AVX-512, one pass each and
//! rounded to bf16 on the way. The references are in [`crate::norm`] and [`crate::ops`].

use super::moments::Moments;
use super::squared_relu::slope;
use crate::ops::Normed;
use crate::simd::avx512::{LANES, bf16_to_f32, f32_to_bf16};
use crate::simd::horizontal::{EIGHT, broadcast8, reduce8};
use std::arch::x86_64::*;

/// bf16 per vector: row lengths are multiples of this.
const PAIR: usize = 2 * LANES;

/// Whether the CPU has AVX512_BF16 and rows of `columns` bf16 fill vectors.
pub fn supports(columns: usize) -> bool {
    crate::isa::bf16() && columns.is_multiple_of(PAIR)
}

/// The number of rows, `columns` long; panics unless they are whole and `to` has room for them as bf16.
fn rows(columns: usize, x: &[f32], to: &[u32]) -> usize {
    assert!(supports(columns), "rows of {columns}");
    let rows = x.len() / columns;
    assert!(rows * columns == x.len() && 2 * to.len() >= x.len(), "{rows} rows of {columns}");
    rows
}

/// Writes rows of `x` as bf16 to `to` and adds their column sums to `sums`, `[columns]`.
///
/// # Panics
/// If [`supports`] is false for the columns or there is no room: a fault of the caller.
pub fn sum(x: &[f32], to: &mut [u32], sums: &mut [f32]) {
    let rows = rows(sums.len(), x, to);
    // SAFETY: `rows` asserted AVX512_BF16, whole rows of `sums.len()` floats, a multiple of 32, and room for
    // them in `to`.
    unsafe { sum_rows(x, to, sums, rows) }
}

/// Squared ReLU's gradient: from `x`, the gradient of its output, and `squares`, the output, to the gradient of
/// its input; rounded and summed as in [`sum`].
///
/// # Panics
/// As [`sum`], or if there are fewer squares: a fault of the caller.
pub fn sum_slopes(x: &[f32], squares: &[u32], to: &mut [u32], sums: &mut [f32]) {
    let rows = rows(sums.len(), x, to);
    assert!(2 * squares.len() >= x.len(), "{} squares", 2 * squares.len());
    // SAFETY: `rows` asserted AVX512_BF16, whole rows of `sums.len()` floats, a multiple of 32, and room for
    // them in `to`; `squares` has as many.
    unsafe { sum_slopes_of_rows(x, squares, to, sums, rows) }
}

/// Writes squared ReLUs as bf16 to `to`.
///
/// # Panics
/// If they do not fill vectors, there is no room, or the CPU has no bf16: a fault of the caller.
pub fn square(x: &[f32], to: &mut [u32]) {
    rows(x.len(), x, to);
    // SAFETY: `rows` asserted AVX512_BF16, a multiple of 32 floats and room for as many bf16 in `to`.
    unsafe { square_rows(x, to) }
}

/// Kept by a normalisation for its gradient.
pub struct KeptRows<'a> {
    /// Normalised rows (mean 0, variance 1), bf16.
    pub unit: &'a mut [u32],
    /// 1 / standard deviation of each row.
    pub scale: &'a mut [f32],
}

/// Normalises rows of `x` as [`layer_norm`](crate::ops::layer_norm) does, and writes them as bf16 to `to`.
///
/// # Panics
/// As [`sum`], or if `kept` has fewer rows, or their number is no multiple of eight: a fault of the caller.
pub fn norm(x: &[f32], gamma: &[f32], beta: &[f32], mut kept: KeptRows<'_>, to: &mut [u32]) {
    let rows = rows(gamma.len(), x, to);
    assert!(rows.is_multiple_of(EIGHT) && beta.len() == gamma.len(), "{rows} rows");
    assert!(2 * kept.unit.len() >= x.len() && kept.scale.len() >= rows, "room for {rows} rows");
    for row in (0..rows).step_by(EIGHT) {
        // SAFETY: `rows` asserted AVX512_BF16 (with F/BW/DQ); eight rows from `row` on lie in `x`, `to` and
        // `kept`, `gamma` and `beta` are one row long, a multiple of 32.
        unsafe { norm_rows(row, x, gamma, beta, &mut kept, to) }
    }
}

/// [`layer_norm_backward`](crate::ops::layer_norm_backward): adds to `dx`, `dgamma` and `dbeta`.
///
/// # Panics
/// As [`norm`].
pub fn norm_backward(
    dout: &[f32],
    normed: Normed<'_, u32>,
    dx: &mut [f32],
    dgamma: &mut [f32],
    dbeta: &mut [f32],
) {
    let width = normed.gamma.len();
    let rows = rows(width, dout, normed.unit);
    assert!(rows.is_multiple_of(EIGHT) && normed.scale.len() >= rows, "{rows} rows");
    assert!(dx.len() >= dout.len() && dgamma.len() == width && dbeta.len() == width, "room");
    for row in (0..rows).step_by(EIGHT) {
        // SAFETY: `rows` asserted AVX512_BF16 (with F/BW/DQ); eight rows from `row` on lie in `dout`, `unit`,
        // `scale` and `dx`; `gamma`, `dgamma` and `dbeta` are one row long, a multiple of 32.
        unsafe { norm_rows_backward(row, dout, normed, dx, dgamma, dbeta) }
    }
}

/// # Safety
/// There are 16 floats from `at` on; the CPU has AVX-512.
#[inline(always)]
unsafe fn load(x: &[f32], at: usize) -> __m512 {
    // SAFETY: AVX-512F; 16 floats lie at `at`.
    unsafe { _mm512_loadu_ps(x.as_ptr().add(at)) }
}

/// Writes two adjacent vectors as bf16 to element `at`.
///
/// # Safety
/// There is room for them in `to`; the CPU has AVX512_BF16.
#[inline(always)]
unsafe fn store([low, high]: [__m512; 2], to: *mut u32, at: usize) {
    // SAFETY: AVX512_BF16; 16 lanes fit at `to` from element `at` on.
    unsafe { _mm512_storeu_si512(to.add(at / 2).cast(), f32_to_bf16(low, high)) }
}

/// Writes `of(place)`, 16 floats, for each vector of `rows` rows, `columns` long, as bf16 to `to`, rows
/// `stride` bf16 apart, and adds the column sums to `sums`: 32 columns at a time.
///
/// # Safety
/// `to` has room for the rows, a multiple of 32 long, and `sums` for one; the CPU has AVX512_BF16 and what `of`
/// needs.
#[inline(always)]
pub(crate) unsafe fn sum_all(
    (to, stride): (*mut u32, usize),
    sums: *mut f32,
    (rows, columns): (usize, usize),
    of: impl Fn(usize) -> __m512,
) {
    for column in (0..columns).step_by(PAIR) {
        // SAFETY: AVX512_BF16; `column + 32 <= columns`, so the sums and 32 bf16 of each row, `stride` apart,
        // exist.
        unsafe {
            let places = [sums.add(column), sums.add(column + LANES)];
            let mut totals = places.map(|place| _mm512_loadu_ps(place));
            for row in 0..rows {
                let at = row * columns + column;
                let pair = [of(at), of(at + LANES)];
                store(pair, to, row * stride + column);
                totals = [_mm512_add_ps(totals[0], pair[0]), _mm512_add_ps(totals[1], pair[1])];
            }
            for (place, total) in places.into_iter().zip(totals) {
                _mm512_storeu_ps(place, total);
            }
        }
    }
}

/// # Safety
/// As [`sum_all`]; `x` has the rows.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn sum_rows(x: &[f32], to: &mut [u32], sums: &mut [f32], rows: usize) {
    // SAFETY: the enabled AVX-512 F/BW/BF16; `x` and `to` hold `rows` rows of `sums.len()`, a multiple of 32.
    unsafe {
        let (columns, to) = (sums.len(), to.as_mut_ptr());
        sum_all((to, columns), sums.as_mut_ptr(), (rows, columns), |at| load(x, at));
    }
}

/// # Safety
/// As [`sum_all`]; `x` and `squares` have the rows.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16,fma")]
unsafe fn sum_slopes_of_rows(
    x: &[f32],
    squares: &[u32],
    to: &mut [u32],
    sums: &mut [f32],
    rows: usize,
) {
    // SAFETY: the enabled AVX-512 F/BW/BF16; `x`, `squares` and `to` hold `rows` rows of `sums.len()`, a
    // multiple of 32.
    unsafe {
        let (columns, to) = (sums.len(), to.as_mut_ptr());
        sum_all((to, columns), sums.as_mut_ptr(), (rows, columns), |at| {
            _mm512_mul_ps(load(x, at), slope(bf16_to_f32(squares.as_ptr().add(at / 2))))
        });
    }
}

/// # Safety
/// `to` has room for as many bf16 as `x` has floats, a multiple of 32; the CPU has AVX512_BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn square_rows(x: &[f32], to: &mut [u32]) {
    for at in (0..x.len()).step_by(PAIR) {
        // SAFETY: the enabled AVX-512 F/BW/BF16; `at + 32 <= x.len()`, and `to` has room for as many bf16.
        unsafe {
            let pair = [at, at + LANES].map(|at| {
                let positive = _mm512_max_ps(load(x, at), _mm512_setzero_ps());
                _mm512_mul_ps(positive, positive)
            });
            store(pair, to.as_mut_ptr(), at);
        }
    }
}

/// Normalises eight rows from `first` on.
///
/// # Safety
/// The rows exist in `x`, `kept` and `to`, as long as `gamma` and `beta`, a multiple of 32; the CPU has
/// AVX512_BF16 and AVX-512 DQ.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
unsafe fn norm_rows(
    first: usize,
    x: &[f32],
    gamma: &[f32],
    beta: &[f32],
    kept: &mut KeptRows<'_>,
    to: &mut [u32],
) {
    let width = gamma.len();
    // SAFETY: the enabled AVX-512 F/BW/DQ/BF16; rows `first..first + 8` of `width`, a multiple of 32, exist
    // everywhere, and `at + 32 <= width`.
    unsafe {
        let Moments { means, deviations } = Moments::of(x.as_ptr().add(first * width), width);
        let rows = broadcast8(means).into_iter().zip(broadcast8(deviations));
        for (row, (mean, deviation)) in (first..).zip(rows) {
            *kept.scale.get_unchecked_mut(row) = _mm512_cvtss_f32(deviation);
            for at in (0..width).step_by(PAIR) {
                let unit = [at, at + LANES].map(|at| {
                    _mm512_mul_ps(_mm512_sub_ps(load(x, row * width + at), mean), deviation)
                });
                let normed = [0, 1].map(|i| {
                    let at = at + i * LANES;
                    _mm512_fmadd_ps(unit[i], load(gamma, at), load(beta, at))
                });
                store(unit, kept.unit.as_mut_ptr(), row * width + at);
                store(normed, to.as_mut_ptr(), row * width + at);
            }
        }
    }
}

/// Gradient of eight rows from `first` on.
///
/// # Safety
/// As [`norm_rows`], for `dout`, `normed`, `dx`, `dgamma` and `dbeta`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
unsafe fn norm_rows_backward(
    first: usize,
    dout: &[f32],
    normed: Normed<'_, u32>,
    dx: &mut [f32],
    dgamma: &mut [f32],
    dbeta: &mut [f32],
) {
    let Normed { gamma, unit, scale } = normed;
    let width = gamma.len();
    // SAFETY: the enabled AVX-512 F/BW/DQ/BF16; rows `first..first + 8` of `width`, a multiple of 16, exist in
    // `dout`, `unit`, `scale` and `dx`; `gamma`, `dgamma` and `dbeta` are `width` long.
    unsafe {
        let unit = |row: usize, at: usize| {
            bf16_to_f32(unit.as_ptr().add(((first + row) * width + at) / 2))
        };
        let dout = |row: usize, at: usize| load(dout, (first + row) * width + at);
        let (mut means, mut slopes) = ([_mm512_setzero_ps(); EIGHT], [_mm512_setzero_ps(); EIGHT]);
        for at in (0..width).step_by(LANES) {
            let gamma = load(gamma, at);
            let (mut dg, mut db) = (load(dgamma, at), load(dbeta, at));
            for (row, (mean, slope)) in means.iter_mut().zip(&mut slopes).enumerate() {
                let (d, unit) = (dout(row, at), unit(row, at));
                dg = _mm512_fmadd_ps(d, unit, dg);
                db = _mm512_add_ps(d, db);
                let d = _mm512_mul_ps(d, gamma);
                *mean = _mm512_add_ps(*mean, d);
                *slope = _mm512_fmadd_ps(d, unit, *slope);
            }
            _mm512_storeu_ps(dgamma.as_mut_ptr().add(at), dg);
            _mm512_storeu_ps(dbeta.as_mut_ptr().add(at), db);
        }
        let share = _mm512_set1_ps((width as f32).recip());
        let [means, slopes] = [means, slopes].map(|sums| {
            broadcast8(
                reduce8(sums, |a, b| _mm512_add_ps(a, b)).map(|sums| _mm512_mul_ps(sums, share)),
            )
        });
        for row in 0..EIGHT {
            let scale = _mm512_set1_ps(*scale.get_unchecked(first + row));
            for at in (0..width).step_by(LANES) {
                let d = _mm512_fmsub_ps(dout(row, at), load(gamma, at), means[row]);
                let d = _mm512_fnmadd_ps(unit(row, at), slopes[row], d);
                let to = dx.as_mut_ptr().add((first + row) * width + at);
                _mm512_storeu_ps(to, _mm512_fmadd_ps(d, scale, _mm512_loadu_ps(to)));
            }
        }
    }
}

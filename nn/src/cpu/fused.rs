//! What a training step does between its products, by AVX-512, in one pass each and into halves (bf16): what goes into the next
//! product is rounded while it is made. [`super::rows`] and [`super::ops`] have the twins.
#![allow(unsafe_code)]

use super::matmul::{floats, halves};
use super::moments::Moments;
use super::quarters::{EIGHT, all, apart};
use super::rows::{Normed, slope};
use std::arch::x86_64::*;

/// Floats of a vector.
const LANES: usize = 16;
/// Columns of a vector of halves: rows are as long as a multiple of this.
const PAIR: usize = 2 * LANES;

/// Whether the CPU has bf16, and rows of so many halves fill vectors.
pub(super) fn takes(columns: usize) -> bool {
    super::isa::bf16() && columns.is_multiple_of(PAIR)
}

/// Rows of halves that are `columns` long.
fn rows(columns: usize, x: &[f32], to: &[u32]) -> usize {
    assert!(takes(columns), "rows of {columns}");
    let rows = x.len() / columns;
    assert!(rows * columns == x.len() && 2 * to.len() >= x.len(), "{rows} rows of {columns}");
    rows
}

/// Writes rows of `x` as halves to `to` and adds them up in `sums`, which is as long as one.
///
/// # Panics
/// If [`takes`] says no, or there is no room: a fault of the caller.
pub(super) fn sum(x: &[f32], to: &mut [u32], sums: &mut [f32]) {
    let rows = rows(sums.len(), x, to);
    // SAFETY: the CPU has the instructions, and there are such rows.
    unsafe { sum_rows(x, to, sums, rows) }
}

/// The same of a squared ReLU's gradient by its input, from that by its output, `x`, and the output.
///
/// # Panics
/// As [`sum`], or if there are fewer squares: a fault of the caller.
pub(super) fn sum_slopes(x: &[f32], squares: &[u32], to: &mut [u32], sums: &mut [f32]) {
    let rows = rows(sums.len(), x, to);
    assert!(2 * squares.len() >= x.len(), "{} squares", 2 * squares.len());
    // SAFETY: the CPU has the instructions, and there are such rows.
    unsafe { sum_slopes_of_rows(x, squares, to, sums, rows) }
}

/// Writes squared ReLUs as halves to `to`.
///
/// # Panics
/// If they do not fill vectors, there is no room, or the CPU has no bf16: a fault of the caller.
pub(super) fn square(x: &[f32], to: &mut [u32]) {
    rows(x.len(), x, to);
    // SAFETY: the CPU has the instructions, and there are such rows.
    unsafe { square_rows(x, to) }
}

/// What of a normalisation's rows is kept for its gradient.
pub(super) struct Kept<'a> {
    /// With mean 0 and variance 1, halves.
    pub unit: &'a mut [u32],
    /// One over each row's deviation.
    pub scale: &'a mut [f32],
}

/// Normalises rows of `x` as [`layer_norm`](super::ops::layer_norm) does, and writes them as halves to `to`.
///
/// # Panics
/// As [`sum`], or if rows are missing from what is kept, or do not go eight by eight: a fault of the caller.
pub(super) fn norm(x: &[f32], gamma: &[f32], beta: &[f32], mut kept: Kept<'_>, to: &mut [u32]) {
    let rows = rows(gamma.len(), x, to);
    assert!(rows.is_multiple_of(EIGHT) && beta.len() == gamma.len(), "{rows} rows");
    assert!(2 * kept.unit.len() >= x.len() && kept.scale.len() >= rows, "room for {rows} rows");
    for row in (0..rows).step_by(EIGHT) {
        // SAFETY: the CPU has the instructions, and there are eight rows.
        unsafe { norm_rows(row, x, gamma, beta, &mut kept, to) }
    }
}

/// [`layer_norm_backward`](super::ops::layer_norm_backward): adds to `dx`, `dgamma` and `dbeta`.
///
/// # Panics
/// As [`norm`].
pub(super) fn norm_backward(
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
        // SAFETY: the CPU has the instructions, and there are eight rows.
        unsafe { norm_rows_backward(row, dout, normed, dx, dgamma, dbeta) }
    }
}

/// # Safety
/// There are 16 floats from `at` on; the CPU has AVX-512.
#[inline(always)]
unsafe fn load(x: &[f32], at: usize) -> __m512 {
    // SAFETY: this function's contract.
    unsafe { _mm512_loadu_ps(x.as_ptr().add(at)) }
}

/// Writes two vectors side by side as halves, where float `at` goes.
///
/// # Safety
/// There is room for them in `to`; the CPU has AVX512_BF16.
#[inline(always)]
unsafe fn store([low, high]: [__m512; 2], to: *mut u32, at: usize) {
    // SAFETY: this function's contract.
    unsafe { _mm512_storeu_si512(to.add(at / 2).cast(), halves(low, high)) }
}

/// Writes what `of` makes of every 16 places of rows that are `columns` long as halves to `to`, rows `stride` halves apart there, and adds the
/// rows up in `sums`, 32 columns after the others.
///
/// # Safety
/// There are so many rows, a multiple of 32 long, and as many sums; the CPU has AVX512_BF16 and what `of` asks for.
#[inline(always)]
pub(super) unsafe fn sum_all(
    (to, stride): (*mut u32, usize),
    sums: *mut f32,
    (rows, columns): (usize, usize),
    of: impl Fn(usize) -> __m512,
) {
    for column in (0..columns).step_by(PAIR) {
        // SAFETY: this function's contract.
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
    // SAFETY: this function's contract.
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
    // SAFETY: this function's contract.
    unsafe {
        let (columns, to) = (sums.len(), to.as_mut_ptr());
        sum_all((to, columns), sums.as_mut_ptr(), (rows, columns), |at| {
            _mm512_mul_ps(load(x, at), slope(floats(squares.as_ptr().add(at / 2))))
        });
    }
}

/// # Safety
/// As many floats as halves have room in `to`, a multiple of 32; the CPU has AVX512_BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn square_rows(x: &[f32], to: &mut [u32]) {
    for at in (0..x.len()).step_by(PAIR) {
        // SAFETY: this function's contract.
        unsafe {
            let pair = [at, at + LANES].map(|at| {
                let positive = _mm512_max_ps(load(x, at), _mm512_setzero_ps());
                _mm512_mul_ps(positive, positive)
            });
            store(pair, to.as_mut_ptr(), at);
        }
    }
}

/// Eight rows from `first` on.
///
/// # Safety
/// There are such rows everywhere, as long as `gamma` and `beta`, a multiple of 32; the CPU has AVX512_BF16 and AVX-512 DQ.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
unsafe fn norm_rows(
    first: usize,
    x: &[f32],
    gamma: &[f32],
    beta: &[f32],
    kept: &mut Kept<'_>,
    to: &mut [u32],
) {
    let width = gamma.len();
    // SAFETY: this function's contract; `at` goes to the width in whole vectors.
    unsafe {
        let Moments { means, deviations } = Moments::of(x.as_ptr().add(first * width), width);
        let rows = apart(means).into_iter().zip(apart(deviations));
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

/// Eight rows from `first` on.
///
/// # Safety
/// As [`norm_rows`].
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
    // SAFETY: this function's contract; `at` goes to the width in whole vectors.
    unsafe {
        let unit =
            |row: usize, at: usize| floats(unit.as_ptr().add(((first + row) * width + at) / 2));
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
            apart(all(sums, |a, b| _mm512_add_ps(a, b)).map(|sums| _mm512_mul_ps(sums, share)))
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

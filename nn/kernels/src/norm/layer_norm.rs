//! Layer normalisation of rows of floats and its gradient by AVX-512 where the CPU has it, and for a few rows by any
//! [`Vector`]. The compiler does not vectorise the row sums of [`ops`]'s plain loops, which are the references.

use crate::isa::Isa;
use crate::ops::{self, Normed};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::simd::Vector;
#[cfg(target_arch = "x86_64")]
use crate::simd::avx512::LANES;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// [`ops::layer_norm`].
///
/// # Panics
/// If `unit`, `scale` or `out` is shorter than `x` asks: a fault of the caller.
pub fn layer_norm(
    isa: Isa,
    x: &[f32],
    gamma: &[f32],
    beta: &[f32],
    unit: &mut [f32],
    scale: &mut [f32],
    out: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if gamma.len().is_multiple_of(LANES) && isa.available() >= Isa::Avx512 {
        let rows = x.len() / gamma.len();
        assert!(beta.len() == gamma.len() && scale.len() >= rows, "rows of another width");
        assert!(unit.len() >= x.len() && out.len() >= x.len(), "{} floats", x.len());
        // SAFETY: `Isa::available` found AVX-512F; `x`, `unit` and `out` hold `rows` rows of `gamma.len()`, a
        // multiple of 16, `scale` `rows`, `beta` one row: asserted above.
        unsafe { norm_rows(x, gamma, beta, unit, scale, out) };
        return;
    }
    ops::layer_norm(isa, x, gamma, beta, unit, scale, out);
}

/// # Safety
/// The CPU has AVX-512F; `gamma`'s length is a multiple of 16 and not zero, `beta` is as long, `unit` and
/// `out` are as long as `x`, `scale` has an entry for each row.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
unsafe fn norm_rows(
    x: &[f32],
    gamma: &[f32],
    beta: &[f32],
    unit: &mut [f32],
    scale: &mut [f32],
    out: &mut [f32],
) {
    let width = gamma.len();
    let share = (width as f32).recip();
    for (row, scale) in (0..x.len() / width).zip(scale) {
        let start = row * width;
        // SAFETY: the enabled AVX-512F; `start + i + 16 <= x.len()` for each `i` below `width` in steps of 16;
        // `unit` and `out` are as long, `gamma` and `beta` `width` long.
        unsafe {
            let at = |i: usize| _mm512_loadu_ps(x.as_ptr().add(start + i));
            let mut sum = _mm512_setzero_ps();
            for i in (0..width).step_by(LANES) {
                sum = _mm512_add_ps(sum, at(i));
            }
            let mean = _mm512_set1_ps(_mm512_reduce_add_ps(sum) * share);
            let mut squares = _mm512_setzero_ps();
            for i in (0..width).step_by(LANES) {
                let d = _mm512_sub_ps(at(i), mean);
                squares = _mm512_fmadd_ps(d, d, squares);
            }
            *scale = 1.0 / (_mm512_reduce_add_ps(squares) * share + ops::EPSILON).sqrt();
            let factor = _mm512_set1_ps(*scale);
            for i in (0..width).step_by(LANES) {
                let value = _mm512_mul_ps(_mm512_sub_ps(at(i), mean), factor);
                _mm512_storeu_ps(unit.as_mut_ptr().add(start + i), value);
                let gamma = _mm512_loadu_ps(gamma.as_ptr().add(i));
                let beta = _mm512_loadu_ps(beta.as_ptr().add(i));
                let value = _mm512_fmadd_ps(value, gamma, beta);
                _mm512_storeu_ps(out.as_mut_ptr().add(start + i), value);
            }
        }
    }
}

/// Rows per call of [`norm_rows_backward`].
#[cfg(target_arch = "x86_64")]
const ROWS_PER_CALL: usize = 4;

/// [`ops::layer_norm_backward`].
///
/// # Panics
/// If the slices are not as long as `dout` asks: a fault of the caller.
pub fn layer_norm_backward(
    isa: Isa,
    dout: &[f32],
    normed: Normed<'_>,
    dx: &mut [f32],
    dgamma: &mut [f32],
    dbeta: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if normed.gamma.len().is_multiple_of(LANES) && isa.available() >= Isa::Avx512 {
        let Normed { gamma, unit, scale } = normed;
        let (width, rows) = (gamma.len(), dout.len() / gamma.len());
        assert!(dgamma.len() == width && dbeta.len() == width, "rows of another width");
        let len = rows * width;
        assert!(unit.len() >= len && dx.len() >= len && scale.len() >= rows, "{len} floats");
        let whole = rows / ROWS_PER_CALL * ROWS_PER_CALL;
        // SAFETY: `Isa::available` found AVX-512F; `dout`, `unit` and `dx` hold `rows` rows of `width`, a multiple
        // of 16, `scale` `rows`, `dgamma` and `dbeta` one row: asserted above.
        unsafe {
            for row in (0..whole).step_by(ROWS_PER_CALL) {
                norm_rows_backward::<ROWS_PER_CALL>(row, dout, normed, dx, dgamma, dbeta);
            }
            for row in whole..rows {
                norm_rows_backward::<1>(row, dout, normed, dx, dgamma, dbeta);
            }
        }
        return;
    }
    ops::layer_norm_backward(isa, dout, normed, dx, dgamma, dbeta);
}

/// Gradient of `R` rows from `first` on.
///
/// # Safety
/// The CPU has AVX-512F; `gamma`, `dgamma` and `dbeta` are one row long, a multiple of 16; rows `first..first +
/// R` exist in `dout`, `unit`, `scale` and `dx`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
unsafe fn norm_rows_backward<const R: usize>(
    first: usize,
    dout: &[f32],
    normed: Normed<'_>,
    dx: &mut [f32],
    dgamma: &mut [f32],
    dbeta: &mut [f32],
) {
    let width = normed.gamma.len();
    let share = (width as f32).recip();
    let mut sums = [[_mm512_setzero_ps(); 2]; R];
    // SAFETY: the enabled AVX-512F; `i + 16 <= width`; rows `first..first + R` exist in `dout`, `unit`, `scale`
    // and `dx`.
    unsafe {
        let load = |x: &[f32], row: usize, i: usize| {
            _mm512_loadu_ps(x.as_ptr().add((first + row) * width + i))
        };
        for i in (0..width).step_by(LANES) {
            let gamma = _mm512_loadu_ps(normed.gamma.as_ptr().add(i));
            let mut slopes = _mm512_loadu_ps(dgamma.as_ptr().add(i));
            let mut shifts = _mm512_loadu_ps(dbeta.as_ptr().add(i));
            for (row, [mean, slope]) in sums.iter_mut().enumerate() {
                let (d, unit) = (load(dout, row, i), load(normed.unit, row, i));
                slopes = _mm512_fmadd_ps(d, unit, slopes);
                shifts = _mm512_add_ps(d, shifts);
                let d = _mm512_mul_ps(d, gamma);
                *mean = _mm512_add_ps(*mean, d);
                *slope = _mm512_fmadd_ps(d, unit, *slope);
            }
            _mm512_storeu_ps(dgamma.as_mut_ptr().add(i), slopes);
            _mm512_storeu_ps(dbeta.as_mut_ptr().add(i), shifts);
        }
        for (row, sums) in sums.into_iter().enumerate() {
            let [mean, slope] = sums.map(|sum| _mm512_set1_ps(_mm512_reduce_add_ps(sum) * share));
            let scale = _mm512_set1_ps(*normed.scale.get_unchecked(first + row));
            for i in (0..width).step_by(LANES) {
                let gamma = _mm512_loadu_ps(normed.gamma.as_ptr().add(i));
                let d = _mm512_fmsub_ps(load(dout, row, i), gamma, mean);
                let d = _mm512_fnmadd_ps(load(normed.unit, row, i), slope, d);
                let to = dx.as_mut_ptr().add((first + row) * width + i);
                _mm512_storeu_ps(to, _mm512_fmadd_ps(d, scale, _mm512_loadu_ps(to)));
            }
        }
    }
}

/// The sum of `x`, or of the squares of `x - mean`.
///
/// # Safety
/// As [`normalise`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
unsafe fn total<V: Vector, const SQUARES: bool>(x: &[f32], mean: V) -> f32 {
    // SAFETY: the CPU has `V`'s instructions; `x.len()` is a multiple of `LEN`, so every load ends inside.
    unsafe {
        // Four sums hide the latency of one.
        let mut sums = [V::all(0.0); 4];
        let mut add = |sum: usize, at: usize| {
            let x = V::load(x.as_ptr().add(at));
            let d = x.sub(mean);
            sums[sum] = if SQUARES { d.fma(d, sums[sum]) } else { x.add(sums[sum]) };
        };
        let whole = x.len() / (4 * V::LEN) * (4 * V::LEN);
        for at in (0..whole).step_by(4 * V::LEN) {
            for sum in 0..4 {
                add(sum, at + sum * V::LEN);
            }
        }
        for at in (whole..x.len()).step_by(V::LEN) {
            add(0, at);
        }
        sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum()
    }
}

/// Most rows that [`normalise`] takes.
pub(crate) const MAX_ROWS: usize = 16;

/// [`ops::layer_norm`] of a few rows, without the outputs for the gradient. Each step runs over all rows before
/// the next: row by row, each would wait for its own sums.
///
/// # Safety
/// As [`Vector`]; the length of `gamma` and `beta` is a multiple of a vector's, `x` has at most [`MAX_ROWS`] rows of
/// that length, and `out` is as long as `x`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) unsafe fn normalise<V: Vector>(x: &[f32], gamma: &[f32], beta: &[f32], out: &mut [f32]) {
    let (width, share) = (gamma.len(), (gamma.len() as f32).recip());
    let (mut means, mut scales) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
    // SAFETY: the CPU has `V`'s instructions; rows of `x` and `out`, `gamma` and `beta` are `width` long, a
    // multiple of `LEN`.
    unsafe {
        for (mean, x) in means.iter_mut().zip(x.chunks_exact(width)) {
            *mean = total::<V, false>(x, V::all(0.0)) * share;
        }
        for ((scale, mean), x) in scales.iter_mut().zip(means).zip(x.chunks_exact(width)) {
            let variance = total::<V, true>(x, V::all(mean)) * share;
            *scale = 1.0 / (variance + ops::EPSILON).sqrt();
        }
        let rows = x.chunks_exact(width).zip(out.chunks_exact_mut(width));
        for (((x, out), mean), scale) in rows.zip(means).zip(scales) {
            let (mean, scale) = (V::all(mean), V::all(scale));
            for at in (0..width).step_by(V::LEN) {
                let load = |from: &[f32]| V::load(from.as_ptr().add(at));
                let unit = load(x).sub(mean).mul(scale);
                unit.fma(load(gamma), load(beta)).store(out.as_mut_ptr().add(at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::norm::test_rows::{near, numbers};

    #[test]
    fn normalisation_agrees_with_the_plain_loops() {
        if !crate::isa::is_here(Isa::Avx512) {
            return;
        }
        for width in [16, 20, 64, 128] {
            let x = numbers(6 * width, 3.0);
            let (gamma, beta) = (numbers(width, 2.0), numbers(width, 1.0));
            let [mut unit, mut out, mut normalized2, mut out2] =
                [(); 4].map(|()| vec![0.0; x.len()]);
            let (mut scale, mut scale2) = ([0.0; 6], [0.0; 6]);
            layer_norm(Isa::found(), &x, &gamma, &beta, &mut unit, &mut scale, &mut out);
            ops::layer_norm(
                Isa::found(),
                &x,
                &gamma,
                &beta,
                &mut normalized2,
                &mut scale2,
                &mut out2,
            );
            near(&unit, &normalized2);
            near(&scale, &scale2);
            near(&out, &out2);
        }
    }

    #[test]
    fn gradients_of_normalisation_agree_with_the_plain_loops() {
        if !crate::isa::is_here(Isa::Avx512) {
            return;
        }
        for (width, rows) in [(16, 9), (20, 3), (128, 4), (64, 1)] {
            let (x, dout) = (numbers(rows * width, 3.0), numbers(rows * width + 5, 1.0));
            let (dout, gamma) = (&dout[5..], numbers(width, 2.0));
            let [mut unit, mut out] = [(); 2].map(|()| vec![0.0; x.len()]);
            let mut scale = vec![0.0; rows];
            ops::layer_norm(Isa::found(), &x, &gamma, &gamma, &mut unit, &mut scale, &mut out);
            let ways = [false, true].map(|plain| {
                let mut dx = numbers(x.len(), 0.5);
                let (mut dgamma, mut dbeta) = (numbers(width, 0.2), numbers(width, 0.3));
                let places = (&mut dx[..], &mut dgamma[..], &mut dbeta[..]);
                let normed = Normed { gamma: &gamma, unit: &unit, scale: &scale };
                if plain {
                    let (dx, dgamma, dbeta) = places;
                    ops::layer_norm_backward(Isa::found(), dout, normed, dx, dgamma, dbeta);
                } else {
                    layer_norm_backward(Isa::found(), dout, normed, places.0, places.1, places.2);
                }
                [dx, dgamma, dbeta].concat()
            });
            for (a, b) in ways[0].iter().zip(&ways[1]) {
                assert!((a - b).abs() < 1e-5 * (1.0 + b.abs()), "{a} against {b}");
            }
        }
    }
}

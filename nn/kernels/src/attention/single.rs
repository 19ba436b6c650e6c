//! Attention of one head in single precision, generic over the vector type: AVX2, AVX-512, NEON. Keys are transposed
//! once, so that a row of scores is a sum of rows of keys.

use super::head::Head;
use crate::TOKENS;
use crate::isa::Isa;
use crate::simd::{Vector, transpose_four};
#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m512};

/// A row of scores, aligned to a cache line: vectors that straddle two lines load at half the speed.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct ScoreLine([f32; TOKENS]);

/// Transposed keys: one row per channel.
#[derive(Default)]
pub(super) struct Keys(Vec<ScoreLine>);

/// See [`super::attend`].
///
/// # Safety
/// The lengths are as [`super::attend`] checks them; the CPU has `isa`, at least AVX2 with FMA or NEON; `dim`
/// is a multiple of two vectors (AVX) or four (NEON).
pub(super) unsafe fn attend(
    isa: Isa,
    head: &Head<'_>,
    keys: &mut Keys,
    out: &mut [f32],
    row: usize,
) {
    let keys = &mut keys.0;
    keys.resize(head.dim, ScoreLine([0.0; TOKENS]));
    // SAFETY: the CPU has `isa` and the lengths hold by this function's contract; `keys` has `dim` rows of 64
    // floats.
    unsafe {
        transpose(head, keys.as_mut_ptr().cast());
        #[cfg(target_arch = "x86_64")]
        match isa {
            Isa::Avx512 | Isa::Amx => wide(head, keys, out, row),
            _ => narrow(head, keys, out, row),
        }
        #[cfg(target_arch = "aarch64")]
        {
            let _ = isa;
            rows::<float32x4_t, 4, 4>(head, keys, out, row);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,fma")]
unsafe fn wide(head: &Head<'_>, keys: &[ScoreLine], out: &mut [f32], row: usize) {
    // SAFETY: AVX-512 F/DQ and FMA are enabled; the caller guarantees the lengths that `rows` asks for.
    unsafe { rows::<__m512, 4, 2>(head, keys, out, row) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn narrow(head: &Head<'_>, keys: &[ScoreLine], out: &mut [f32], row: usize) {
    // SAFETY: AVX2 and FMA are enabled; the caller guarantees the lengths that `rows` asks for.
    unsafe { rows::<__m256, 2, 2>(head, keys, out, row) }
}

/// Transposes the keys to `[dim, 64]` in blocks of 4 x 4.
///
/// # Safety
/// There are 64 rows of keys, a multiple of 4 long, and room for as many floats at `out`.
unsafe fn transpose(head: &Head<'_>, out: *mut f32) {
    let keys = head.qkv[1].as_ptr();
    for j in (0..TOKENS).step_by(4) {
        for d in (0..head.dim).step_by(4) {
            // SAFETY: SSE or NEON (baseline); rows `j..j + 4` and channels `d..d + 4` exist, and `out` is
            // `[dim, 64]`.
            unsafe {
                let from = keys.add(j * head.stride + d);
                transpose_four(from, head.stride, out.add(d * TOKENS + j), TOKENS);
            }
        }
    }
}

/// All 64 rows: six at a time, then the last four.
///
/// # Safety
/// As [`Vector`]; lengths are as [`super::attend`] checks them, `keys` are transposed, `dim` is a multiple of
/// `N` vectors and 64 of `M`.
#[inline(always)]
unsafe fn rows<V: Vector, const M: usize, const N: usize>(
    head: &Head<'_>,
    keys: &[ScoreLine],
    out: &mut [f32],
    row: usize,
) {
    let mut i = 0;
    // SAFETY: the CPU has `V`'s instructions; `i + 6 <= 64`, then `i + 4 == 64`, and `out` has 64 rows `row`
    // apart.
    unsafe {
        while i + 6 <= TOKENS {
            row_block::<V, 6, M, N>(head, keys, i, out.as_mut_ptr().add(i * row), row);
            i += 6;
        }
        row_block::<V, 4, M, N>(head, keys, i, out.as_mut_ptr().add(i * row), row);
    }
    const { assert!(TOKENS % 6 == 4) };
}

/// `R` rows from `first` on.
///
/// # Safety
/// As [`rows`]; there are such rows.
#[inline(always)]
unsafe fn row_block<V: Vector, const R: usize, const M: usize, const N: usize>(
    head: &Head<'_>,
    keys: &[ScoreLine],
    first: usize,
    out: *mut f32,
    row: usize,
) {
    let mut scores = [ScoreLine([0.0; TOKENS]); R];
    let mut shares = [0.0f32; R];
    // SAFETY: the CPU has `V`'s instructions; rows `first..first + R` exist in queries, biases and `out`; keys
    // are `[dim, 64]`, values 64 rows of `dim`; `scores` holds 64 floats a row.
    unsafe {
        let queries = head.qkv[0].as_ptr().add(first * head.stride);
        let scale = V::all((head.dim as f32).sqrt().recip());
        for col in (0..TOKENS).step_by(M * V::LEN) {
            let mut sums = [[V::all(0.0); M]; R];
            for d in 0..head.dim {
                let keys = keys.as_ptr().cast::<f32>().add(d * TOKENS + col);
                let mut columns = [V::load(keys); M];
                for (j, column) in columns.iter_mut().enumerate().skip(1) {
                    *column = V::load(keys.add(j * V::LEN));
                }
                for (i, sums) in sums.iter_mut().enumerate() {
                    let query = V::all(*queries.add(i * head.stride + d));
                    for (sum, column) in sums.iter_mut().zip(columns) {
                        *sum = query.fma(column, *sum);
                    }
                }
            }
            for (i, sums) in sums.into_iter().enumerate() {
                for (j, sum) in sums.into_iter().enumerate() {
                    let at = (first + i) * TOKENS + col + j * V::LEN;
                    let mut bias = V::load(head.bias.as_ptr().add(at));
                    if let Some(dynamic) = head.dynamic {
                        bias = bias.add(V::load(dynamic.as_ptr().add(at)));
                    }
                    sum.fma(scale, bias).store(scores[i].0.as_mut_ptr().add(col + j * V::LEN));
                }
            }
        }
        for (scores, share) in scores.iter_mut().zip(&mut shares) {
            *share = exponentials::<V>(&mut scores.0);
        }
        for col in (0..head.dim).step_by(N * V::LEN) {
            let values = head.qkv[2].as_ptr().add(col);
            let mut sums = [[V::all(0.0); N]; R];
            for k in 0..TOKENS {
                let values = values.add(k * head.stride);
                let mut columns = [V::load(values); N];
                for (j, column) in columns.iter_mut().enumerate().skip(1) {
                    *column = V::load(values.add(j * V::LEN));
                }
                for (sums, scores) in sums.iter_mut().zip(&scores) {
                    let weight = V::all(scores.0[k]);
                    for (sum, column) in sums.iter_mut().zip(columns) {
                        *sum = weight.fma(column, *sum);
                    }
                }
            }
            for (i, sums) in sums.into_iter().enumerate() {
                for (j, sum) in sums.into_iter().enumerate() {
                    sum.mul(V::all(shares[i])).store(out.add(i * row + col + j * V::LEN));
                }
            }
        }
    }
}

/// exp(score - row maximum) in place; returns the reciprocal of the sum.
///
/// # Safety
/// As [`Vector`].
#[inline(always)]
unsafe fn exponentials<V: Vector>(row: &mut [f32; TOKENS]) -> f32 {
    let row = row.as_mut_ptr();
    // SAFETY: the CPU has `V`'s instructions; 64 floats are a whole number of vectors.
    unsafe {
        let mut high = V::load(row);
        for at in (V::LEN..TOKENS).step_by(V::LEN) {
            high = high.max(V::load(row.add(at)));
        }
        let top = V::all(high.highest());
        let mut sum = V::all(0.0);
        for at in (0..TOKENS).step_by(V::LEN) {
            let e = V::load(row.add(at)).exp_below(top);
            e.store(row.add(at));
            sum = sum.add(e);
        }
        sum.sum().recip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    #[test]
    fn exp_of_vectors_is_close_to_the_library() {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,fma")]
        unsafe fn by_avx512(row: &mut [f32; TOKENS]) -> f32 {
            // SAFETY: AVX-512 F/DQ are enabled; the row has 64 floats.
            unsafe { exponentials::<__m512>(row) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn by_avx2(row: &mut [f32; TOKENS]) -> f32 {
            // SAFETY: AVX2 and FMA are enabled; the row has 64 floats.
            unsafe { exponentials::<__m256>(row) }
        }
        for (top, start) in
            [-20.0, 0.0, 20.0].into_iter().flat_map(|top| (0..136).map(move |s| (top, s)))
        {
            let mut row: [f32; TOKENS] =
                std::array::from_fn(|i| top - ((start * TOKENS + i) % 8700) as f32 / 100.0);
            row[0] = top;
            let inputs = row;
            // SAFETY: each kernel runs only where `Isa::found` found its instructions.
            let share = unsafe {
                match Isa::found() {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 | Isa::Amx => by_avx512(&mut row),
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => by_avx2(&mut row),
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => exponentials::<float32x4_t>(&mut row),
                    _ => return crate::isa::skipped("AVX2"),
                }
            };
            for (x, e) in inputs.iter().zip(&row) {
                let d = f64::from(*x) - f64::from(top);
                let error = (f64::from(*e) / d.exp() - 1.0).abs();
                let most = 3e-7 + 1.2e-7 * (d.abs() + f64::from(top.abs()));
                assert!(error < most, "exp({d}): {error}");
            }
            assert!((share * row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}

//! Softmax of rows of 64 attention scores by AVX-512 where the CPU has it. The reference is in [`ops`].

use crate::isa::Isa;
use crate::ops;
#[cfg(target_arch = "x86_64")]
use crate::simd::avx512::LANES;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// [`ops::attention_softmax`].
///
/// # Panics
/// If `bias` has fewer rows than `scores`: a fault of the caller.
pub fn attention_softmax(isa: Isa, scores: &mut [f32], bias: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    if isa.available() >= Isa::Avx512 {
        assert!(bias.len() >= scores.len(), "a bias of {} floats", bias.len());
        // SAFETY: `Isa::available` found AVX-512F; `bias` is at least as long as `scores`, asserted above.
        unsafe { softmax_rows(scores, bias) };
        return;
    }
    ops::attention_softmax(isa, scores, bias);
}

/// # Safety
/// The CPU has AVX-512F; `bias` is as long as `scores`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
unsafe fn softmax_rows(scores: &mut [f32], bias: &[f32]) {
    const VECTORS: usize = 64 / LANES;
    let (rows, _) = scores.as_chunks_mut::<64>();
    let (biases, _) = bias.as_chunks::<64>();
    for (row, bias) in rows.iter_mut().zip(biases) {
        // SAFETY: the enabled AVX-512F; four vectors are one row of 64 in `row` and `bias`.
        unsafe {
            let mut x = [_mm512_setzero_ps(); VECTORS];
            for (i, x) in x.iter_mut().enumerate() {
                let bias = _mm512_loadu_ps(bias.as_ptr().add(i * LANES));
                *x = _mm512_add_ps(_mm512_loadu_ps(row.as_ptr().add(i * LANES)), bias);
            }
            let high = _mm512_max_ps(_mm512_max_ps(x[0], x[1]), _mm512_max_ps(x[2], x[3]));
            let top = _mm512_set1_ps(_mm512_reduce_max_ps(high));
            for x in &mut x {
                *x = exp(_mm512_sub_ps(*x, top));
            }
            let sum = _mm512_add_ps(_mm512_add_ps(x[0], x[1]), _mm512_add_ps(x[2], x[3]));
            let scale = _mm512_set1_ps(1.0 / _mm512_reduce_add_ps(sum));
            for (i, x) in x.iter().enumerate() {
                _mm512_storeu_ps(row.as_mut_ptr().add(i * LANES), _mm512_mul_ps(*x, scale));
            }
        }
    }
}

/// [`ops::exp`] of 16 floats of at most 0: the same polynomial, scaled by `vscalefps`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
fn exp(x: __m512) -> __m512 {
    // `max` returns its second operand for NaN: NaN propagates.
    let x = _mm512_max_ps(_mm512_set1_ps(-87.0), x);
    let n = _mm512_roundscale_ps::<0>(_mm512_mul_ps(x, _mm512_set1_ps(std::f32::consts::LOG2_E)));
    let r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0.693_359_4), x);
    let r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.121_944_4e-4), r);
    let mut p = _mm512_set1_ps(1.987_569_1e-4);
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
    }
    let p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
    _mm512_scalef_ps(_mm512_add_ps(p, _mm512_set1_ps(1.0)), n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::norm::test_rows::{near, numbers};

    #[test]
    fn softmax_agrees_with_the_plain_loops_at_any_spread() {
        if !crate::isa::is_here(Isa::Avx512) {
            return;
        }
        for spread in [0.0, 1.0, 30.0, 3000.0] {
            let (scores, bias) = (numbers(5 * 64, spread), numbers(5 * 64, 1.0));
            let (mut ours, mut plain) = (scores.clone(), scores);
            attention_softmax(Isa::found(), &mut ours, &bias);
            ops::attention_softmax(Isa::found(), &mut plain, &bias);
            near(&ours, &plain);
        }
    }

    #[test]
    fn nan_propagates() {
        let mut scores = vec![0.0; 64];
        scores[17] = f32::NAN;
        attention_softmax(Isa::found(), &mut scores, &[0.0; 64]);
        assert!(scores.iter().any(|x| x.is_nan()));
    }
}

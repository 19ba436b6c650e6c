//! Gradient of the squared ReLU by AVX-512 where the CPU has it. The reference is in [`ops`].

use crate::isa::Isa;
use crate::ops;
#[cfg(target_arch = "x86_64")]
use crate::simd::avx512::LANES;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// [`ops::square_positive_backward`], relative error 1e-6: square roots are far slower than a few products.
///
/// # Panics
/// If `squared` is shorter than `grad`: a fault of the caller.
pub fn square_positive_backward(isa: Isa, grad: &mut [f32], squared: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    if grad.len().is_multiple_of(LANES) && isa.available() >= Isa::Avx512 {
        assert!(squared.len() >= grad.len(), "{} squares", squared.len());
        // SAFETY: `Isa::available` found AVX-512F; the length of `grad` is a multiple of 16, and `squared` is at
        // least as long, asserted above.
        unsafe { square_rows_backward(grad, squared) };
        return;
    }
    ops::square_positive_backward(isa, grad, squared);
}

/// # Safety
/// The CPU has AVX-512F; the length of `grad` is a multiple of 16, `squared` at least as long.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,fma")]
unsafe fn square_rows_backward(grad: &mut [f32], squared: &[f32]) {
    for at in (0..grad.len()).step_by(LANES) {
        // SAFETY: the enabled AVX-512F; `at + 16` is at most the length of both.
        unsafe {
            let square = _mm512_loadu_ps(squared.as_ptr().add(at));
            let to = grad.as_mut_ptr().add(at);
            _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_loadu_ps(to), slope(square)));
        }
    }
}

/// Slope of a squared ReLU from its output: twice the square root.
///
/// # Safety
/// The CPU has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn slope(square: __m512) -> __m512 {
    // SAFETY: AVX-512F; registers only.
    unsafe {
        // Clamp: rsqrt(0) is infinite, denormals are slow.
        let some = _mm512_max_ps(square, _mm512_set1_ps(1e-30));
        let inverse = _mm512_rsqrt14_ps(some);
        // One Newton step, times two.
        let whole = _mm512_mul_ps(_mm512_mul_ps(some, _mm512_set1_ps(-1.0)), inverse);
        let step = _mm512_fmadd_ps(whole, inverse, _mm512_set1_ps(3.0));
        _mm512_mul_ps(_mm512_mul_ps(square, inverse), step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::norm::test_rows::{near, numbers};

    #[test]
    fn gradients_of_squares_agree_with_the_plain_loops() {
        if !crate::isa::is_here(Isa::Avx512) {
            return;
        }
        let squared: Vec<f32> = numbers(320, 3.0).iter().map(|x| x.max(0.0).powi(6)).collect();
        let (mut grad, mut grad2) = (numbers(320, 1.0), numbers(320, 1.0));
        square_positive_backward(Isa::found(), &mut grad, &squared);
        ops::square_positive_backward(Isa::found(), &mut grad2, &squared);
        near(&grad, &grad2);
    }
}

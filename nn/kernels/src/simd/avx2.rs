//! Vectors of AVX2: 8 floats.

use super::vector::{Vector, methods};
use std::arch::x86_64::*;

/// Transposes a 4 x 4 block of floats: rows `stride` apart at `from`, `step` apart at `to`.
///
/// # Safety
/// Four rows of four floats exist at `from`, and there is room for as many at `to`.
#[inline(always)]
pub(crate) unsafe fn transpose_four(from: *const f32, stride: usize, to: *mut f32, step: usize) {
    // SAFETY: SSE is in x86-64's baseline; four rows of four floats exist at both, by this function's contract.
    unsafe {
        let load = |i: usize| _mm_loadu_ps(from.add(i * stride));
        let (mut a, mut b, mut c, mut d) = (load(0), load(1), load(2), load(3));
        _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
        for (i, row) in [a, b, c, d].into_iter().enumerate() {
            _mm_storeu_ps(to.add(i * step), row);
        }
    }
}

impl Vector for __m256 {
    const LEN: usize = 8;
    const STEP: usize = 32;

    methods! {
        fn all(x: f32) -> __m256 { _mm256_set1_ps(x) }
        fn load(from: *const f32) -> __m256 { _mm256_loadu_ps(from) }
        fn store(self, to: *mut f32) { _mm256_storeu_ps(to, self) }
        fn add(self, other: __m256) -> __m256 { _mm256_add_ps(self, other) }
        fn sub(self, other: __m256) -> __m256 { _mm256_sub_ps(self, other) }
        fn mul(self, other: __m256) -> __m256 { _mm256_mul_ps(self, other) }
        fn fma(self, b: __m256, c: __m256) -> __m256 { _mm256_fmadd_ps(self, b, c) }
        fn max(self, other: __m256) -> __m256 { _mm256_max_ps(self, other) }
        fn sum(self) -> f32 {
            let four = _mm_add_ps(_mm256_castps256_ps128(self), _mm256_extractf128_ps::<1>(self));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
        fn highest(self) -> f32 {
            let four = _mm_max_ps(_mm256_castps256_ps128(self), _mm256_extractf128_ps::<1>(self));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
        fn shift(self, n: __m256) -> __m256 {
            let exponent = _mm256_slli_epi32::<23>(_mm256_castps_si256(n));
            _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(self), exponent))
        }
        fn high_bits(self, other: __m256) -> __m256 {
            let sign = _mm256_set1_epi32(i32::MAX);
            let other = _mm256_and_si256(_mm256_castps_si256(other), sign);
            _mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(self), other))
        }
        fn highest_bits(self) -> u32 {
            let all = _mm256_castps_si256(self);
            let high = _mm256_extracti128_si256::<1>(all);
            let four = _mm_max_epu32(_mm256_castsi256_si128(all), high);
            let two = _mm_max_epu32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
            let one = _mm_max_epu32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two));
            _mm_cvtsi128_si32(one).cast_unsigned()
        }
        fn bytes(from: *const f32, factor: __m256, zero: i32, to: *mut u8) {
            let eight = |i: usize| {
                let x = _mm256_mul_ps(_mm256_loadu_ps(from.add(8 * i)), factor);
                _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(zero))
            };
            let low = _mm256_packs_epi32(eight(0), eight(1));
            let all = _mm256_packus_epi16(low, _mm256_packs_epi32(eight(2), eight(3)));
            // `packs` interleaves 128-bit halves: restore the order of 32-bit parts.
            let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(all, order));
        }
    }
}

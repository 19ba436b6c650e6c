//! NEON vectors, baseline of aarch64.
#![allow(unsafe_code)]

use super::Vector;
use std::arch::aarch64::*;

/// Transposes a 4 x 4 block of floats: rows `stride` apart at `from`, `step` apart at `to`.
///
/// # Safety
/// Four rows of four floats exist at `from`, and there is room for as many at `to`.
#[inline(always)]
pub unsafe fn transpose_four(from: *const f32, stride: usize, to: *mut f32, step: usize) {
    // SAFETY: NEON is in aarch64's baseline; four rows of four floats exist at both, by this function's
    // contract.
    unsafe {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| vld1q_f32(from.add(i * stride)));
        // 2 x 2 transpositions of pairs of rows, then of their 64-bit halves.
        let (ab, cd) = (vtrnq_f32(a, b), vtrnq_f32(c, d));
        let low = |x, y| vcombine_f32(vget_low_f32(x), vget_low_f32(y));
        let high = |x, y| vcombine_f32(vget_high_f32(x), vget_high_f32(y));
        let columns = [low(ab.0, cd.0), low(ab.1, cd.1), high(ab.0, cd.0), high(ab.1, cd.1)];
        for (i, column) in columns.into_iter().enumerate() {
            vst1q_f32(to.add(i * step), column);
        }
    }
}

// SAFETY, for every block below: NEON and the trait's lengths, by the trait's contract.
impl Vector for float32x4_t {
    const LEN: usize = 4;

    #[inline(always)]
    unsafe fn all(x: f32) -> float32x4_t {
        unsafe { vdupq_n_f32(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> float32x4_t {
        unsafe { vld1q_f32(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { vst1q_f32(to, self) }
    }

    #[inline(always)]
    unsafe fn add(self, other: float32x4_t) -> float32x4_t {
        unsafe { vaddq_f32(self, other) }
    }

    #[inline(always)]
    unsafe fn sub(self, other: float32x4_t) -> float32x4_t {
        unsafe { vsubq_f32(self, other) }
    }

    #[inline(always)]
    unsafe fn mul(self, other: float32x4_t) -> float32x4_t {
        unsafe { vmulq_f32(self, other) }
    }

    #[inline(always)]
    unsafe fn fma(self, b: float32x4_t, c: float32x4_t) -> float32x4_t {
        unsafe { vfmaq_f32(c, self, b) }
    }

    /// NaN if either is NaN, which satisfies the trait.
    #[inline(always)]
    unsafe fn max(self, other: float32x4_t) -> float32x4_t {
        unsafe { vmaxq_f32(self, other) }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe { vaddvq_f32(self) }
    }

    #[inline(always)]
    unsafe fn highest(self) -> f32 {
        unsafe { vmaxvq_f32(self) }
    }

    #[inline(always)]
    unsafe fn shift(self, n: float32x4_t) -> float32x4_t {
        unsafe {
            let exponent = vshlq_n_s32::<23>(vreinterpretq_s32_f32(n));
            vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(self), exponent))
        }
    }

    #[inline(always)]
    unsafe fn high_bits(self, other: float32x4_t) -> float32x4_t {
        unsafe {
            let other = vreinterpretq_u32_f32(vabsq_f32(other));
            vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(self), other))
        }
    }

    #[inline(always)]
    unsafe fn highest_bits(self) -> u32 {
        unsafe { vmaxvq_u32(vreinterpretq_u32_f32(self)) }
    }

    const STEP: usize = 16;

    #[inline(always)]
    unsafe fn bytes(from: *const f32, factor: float32x4_t, zero: i32, to: *mut u8) {
        unsafe {
            let zero = vdupq_n_s32(zero);
            let four = |i: usize| {
                let x = vmulq_f32(vld1q_f32(from.add(4 * i)), factor);
                vmovn_s32(vaddq_s32(vcvtnq_s32_f32(x), zero))
            };
            let eight = |i: usize| vmovn_s16(vcombine_s16(four(i), four(i + 1)));
            vst1q_u8(to, vreinterpretq_u8_s8(vcombine_s8(eight(0), eight(2))));
        }
    }
}

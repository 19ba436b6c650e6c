//! Vectors of NEON, baseline of aarch64: 4 floats. `max` is NaN if either is.

use super::vector::{Vector, methods};
use std::arch::aarch64::*;

/// Transposes a 4 x 4 block of floats: rows `stride` apart at `from`, `step` apart at `to`.
///
/// # Safety
/// Four rows of four floats exist at `from`, and there is room for as many at `to`.
#[inline(always)]
pub(crate) unsafe fn transpose_four(from: *const f32, stride: usize, to: *mut f32, step: usize) {
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

impl Vector for float32x4_t {
    const LEN: usize = 4;
    const STEP: usize = 16;

    methods! {
        fn all(x: f32) -> float32x4_t { vdupq_n_f32(x) }
        fn load(from: *const f32) -> float32x4_t { vld1q_f32(from) }
        fn store(self, to: *mut f32) { vst1q_f32(to, self) }
        fn add(self, other: float32x4_t) -> float32x4_t { vaddq_f32(self, other) }
        fn sub(self, other: float32x4_t) -> float32x4_t { vsubq_f32(self, other) }
        fn mul(self, other: float32x4_t) -> float32x4_t { vmulq_f32(self, other) }
        fn fma(self, b: float32x4_t, c: float32x4_t) -> float32x4_t { vfmaq_f32(c, self, b) }
        fn max(self, other: float32x4_t) -> float32x4_t { vmaxq_f32(self, other) }
        fn sum(self) -> f32 { vaddvq_f32(self) }
        fn highest(self) -> f32 { vmaxvq_f32(self) }
        fn shift(self, n: float32x4_t) -> float32x4_t {
            let exponent = vshlq_n_s32::<23>(vreinterpretq_s32_f32(n));
            vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(self), exponent))
        }
        fn high_bits(self, other: float32x4_t) -> float32x4_t {
            let other = vreinterpretq_u32_f32(vabsq_f32(other));
            vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(self), other))
        }
        fn highest_bits(self) -> u32 { vmaxvq_u32(vreinterpretq_u32_f32(self)) }
        fn bytes(from: *const f32, factor: float32x4_t, zero: i32, to: *mut u8) {
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

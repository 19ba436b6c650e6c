//! Vectors of floats under one interface, so that a kernel by row is written once for AVX2, AVX-512 and NEON.
//!
//! A kernel is generic over [`Vector`] and always inlined into a function compiled for the instructions.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(target_arch = "x86_64")]
pub(super) use avx::transpose_four;
#[cfg(target_arch = "aarch64")]
pub(super) use neon::transpose_four;

/// Floats side by side.
///
/// # Safety
/// The caller of any function is compiled for, and runs on, a CPU with the instructions of this type. Pointers
/// lead to `LEN` floats.
pub(super) trait Vector: Copy {
    const LEN: usize;
    unsafe fn all(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// `self * b + c`, rounded once.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// The larger of each two; where one is no number, `other`'s.
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn sum(self) -> f32;
    unsafe fn highest(self) -> f32;
    /// `self` times two to the power that the low bits of `n` hold, from -126 to 127.
    unsafe fn shift(self, n: Self) -> Self;

    /// The bits of the larger absolute value of each two, the first of which are such bits already. Without
    /// their sign, floats are ordered as their bits are, NaN above all.
    unsafe fn high_bits(self, other: Self) -> Self;
    /// The highest of such bits.
    unsafe fn highest_bits(self) -> u32;

    /// Floats that [`Vector::bytes`] takes.
    const STEP: usize;
    /// Writes the low bytes of `STEP` floats times `factor`, rounded to even, plus `zero`: all from 0 to 255, or from
    /// -128 to 127 with NEON and AVX-512.
    unsafe fn bytes(from: *const f32, factor: Self, zero: i32, to: *mut u8);

    /// exp of `self - top` where that is at most 0, by powers of two: a polynomial of degree 6 (Cephes
    /// `exp2f`) in what rounding to a whole exponent leaves. For a difference d of at most 100 from `top` the
    /// relative error is below 3e-7 + 1.2e-7 * (|d| + |top|); below an exponent of -126 all counts as that.
    #[inline(always)]
    unsafe fn exp_below(self, top: Self) -> Self {
        // SAFETY: the contract of the trait.
        unsafe {
            let log2 = Self::all(std::f32::consts::LOG2_E);
            let t = self.fma(log2, Self::all(0.0).sub(top.mul(log2)));
            // The second operand is what comes of NaN.
            let t = Self::all(-126.0).max(t);
            // Adding 1.5 * 2^23 rounds to the nearest whole number in the low bits.
            let round = Self::all(12_582_912.0);
            let shifted = t.add(round);
            let r = t.sub(shifted.sub(round));
            let mut p = Self::all(1.535_336_2e-4);
            for c in [
                1.339_887_4e-3,
                9.618_437e-3,
                5.550_332_5e-2,
                0.240_226_48,
                std::f32::consts::LN_2,
                1.0,
            ] {
                p = p.fma(r, Self::all(c));
            }
            p.shift(shifted)
        }
    }
}

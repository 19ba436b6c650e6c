//! One interface for vectors of floats, so that a row-wise kernel is written once for AVX2, AVX-512 and NEON.
//!
//! A kernel is generic over [`Vector`] and always inlined into a function compiled for the instructions.

/// A vector of floats.
///
/// # Safety
/// The caller of any method is compiled for, and runs on, a CPU with the instructions of the type: AVX-512 F,
/// DQ (and BW for `bytes`) for `__m512`, AVX2 and FMA for `__m256`, NEON for `float32x4_t`. Pointers lead to
/// `LEN` floats; those of `bytes` to `STEP` floats and bytes.
pub(crate) trait Vector: Copy {
    const LEN: usize;
    unsafe fn all(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// `self * b + c`, rounded once.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// The larger of each pair; `other`'s if one is NaN.
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn sum(self) -> f32;
    unsafe fn highest(self) -> f32;
    /// `self` times 2^n, n in the low bits of `n`, from -126 to 127.
    unsafe fn shift(self, n: Self) -> Self;

    /// Bits of the larger absolute value of each pair; `self` holds such bits already. Non-negative floats are
    /// ordered like their bits, NaN above all.
    unsafe fn high_bits(self, other: Self) -> Self;
    /// Maximum of such bits.
    unsafe fn highest_bits(self) -> u32;

    /// Floats per call of [`Vector::bytes`].
    const STEP: usize;
    /// Writes the low bytes of `STEP` floats times `factor`, rounded half to even, plus `zero`: all from 0 to
    /// 255, or from -128 to 127 with NEON and AVX-512.
    unsafe fn bytes(from: *const f32, factor: Self, zero: i32, to: *mut u8);

    /// exp(self - top) for differences of at most 0: 2^x with a polynomial of degree 6 (Cephes `exp2f`) for the
    /// fraction. For a difference d of at most 100 from `top` the relative error is below 3e-7 + 1.2e-7 * (|d|
    /// + |top|); exponents are clamped at -126.
    #[inline(always)]
    unsafe fn exp_below(self, top: Self) -> Self {
        // SAFETY: the CPU has this type's instructions by the trait's contract; registers only.
        unsafe {
            let log2 = Self::all(std::f32::consts::LOG2_E);
            let t = self.fma(log2, Self::all(0.0).sub(top.mul(log2)));
            // `max` returns its second operand for NaN: NaN propagates.
            let t = Self::all(-126.0).max(t);
            // Adding 1.5 * 2^23 rounds to the nearest integer in the mantissa's low bits.
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

/// Methods of [`Vector`] for one type, each an unsafe function that is always inlined.
macro_rules! methods {
    ($(fn $name:ident($($arguments:tt)*) $(-> $answer:ty)? { $($body:tt)* })*) => {$(
        #[inline(always)]
        unsafe fn $name($($arguments)*) $(-> $answer)? {
            // SAFETY: by the contract of `Vector` the CPU has AVX-512 F, DQ and BW for `__m512`, AVX2 and FMA for
            // `__m256`, NEON for `float32x4_t`, and pointers lead to `LEN` floats, those of `bytes` to `STEP` floats
            // and bytes.
            unsafe { $($body)* }
        }
    )*};
}

pub(super) use methods;

//! One product as the kernels of [`super::microkernel`] and AMX see it, and how each instruction set holds and multiplies
//! 16 lanes: floats in plain loops, by AVX2 and by AVX-512, bf16 by AVX512_BF16.

use super::packed::{Left, Right};
use crate::simd::avx512::LANES;
use std::arch::x86_64::*;

/// How a kernel holds and multiplies 16 lanes.
///
/// # Safety
/// The caller of any method is compiled for, and runs on, a CPU with the features of the format: `Single`
/// AVX-512F, `Half` AVX512_BF16, `Narrow` AVX2 and FMA, `Plain` none. Pointers lead to 16 lanes, those with a
/// mask to the masked lanes.
pub(crate) trait Format {
    type Lanes: Copy;
    type Sums: Copy;
    unsafe fn zero() -> Self::Sums;
    unsafe fn load(b: *const u32) -> Self::Lanes;
    unsafe fn spread(a: u32) -> Self::Lanes;
    /// `sums + a * b`, lane by lane.
    unsafe fn multiply(sums: Self::Sums, a: Self::Lanes, b: Self::Lanes) -> Self::Sums;
    /// Writes `sums * scale`, plus `base` unless that is null.
    unsafe fn store(sums: Self::Sums, scale: f32, base: *const f32, mask: u16, out: *mut f32);
}

/// Single precision by AVX-512.
pub(crate) struct Single;
/// bf16 by AVX-512.
pub(crate) struct Half;
/// Single precision by AVX2.
pub(crate) struct Narrow;
/// Single precision by loops that the compiler vectorises for the x86-64 baseline.
pub(crate) struct Plain;

/// Shared by both AVX-512 formats.
macro_rules! wide {
    () => {
        type Lanes = __m512i;
        type Sums = __m512;

        #[inline(always)]
        unsafe fn zero() -> __m512 {
            // SAFETY: AVX-512F by the trait's contract.
            unsafe { _mm512_setzero_ps() }
        }

        #[inline(always)]
        unsafe fn load(b: *const u32) -> __m512i {
            // SAFETY: AVX-512F and 16 lanes at `b` by the trait's contract.
            unsafe { _mm512_loadu_si512(b.cast()) }
        }

        #[inline(always)]
        unsafe fn spread(a: u32) -> __m512i {
            // SAFETY: AVX-512F by the trait's contract.
            unsafe { _mm512_set1_epi32(a.cast_signed()) }
        }

        #[inline(always)]
        unsafe fn store(sums: __m512, scale: f32, base: *const f32, mask: u16, out: *mut f32) {
            // SAFETY: AVX-512F and the masked lanes at `base` and `out` by the trait's contract.
            unsafe {
                let scale = _mm512_set1_ps(scale);
                let value = if base.is_null() {
                    _mm512_mul_ps(sums, scale)
                } else {
                    _mm512_fmadd_ps(sums, scale, _mm512_maskz_loadu_ps(mask, base))
                };
                _mm512_mask_storeu_ps(out, mask, value);
            }
        }
    };
}

impl Format for Single {
    wide!();

    #[inline(always)]
    unsafe fn multiply(sums: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: AVX-512F by the trait's contract.
        unsafe { _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), sums) }
    }
}

impl Format for Half {
    wide!();

    #[inline(always)]
    unsafe fn multiply(sums: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: AVX512_BF16 by the trait's contract; all these types are 64 plain bytes.
        unsafe {
            let halves = |lanes| std::mem::transmute::<__m512i, __m512bh>(lanes);
            _mm512_dpbf16_ps(sums, halves(a), halves(b))
        }
    }
}

impl Format for Narrow {
    type Lanes = [__m256; 2];
    type Sums = [__m256; 2];

    #[inline(always)]
    unsafe fn zero() -> [__m256; 2] {
        // SAFETY: AVX by the trait's contract.
        unsafe { [_mm256_setzero_ps(); 2] }
    }

    #[inline(always)]
    unsafe fn load(b: *const u32) -> [__m256; 2] {
        // SAFETY: AVX and 16 lanes at `b` by the trait's contract.
        unsafe { [_mm256_loadu_ps(b.cast()), _mm256_loadu_ps(b.add(LANES / 2).cast())] }
    }

    #[inline(always)]
    unsafe fn spread(a: u32) -> [__m256; 2] {
        // SAFETY: AVX by the trait's contract.
        unsafe { [_mm256_set1_ps(f32::from_bits(a)); 2] }
    }

    #[inline(always)]
    unsafe fn multiply(sums: [__m256; 2], a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: FMA by the trait's contract.
        unsafe { [_mm256_fmadd_ps(a[0], b[0], sums[0]), _mm256_fmadd_ps(a[1], b[1], sums[1])] }
    }

    #[inline(always)]
    unsafe fn store(sums: [__m256; 2], scale: f32, base: *const f32, mask: u16, out: *mut f32) {
        // SAFETY: AVX2, FMA and the masked lanes at `base` and `out` by the trait's contract; AVX2 masks by
        // each lane's sign bit, to which the mask's bit is shifted.
        unsafe {
            let scale = _mm256_set1_ps(scale);
            let places = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
            for (i, sums) in sums.into_iter().enumerate() {
                let (bits, at) = (i32::from(mask) >> (8 * i) & 0xff, 8 * i);
                let (from, to) = (base.wrapping_add(at), out.wrapping_add(at));
                // AMD's CPUs are slow at masked stores.
                let whole = bits == 0xff;
                let mask = _mm256_sllv_epi32(_mm256_set1_epi32(bits), places);
                let value = if base.is_null() {
                    _mm256_mul_ps(sums, scale)
                } else {
                    let base =
                        if whole { _mm256_loadu_ps(from) } else { _mm256_maskload_ps(from, mask) };
                    _mm256_fmadd_ps(sums, scale, base)
                };
                if whole {
                    _mm256_storeu_ps(to, value);
                } else {
                    _mm256_maskstore_ps(to, mask, value);
                }
            }
        }
    }
}

impl Format for Plain {
    type Lanes = [f32; LANES];
    type Sums = [f32; LANES];

    #[inline(always)]
    unsafe fn zero() -> [f32; LANES] {
        [0.0; LANES]
    }

    #[inline(always)]
    unsafe fn load(b: *const u32) -> [f32; LANES] {
        // SAFETY: 16 lanes lie at `b` by the trait's contract.
        unsafe { b.cast::<[f32; LANES]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn spread(a: u32) -> [f32; LANES] {
        [f32::from_bits(a); LANES]
    }

    #[inline(always)]
    unsafe fn multiply(mut sums: [f32; LANES], a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        for i in 0..LANES {
            sums[i] += a[i] * b[i];
        }
        sums
    }

    #[inline(always)]
    unsafe fn store(sums: [f32; LANES], scale: f32, base: *const f32, mask: u16, out: *mut f32) {
        for (i, sum) in sums.into_iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1) {
            // SAFETY: lane `i` is in the mask, so it exists at `base` and `out` by the trait's contract.
            unsafe {
                let base = if base.is_null() { 0.0 } else { *base.add(i) };
                *out.add(i) = base + scale * sum;
            }
        }
    }
}

/// One product: operands, destination and epilogue.
pub(crate) struct Product<'a> {
    pub left: Left<'a>,
    pub right: Right<'a>,
    pub out: *mut f32,
    pub stride: usize,
    pub scale: f32,
    /// Added to each row; its row stride; null: nothing is added.
    pub base: *const f32,
    pub base_row: usize,
}

impl Product<'_> {
    /// Writes the masked sums of a row's 16 columns, scaled, plus the base.
    ///
    /// # Safety
    /// Row `row` and the masked columns from `col` on exist; the rest as [`Format`].
    #[inline(always)]
    pub(crate) unsafe fn store<F: Format>(&self, sums: F::Sums, row: usize, col: usize, mask: u16) {
        // SAFETY: `out` and `base` have the row and the masked columns; the CPU has `F`'s features: this
        // function's contract.
        unsafe {
            let base = match self.base.is_null() {
                true => self.base,
                false => self.base.add(row * self.base_row + col),
            };
            F::store(sums, self.scale, base, mask, self.out.add(row * self.stride + col));
        }
    }
}

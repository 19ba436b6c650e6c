//! Vectors of AVX-512: 16 floats, or lanes of two bf16; tail masks, conversion, interleaving, transposition.

use super::vector::{Vector, methods};
use std::arch::x86_64::*;

/// Lanes, 32 bits wide, per vector.
pub(crate) const LANES: usize = 16;

/// Mask of the first `len` of 16 lanes.
#[inline(always)]
pub(crate) fn tail_mask(len: usize) -> __mmask16 {
    if len >= LANES { !0 } else { !(!0 << len) }
}

/// Converts two vectors of floats to one of bf16 lanes, neighbours in one lane.
///
/// # Safety
/// The CPU has AVX512_BF16.
#[inline(always)]
pub(crate) unsafe fn f32_to_bf16(low: __m512, high: __m512) -> __m512i {
    // SAFETY: AVX512_BF16; both types are 64 plain bytes.
    unsafe { std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low)) }
}

/// Converts 16 bf16 to floats.
///
/// # Safety
/// There are eight lanes at `from`; the CPU has AVX-512.
#[inline(always)]
pub(crate) unsafe fn bf16_to_f32(from: *const u32) -> __m512 {
    // SAFETY: AVX-512F; 8 lanes (32 bytes) lie at `from`.
    unsafe {
        let halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
        _mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves))
    }
}

/// 16 lanes of one row of `len` floats times `scale`, from lane `at` on; bf16 lanes hold neighbours in the row.
/// Zero beyond the end.
///
/// # Safety
/// `row` leads to `len` floats; the CPU has AVX-512F, and AVX512_BF16 if `HALF`.
#[inline(always)]
pub(crate) unsafe fn along<const HALF: bool>(
    row: *const f32,
    len: usize,
    at: usize,
    scale: f32,
) -> __m512i {
    let load = |at: usize| {
        // SAFETY: AVX-512F; the tail mask ends at `len`.
        unsafe {
            let mask = tail_mask(len.saturating_sub(at));
            _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, row.wrapping_add(at)), _mm512_set1_ps(scale))
        }
    };
    if HALF {
        // SAFETY: AVX512_BF16 by this function's contract.
        unsafe { f32_to_bf16(load(2 * at), load(2 * at + LANES)) }
    } else {
        // SAFETY: AVX-512F by this function's contract.
        unsafe { _mm512_castps_si512(load(at)) }
    }
}

/// Interleaves the bf16 of `low` with those of `high`, which become the upper halves of the lanes: the first
/// 16, and the rest.
///
/// # Safety
/// The CPU has AVX-512 BW.
#[inline(always)]
pub(crate) unsafe fn zip(low: __m512i, high: __m512i) -> [__m512i; 2] {
    // SAFETY: AVX-512BW; registers only.
    unsafe {
        // 0, 32, 1, 33 and so on.
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let upper = _mm512_slli_epi32::<16>(_mm512_add_epi32(lanes, _mm512_set1_epi32(32)));
        let first = _mm512_or_si512(lanes, upper);
        let rest = _mm512_add_epi16(first, _mm512_set1_epi16(16));
        [_mm512_permutex2var_epi16(low, first, high), _mm512_permutex2var_epi16(low, rest, high)]
    }
}

/// [`zip`], four by four: columns 0 to 3, 8 to 11 and so on, and the others.
///
/// # Safety
/// The CPU has AVX-512 BW.
#[inline(always)]
pub(crate) unsafe fn cross(low: __m512i, high: __m512i) -> [__m512i; 2] {
    // SAFETY: AVX-512BW; registers only.
    unsafe { [_mm512_unpacklo_epi16(low, high), _mm512_unpackhi_epi16(low, high)] }
}

/// Transposes a block of 16 x 16 lanes: 32-bit, then 64-bit unpacks inside the 128-bit quarters of four rows,
/// then the quarters.
///
/// # Safety
/// The CPU has AVX-512F.
#[inline(always)]
pub(crate) unsafe fn transpose(block: &mut [__m512i; LANES]) {
    // SAFETY: AVX-512F; registers only.
    unsafe {
        for four in block.as_chunks_mut::<4>().0 {
            let [a, b, c, d] = *four;
            let (low, high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
            let (low2, high2) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
            *four = [
                _mm512_unpacklo_epi64(low, low2),
                _mm512_unpackhi_epi64(low, low2),
                _mm512_unpacklo_epi64(high, high2),
                _mm512_unpackhi_epi64(high, high2),
            ];
        }
        // Quarter k of vector j holds column 4 k + j of its four rows.
        for j in 0..4 {
            let [a, b, c, d] = [block[j], block[4 + j], block[8 + j], block[12 + j]];
            let even = |a, b| _mm512_shuffle_i32x4::<0x88>(a, b);
            let odd = |a, b| _mm512_shuffle_i32x4::<0xdd>(a, b);
            let (ab, cd) = (even(a, b), even(c, d));
            (block[j], block[8 + j]) = (even(ab, cd), odd(ab, cd));
            let (ab, cd) = (odd(a, b), odd(c, d));
            (block[4 + j], block[12 + j]) = (even(ab, cd), odd(ab, cd));
        }
    }
}

impl Vector for __m512 {
    const LEN: usize = 16;
    const STEP: usize = 64;

    methods! {
        fn all(x: f32) -> __m512 { _mm512_set1_ps(x) }
        fn load(from: *const f32) -> __m512 { _mm512_loadu_ps(from) }
        fn store(self, to: *mut f32) { _mm512_storeu_ps(to, self) }
        fn add(self, other: __m512) -> __m512 { _mm512_add_ps(self, other) }
        fn sub(self, other: __m512) -> __m512 { _mm512_sub_ps(self, other) }
        fn mul(self, other: __m512) -> __m512 { _mm512_mul_ps(self, other) }
        fn fma(self, b: __m512, c: __m512) -> __m512 { _mm512_fmadd_ps(self, b, c) }
        fn max(self, other: __m512) -> __m512 { _mm512_max_ps(self, other) }
        fn sum(self) -> f32 { _mm512_reduce_add_ps(self) }
        fn highest(self) -> f32 { _mm512_reduce_max_ps(self) }
        fn shift(self, n: __m512) -> __m512 {
            let exponent = _mm512_slli_epi32::<23>(_mm512_castps_si512(n));
            _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(self), exponent))
        }
        fn high_bits(self, other: __m512) -> __m512 {
            let other = _mm512_castps_si512(_mm512_abs_ps(other));
            _mm512_castsi512_ps(_mm512_max_epu32(_mm512_castps_si512(self), other))
        }
        fn highest_bits(self) -> u32 { _mm512_reduce_max_epu32(_mm512_castps_si512(self)) }
        fn bytes(from: *const f32, factor: __m512, zero: i32, to: *mut u8) {
            let sixteen = |i: usize| {
                let x = _mm512_mul_ps(_mm512_loadu_ps(from.add(16 * i)), factor);
                _mm512_add_epi32(_mm512_cvtps_epi32(x), _mm512_set1_epi32(zero))
            };
            // Keeps the low byte of each, signed or not.
            let low = |a, b| _mm512_and_si512(_mm512_packs_epi32(a, b), _mm512_set1_epi16(0xff));
            let (lower, upper) = (low(sixteen(0), sixteen(1)), low(sixteen(2), sixteen(3)));
            let all = _mm512_packus_epi16(lower, upper);
            // `packs` interleaves 128-bit quarters: restore the order of 32-bit parts.
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            _mm512_storeu_si512(to.cast(), _mm512_permutexvar_epi32(order, all));
        }
    }
}

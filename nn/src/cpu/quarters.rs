//! What several vectors come to, found for four at once: a result in each quarter of a vector. One after another, each would wait
//! for its own.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// Vectors that go together.
pub(super) const FOUR: usize = 4;
/// Vectors of which four would still wait for their own.
pub(super) const EIGHT: usize = 2 * FOUR;

/// What `both` makes of all the floats of a vector, for four of them: each result in its quarter.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn together(
    [a, b, c, d]: [__m512; FOUR],
    both: impl Fn(__m512, __m512) -> __m512,
) -> __m512 {
    // SAFETY: this function's contract.
    unsafe {
        let halves =
            |a, b| both(_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xee>(a, b));
        let (ab, cd) = (halves(a, b), halves(c, d));
        let quarters =
            both(_mm512_shuffle_f32x4::<0x88>(ab, cd), _mm512_shuffle_f32x4::<0xdd>(ab, cd));
        let pairs = both(quarters, _mm512_permute_ps::<0x4e>(quarters));
        both(pairs, _mm512_permute_ps::<0xb1>(pairs))
    }
}

/// Each quarter of the vector four times.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn each(x: __m512) -> [__m512; FOUR] {
    // SAFETY: this function's contract.
    unsafe {
        [
            _mm512_shuffle_f32x4::<0x00>(x, x),
            _mm512_shuffle_f32x4::<0x55>(x, x),
            _mm512_shuffle_f32x4::<0xaa>(x, x),
            _mm512_shuffle_f32x4::<0xff>(x, x),
        ]
    }
}

/// What `both` makes of all the floats of eight vectors: results of four in the quarters of each.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn all(
    [a, b, c, d, e, f, g, h]: [__m512; EIGHT],
    both: impl Fn(__m512, __m512) -> __m512,
) -> [__m512; 2] {
    // SAFETY: this function's contract.
    unsafe { [together([a, b, c, d], &both), together([e, f, g, h], &both)] }
}

/// The result of each of eight vectors sixteen times.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn apart([upper, lower]: [__m512; 2]) -> [__m512; EIGHT] {
    // SAFETY: this function's contract.
    let ([a, b, c, d], [e, f, g, h]) = unsafe { (each(upper), each(lower)) };
    [a, b, c, d, e, f, g, h]
}

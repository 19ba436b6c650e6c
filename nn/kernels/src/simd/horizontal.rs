//! Horizontal reductions of four vectors, interleaved to hide latency: result i fills quarter i of a vector.

use std::arch::x86_64::*;

/// Vectors per reduction.
pub(crate) const FOUR: usize = 4;
/// Vectors per double reduction, where four do not hide the latency.
pub(crate) const EIGHT: usize = 2 * FOUR;

/// Horizontal reduction of four vectors by `both`: result i fills quarter i.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(crate) unsafe fn reduce4(
    [a, b, c, d]: [__m512; FOUR],
    both: impl Fn(__m512, __m512) -> __m512,
) -> __m512 {
    // SAFETY: AVX-512F; registers only.
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

/// Broadcasts each quarter of the vector.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(crate) unsafe fn broadcast4(x: __m512) -> [__m512; FOUR] {
    // SAFETY: AVX-512F; registers only.
    unsafe {
        [
            _mm512_shuffle_f32x4::<0x00>(x, x),
            _mm512_shuffle_f32x4::<0x55>(x, x),
            _mm512_shuffle_f32x4::<0xaa>(x, x),
            _mm512_shuffle_f32x4::<0xff>(x, x),
        ]
    }
}

/// Horizontal reduction of eight vectors by `both`: four results per vector, one in each quarter.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(crate) unsafe fn reduce8(
    [a, b, c, d, e, f, g, h]: [__m512; EIGHT],
    both: impl Fn(__m512, __m512) -> __m512,
) -> [__m512; 2] {
    // SAFETY: AVX-512F; registers only.
    unsafe { [reduce4([a, b, c, d], &both), reduce4([e, f, g, h], &both)] }
}

/// Broadcasts each of the eight results of [`reduce8`].
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(crate) unsafe fn broadcast8([upper, lower]: [__m512; 2]) -> [__m512; EIGHT] {
    // SAFETY: AVX-512F; registers only.
    let ([a, b, c, d], [e, f, g, h]) = unsafe { (broadcast4(upper), broadcast4(lower)) };
    [a, b, c, d, e, f, g, h]
}

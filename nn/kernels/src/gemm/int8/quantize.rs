//! Quantization of rows of floats to bytes with one scale per row, generic over the vector type: AVX2, AVX-512, NEON.

use super::task::{Levels, byte};
use crate::simd::Vector;

/// Quantizes each row of `x`; the rows of `bytes` are `stride` apart. Writes the scales.
///
/// # Safety
/// As [`Vector`]; `x` has a row of `depth` floats for each of `scales`, `bytes` a row of `stride`, which is at
/// least `depth`.
#[inline(always)]
pub(super) unsafe fn round<V: Vector>(
    x: &[f32],
    depth: usize,
    levels: Levels,
    bytes: &mut [u8],
    stride: usize,
    scales: &mut [f32],
) {
    // First the absolute maximum of every row: row by row, each would wait for its own reduction.
    for (high, x) in scales.iter_mut().zip(x.chunks_exact(depth)) {
        let whole = depth / V::LEN * V::LEN;
        // SAFETY: the CPU has `V`'s instructions; `at + LEN <= depth`.
        let bits = unsafe {
            let mut high = V::all(0.0);
            for at in (0..whole).step_by(V::LEN) {
                high = high.high_bits(V::load(x.as_ptr().add(at)));
            }
            high.highest_bits()
        };
        let rest = x[whole..].iter().map(|x| x.abs().to_bits());
        *high = f32::from_bits(rest.fold(bits, u32::max));
    }
    let rows = x.chunks_exact(depth).zip(bytes.chunks_exact_mut(stride));
    for ((x, bytes), scale) in rows.zip(scales) {
        let factor = levels.factor(*scale);
        *scale /= levels.top;
        let whole = depth / V::STEP * V::STEP;
        // SAFETY: the CPU has `V`'s instructions; `at + STEP <= depth`, and the row has at least `depth` bytes.
        unsafe {
            let factor = V::all(factor);
            for at in (0..whole).step_by(V::STEP) {
                V::bytes(x.as_ptr().add(at), factor, levels.zero, bytes.as_mut_ptr().add(at));
            }
        }
        for (to, x) in bytes[whole..].iter_mut().zip(&x[whole..]) {
            *to = byte(*x, factor, levels.zero);
        }
    }
}

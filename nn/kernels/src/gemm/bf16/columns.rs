//! bf16 left operands from columns: pairs of rows as they are, for AVX-512, or transposed, for AMX.

use super::pairs::{Bf16Rows, Pairs};
use crate::simd::avx512::{LANES, transpose};
use std::arch::x86_64::*;

/// Pairs of rows, one lane per column, `step` lanes from pair to pair.
///
/// # Safety
/// `out` has room for whole vectors of every pair; the CPU has AVX-512 F, BW and AVX512_BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(crate) unsafe fn pack_columns<P: Pairs>(a: P, step: usize, out: *mut u32) {
    let (rows, cols) = a.sizes();
    for p in 0..rows.div_ceil(2) {
        for at in (0..cols).step_by(2 * LANES) {
            // SAFETY: the enabled AVX-512 F/BW/BF16; `2 p < rows` and `at < cols`; a vector is stored only
            // where a column begins, and `out` holds whole vectors.
            unsafe {
                let [first, second] = a.pair(p, at);
                let out = out.add(p * step + at);
                _mm512_storeu_si512(out.cast(), first);
                if cols - at > LANES {
                    _mm512_storeu_si512(out.add(LANES).cast(), second);
                }
            }
        }
    }
}

/// The columns of `a` as rows of bf16, `row` lanes apart.
///
/// # Safety
/// As [`pack_columns`]; `out` has room for whole blocks of 16 rows.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(crate) unsafe fn transpose_columns<P: Pairs>(a: P, row: usize, out: *mut u32) {
    let (rows, cols) = a.sizes();
    let depth = rows.div_ceil(2);
    for at in (0..cols).step_by(2 * LANES) {
        for first in (0..depth).step_by(LANES) {
            // SAFETY: the enabled AVX-512 F/BW/BF16; pairs `first..depth` and columns from `at` on exist; `out`
            // holds whole blocks of 16 rows, and columns beyond them are skipped.
            unsafe {
                let whole = cols.next_multiple_of(LANES) - at;
                transpose_block(a, (first, at), depth - first, |column, lanes| {
                    if column < whole {
                        let out = out.add((at + column) * row + first);
                        _mm512_storeu_si512(out.cast(), lanes);
                    }
                });
            }
        }
    }
}

/// The 32 columns from `at` on as rows of tiles of 16 lanes: the tiles of sixteen columns, then the tiles of
/// the other sixteen.
///
/// # Safety
/// 32 columns exist from `at` on, the number of rows is a multiple of 32, and `out` has room for 32 columns;
/// the CPU has AVX-512 F, BW and AVX512_BF16.
#[inline(always)]
pub(crate) unsafe fn transpose_tiles(a: Bf16Rows<'_>, at: usize, out: *mut u32) {
    let depth = a.sizes().0 / 2;
    for first in (0..depth).step_by(LANES) {
        // SAFETY: AVX-512 F/BW/BF16; 16 pairs from `first` on and 32 columns from `at` on exist; `out` holds 32
        // * depth lanes.
        unsafe {
            transpose_block(a, (first, at), LANES, |column, lanes| {
                let place = column / LANES * depth * LANES + first * LANES;
                _mm512_storeu_si512(out.add(place + column % LANES * LANES).cast(), lanes);
            });
        }
    }
}

/// Calls `take` with each of the 32 columns from `at` on and its lanes: at most 16 pairs from `first` on,
/// `pairs` of which exist.
///
/// # Safety
/// As [`Pairs`].
#[inline(always)]
unsafe fn transpose_block<P: Pairs>(
    a: P,
    places: (usize, usize),
    pairs: usize,
    mut take: impl FnMut(usize, __m512i),
) {
    // SAFETY: AVX-512 F/BW/BF16, and pair `first` and column `at` exist, as `Pairs` asks.
    unsafe {
        // Half of the columns at a time: 32 registers hold no more.
        transpose_half::<P, 0>(a, places, pairs, &mut take);
        transpose_half::<P, 1>(a, places, pairs, &mut take);
    }
}

/// Half of [`transpose_block`]'s columns.
///
/// # Safety
/// As [`Pairs`].
#[inline(always)]
unsafe fn transpose_half<P: Pairs, const HALF: usize>(
    a: P,
    (first, at): (usize, usize),
    pairs: usize,
    take: &mut impl FnMut(usize, __m512i),
) {
    // SAFETY: AVX-512 F/BW/BF16; only the `pairs` existing pairs are read, columns from `at` on exist.
    unsafe {
        let mut block = [_mm512_setzero_si512(); LANES];
        if pairs >= LANES {
            for (p, lanes) in block.iter_mut().enumerate() {
                *lanes = a.crossed(first + p, at)[HALF];
            }
        } else {
            for (p, lanes) in block.iter_mut().enumerate().take(pairs) {
                *lanes = a.crossed(first + p, at)[HALF];
            }
        }
        transpose(&mut block);
        for (i, lanes) in block.into_iter().enumerate() {
            take(i / 4 * 8 + HALF * 4 + i % 4, lanes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pairs::FloatRows;
    use super::*;
    use crate::gemm::matrix::Mat;
    use crate::gemm::packed::Buffer;
    use crate::isa;

    /// AMX's operands, packed on any CPU with bf16: the transpose of the AVX-512 kernel's lanes.
    #[test]
    fn columns_are_transposed_into_the_same_lanes() {
        if !isa::bf16() {
            return isa::skipped("AVX512_BF16");
        }
        let data: Vec<f32> = (0..4000).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
        for (rows, cols) in [(40, 37), (7, 16), (64, 48), (33, 5)] {
            let floats = FloatRows::of(Mat::new(&data, rows, cols, cols + 2), 1.0);
            let (depth, whole) = (rows.div_ceil(2), cols.next_multiple_of(LANES));
            let row = depth.next_multiple_of(LANES);
            let (mut straight, mut transposed) = (Buffer::default(), Buffer::default());
            // SAFETY: `isa::bf16` found AVX512_BF16; the buffers hold whole vectors of every pair and of every
            // column.
            unsafe {
                pack_columns(floats, whole, straight.hold(depth * whole));
                transpose_columns(floats, row, transposed.hold(whole * row));
            }
            for (p, column) in (0..depth).flat_map(|p| (0..cols).map(move |column| (p, column))) {
                let lanes =
                    (straight.lanes()[p * whole + column], transposed.lanes()[column * row + p]);
                assert_eq!(lanes.0, lanes.1, "{rows}x{cols}: {p}, {column}");
            }
        }
    }
}

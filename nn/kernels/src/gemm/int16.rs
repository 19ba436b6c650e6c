//! Products of 16-bit integers by AVX2, two per 32-bit lane, with 32-bit sums.

use std::arch::x86_64::*;

/// Lanes per vector.
pub(crate) const LANES: usize = 8;
/// Rows per call.
pub(crate) const FOUR: usize = 4;
/// Vectors of columns per call.
pub(crate) const COLUMNS: usize = 2;

/// Lanes of [`COLUMNS`] vectors, aligned to a cache line; accessed by address.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct LaneLine {
    _lanes: [i32; COLUMNS * LANES],
}

impl LaneLine {
    pub fn new(lanes: [i32; COLUMNS * LANES]) -> LaneLine {
        LaneLine { _lanes: lanes }
    }
}

/// Largest quantized value for which a sum of `products` products fits in 32 bits.
pub(crate) fn highest(products: usize) -> i32 {
    (i32::MAX as usize / products).isqrt() as i32
}

/// Products of four rows of lanes, `row` apart, with `COLUMNS` vectors of each of `depth` rows, `step` apart.
///
/// # Safety
/// Four rows of `depth` lanes lie at `rows`, `row` apart, and `depth` rows of 16 lanes at `columns`, `step`
/// apart; the CPU has AVX2.
#[inline(always)]
pub(crate) unsafe fn products(
    rows: *const i32,
    row: usize,
    columns: *const i32,
    step: usize,
    depth: usize,
) -> [[__m256i; COLUMNS]; FOUR] {
    // SAFETY: AVX2; `p < depth`, so these lanes of rows and columns exist by this function's contract.
    unsafe {
        let mut sums = [[_mm256_setzero_si256(); COLUMNS]; FOUR];
        for p in 0..depth {
            let columns = columns.add(p * step);
            let columns: [_; COLUMNS] =
                std::array::from_fn(|j| _mm256_loadu_si256(columns.add(j * LANES).cast()));
            for (i, sums) in sums.iter_mut().enumerate() {
                let lane = _mm256_set1_epi32(*rows.add(i * row + p));
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(lane, column));
                }
            }
        }
        sums
    }
}

//! Products of numbers of 16 bits by AVX2, two of them in a lane of 32 bits, which their sums have.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// Lanes of a vector.
pub(super) const LANES: usize = 8;
/// Rows that go together.
pub(super) const FOUR: usize = 4;
/// Vectors that a row is multiplied with at a time.
pub(super) const COLUMNS: usize = 2;

/// Lanes of as many vectors: they begin at a cache line, and are read by their address.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Line {
    _lanes: [i32; COLUMNS * LANES],
}

impl Line {
    pub fn new(lanes: [i32; COLUMNS * LANES]) -> Line {
        Line { _lanes: lanes }
    }
}

/// What the highest of some numbers may become where so many of their products are added up: sums have 32 bits.
pub(super) fn highest(products: usize) -> i32 {
    (i32::MAX as usize / products).isqrt() as i32
}

/// The products of four rows of lanes, `row` apart, with `COLUMNS` vectors of each of `depth` rows, `step` apart.
///
/// # Safety
/// Such lanes exist; the CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn products(
    rows: *const i32,
    row: usize,
    columns: *const i32,
    step: usize,
    depth: usize,
) -> [[__m256i; COLUMNS]; FOUR] {
    // SAFETY: this function's contract.
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

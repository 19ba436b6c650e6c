//! Vectors of lanes, floats or pairs of bf16, from rows of floats or of bf16.
#![allow(unsafe_code)]

use super::view::Mat;
use crate::cpu::prefetch::prefetch;
use std::arch::x86_64::*;

/// Columns per vector.
pub(super) const LANES: usize = 16;
/// Columns of a whole panel.
pub(super) const PANEL: usize = 4 * LANES;

/// Mask of the first `len` of 16 lanes.
#[inline(always)]
pub(in crate::cpu) fn tail_mask(len: usize) -> __mmask16 {
    if len >= LANES { !0 } else { !(!0 << len) }
}

/// Converts two vectors of floats to one of bf16 lanes, neighbours in one lane.
///
/// # Safety
/// The CPU has AVX512_BF16.
#[inline(always)]
pub(in crate::cpu) unsafe fn halves(low: __m512, high: __m512) -> __m512i {
    // SAFETY: AVX512_BF16; both types are 64 plain bytes.
    unsafe { std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low)) }
}

/// Converts 16 bf16 to floats.
///
/// # Safety
/// There are eight lanes at `from`; the CPU has AVX-512.
#[inline(always)]
pub(in crate::cpu) unsafe fn floats(from: *const u32) -> __m512 {
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
pub(super) unsafe fn along<const HALF: bool>(
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
        unsafe { halves(load(2 * at), load(2 * at + LANES)) }
    } else {
        // SAFETY: AVX-512F by this function's contract.
        unsafe { _mm512_castps_si512(load(at)) }
    }
}

/// A matrix whose rows are read in pairs, one above the other: two bf16 per lane.
///
/// # Safety
/// All methods ask that the CPU has AVX-512 F, BW and AVX512_BF16, row `2 p` exists, and `at` is a multiple of
/// 32 columns inside it.
pub(super) trait Pairs: Copy {
    /// Rows and columns.
    fn sizes(self) -> (usize, usize);
    /// Lanes of rows `2 p` and `2 p + 1`: 16 columns from `at` on, and the next 16; missing elements are zero.
    /// Prefetches [`AHEAD`] rows below.
    unsafe fn pair(self, p: usize, at: usize) -> [__m512i; 2];
    /// [`Pairs::pair`], four columns in turn: the first vector has columns 0 to 3, 8 to 11 and so on, the
    /// second one the others.
    unsafe fn crossed(self, p: usize, at: usize) -> [__m512i; 2];
}

/// Interleaves the bf16 of `low` with those of `high`, which become the upper halves of the lanes: the first
/// 16, and the rest.
///
/// # Safety
/// The CPU has AVX-512 BW.
#[inline(always)]
pub(in crate::cpu) unsafe fn zip(low: __m512i, high: __m512i) -> [__m512i; 2] {
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
pub(super) unsafe fn cross(low: __m512i, high: __m512i) -> [__m512i; 2] {
    // SAFETY: AVX-512BW; registers only.
    unsafe { [_mm512_unpacklo_epi16(low, high), _mm512_unpackhi_epi16(low, high)] }
}

/// Rows of floats, `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct Floats<'a> {
    data: &'a [f32],
    sizes: (usize, usize),
    stride: usize,
    scale: f32,
}

impl<'a> Floats<'a> {
    /// The rows of `mat` as they lie in memory (a transposed view's columns), times `scale`.
    pub(super) fn of(mat: Mat<'a>, scale: f32) -> Floats<'a> {
        let (sizes, stride) = match mat.col_stride {
            1 => ((mat.rows, mat.cols), mat.row_stride),
            _ => ((mat.cols, mat.rows), mat.col_stride),
        };
        Floats { data: mat.data, sizes, stride, scale }
    }
}

impl Floats<'_> {
    /// Two rows in bf16.
    ///
    /// # Safety
    /// As [`Pairs`].
    #[inline(always)]
    unsafe fn rows(self, p: usize, at: usize) -> [__m512i; 2] {
        let (rows, len) = self.sizes;
        let even = self.data.as_ptr().wrapping_add(2 * p * self.stride + at);
        let odd = even.wrapping_add(self.stride);
        for ahead in [even, odd].map(|row| row.wrapping_add(AHEAD * self.stride)) {
            prefetch(ahead);
            prefetch(ahead.wrapping_add(LANES));
        }
        let masks = [tail_mask(len - at), tail_mask((len - at).saturating_sub(LANES))];
        // SAFETY: AVX-512 F/BF16 by the contract of `Pairs`; the tail masks end at the rows' ends; the odd row
        // exists where it is read.
        unsafe {
            let packed = |row: *const f32| {
                let [low, high] = [0, 1].map(|i| {
                    let x = _mm512_maskz_loadu_ps(masks[i], row.wrapping_add(i * LANES));
                    _mm512_mul_ps(x, _mm512_set1_ps(self.scale))
                });
                halves(low, high)
            };
            let high = if 2 * p + 1 < rows { packed(odd) } else { _mm512_setzero_si512() };
            [packed(even), high]
        }
    }
}

/// Rows of bf16, two per lane, `stride` lanes apart, padded to whole vectors.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Halves<'a> {
    pub(super) data: &'a [u32],
    pub(super) sizes: (usize, usize),
    pub(super) stride: usize,
}

impl<'a> Halves<'a> {
    /// # Panics
    /// If the rows are no whole vectors, too short or too few: a fault of the caller.
    pub(in crate::cpu) fn new(
        data: &'a [u32],
        rows: usize,
        cols: usize,
        stride: usize,
    ) -> Halves<'a> {
        let whole = stride.is_multiple_of(LANES) && cols <= 2 * stride;
        let last = cols.div_ceil(2).next_multiple_of(LANES);
        let fits = rows > 0 && (rows - 1) * stride + last <= data.len();
        assert!(whole && fits, "{rows} rows of {stride} in {}", data.len());
        Halves { data, sizes: (rows, cols), stride }
    }

    /// Loads 16 lanes of row `i` from lane `at` on.
    ///
    /// # Safety
    /// The lanes exist; the CPU has AVX-512.
    #[inline(always)]
    pub(super) unsafe fn lanes(self, i: usize, at: usize) -> __m512i {
        // SAFETY: AVX-512F; 16 lanes from `at` on exist in row `i`.
        unsafe { _mm512_loadu_si512(self.data.as_ptr().add(i * self.stride + at).cast()) }
    }
}

impl Halves<'_> {
    /// Two rows.
    ///
    /// # Safety
    /// As [`Pairs`].
    #[inline(always)]
    unsafe fn rows(self, p: usize, at: usize) -> [__m512i; 2] {
        let even = self.data.as_ptr().wrapping_add(2 * p * self.stride + at / 2);
        let odd = even.wrapping_add(self.stride);
        prefetch(even.wrapping_add(AHEAD * self.stride));
        prefetch(odd.wrapping_add(AHEAD * self.stride));
        // SAFETY: AVX-512F by the contract of `Pairs`; rows are whole vectors of 32 bf16; the odd row exists
        // where it is read.
        unsafe {
            let high = match 2 * p + 1 < self.sizes.0 {
                true => _mm512_loadu_si512(odd.cast()),
                false => _mm512_setzero_si512(),
            };
            [_mm512_loadu_si512(even.cast()), high]
        }
    }
}

/// Both kinds of rows are interleaved alike.
macro_rules! pairs {
    ($rows:ty) => {
        impl Pairs for $rows {
            fn sizes(self) -> (usize, usize) {
                self.sizes
            }

            #[inline(always)]
            unsafe fn pair(self, p: usize, at: usize) -> [__m512i; 2] {
                // SAFETY: AVX-512 F/BW/BF16, row `2 p` and column `at` by the trait's contract.
                unsafe {
                    let [low, high] = self.rows(p, at);
                    zip(low, high)
                }
            }

            #[inline(always)]
            unsafe fn crossed(self, p: usize, at: usize) -> [__m512i; 2] {
                // SAFETY: AVX-512 F/BW/BF16, row `2 p` and column `at` by the trait's contract.
                unsafe {
                    let [low, high] = self.rows(p, at);
                    cross(low, high)
                }
            }
        }
    };
}

pairs!(Floats<'_>);
pairs!(Halves<'_>);

/// Rows of software prefetch in packing: operands come from beyond L2, and the hardware prefetcher does not
/// follow a walk down the columns.
pub(super) const AHEAD: usize = 8;

/// Transposes a block of 16 x 16 lanes: 32-bit, then 64-bit unpacks inside the 128-bit quarters of four rows,
/// then the quarters.
///
/// # Safety
/// The CPU has AVX-512F.
#[inline(always)]
pub(in crate::cpu) unsafe fn transpose(block: &mut [__m512i; LANES]) {
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

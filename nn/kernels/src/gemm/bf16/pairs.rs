//! Rows of floats or of bf16, read two at a time as lanes of two bf16 (AVX512_BF16): neighbours along the inner
//! dimension of a product share a lane.

use crate::gemm::matrix::Mat;
use crate::simd::avx512::{LANES, cross, f32_to_bf16, tail_mask, zip};
use crate::simd::prefetch::prefetch;
use std::arch::x86_64::*;

/// A matrix whose rows are read in pairs, one above the other: two bf16 per lane.
///
/// # Safety
/// All methods ask that the CPU has AVX-512 F, BW and AVX512_BF16, row `2 p` exists, and `at` is a multiple of
/// 32 columns inside it.
pub(crate) trait Pairs: Copy {
    /// Rows and columns.
    fn sizes(self) -> (usize, usize);
    /// Lanes of rows `2 p` and `2 p + 1`: 16 columns from `at` on, and the next 16; missing elements are zero.
    /// Prefetches [`AHEAD`] rows below.
    unsafe fn pair(self, p: usize, at: usize) -> [__m512i; 2];
    /// [`Pairs::pair`], four columns in turn: the first vector has columns 0 to 3, 8 to 11 and so on, the
    /// second one the others.
    unsafe fn crossed(self, p: usize, at: usize) -> [__m512i; 2];
}

/// Rows of floats, `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct FloatRows<'a> {
    data: &'a [f32],
    sizes: (usize, usize),
    stride: usize,
    scale: f32,
}

impl<'a> FloatRows<'a> {
    /// The rows of `mat` as they lie in memory (a transposed view's columns), times `scale`.
    pub(crate) fn of(mat: Mat<'a>, scale: f32) -> FloatRows<'a> {
        let (sizes, stride) = match mat.col_stride {
            1 => ((mat.rows, mat.cols), mat.row_stride),
            _ => ((mat.cols, mat.rows), mat.col_stride),
        };
        FloatRows { data: mat.data, sizes, stride, scale }
    }
}

impl FloatRows<'_> {
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
                f32_to_bf16(low, high)
            };
            let high = if 2 * p + 1 < rows { packed(odd) } else { _mm512_setzero_si512() };
            [packed(even), high]
        }
    }
}

/// Rows of bf16, two per lane, `stride` lanes apart, padded to whole vectors.
#[derive(Clone, Copy)]
pub struct Bf16Rows<'a> {
    pub(crate) data: &'a [u32],
    pub(crate) sizes: (usize, usize),
    pub(crate) stride: usize,
}

impl<'a> Bf16Rows<'a> {
    /// # Panics
    /// If the rows are no whole vectors, too short or too few: a fault of the caller.
    pub(crate) fn new(data: &'a [u32], rows: usize, cols: usize, stride: usize) -> Bf16Rows<'a> {
        let whole = stride.is_multiple_of(LANES) && cols <= 2 * stride;
        let last = cols.div_ceil(2).next_multiple_of(LANES);
        let fits = rows > 0 && (rows - 1) * stride + last <= data.len();
        assert!(whole && fits, "{rows} rows of {stride} in {}", data.len());
        Bf16Rows { data, sizes: (rows, cols), stride }
    }

    /// Loads 16 lanes of row `i` from lane `at` on.
    ///
    /// # Safety
    /// The lanes exist; the CPU has AVX-512.
    #[inline(always)]
    pub(crate) unsafe fn lanes(self, i: usize, at: usize) -> __m512i {
        // SAFETY: AVX-512F; 16 lanes from `at` on exist in row `i`.
        unsafe { _mm512_loadu_si512(self.data.as_ptr().add(i * self.stride + at).cast()) }
    }
}

impl Bf16Rows<'_> {
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

pairs!(FloatRows<'_>);
pairs!(Bf16Rows<'_>);

/// Rows of software prefetch in packing: operands come from beyond L2, and the hardware prefetcher does not
/// follow a walk down the columns.
pub(crate) const AHEAD: usize = 8;

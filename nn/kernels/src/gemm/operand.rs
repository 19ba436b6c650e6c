//! A matrix of activations ready for products: written once by its producer, a few rows at a time, and read by
//! the products of the forward pass and of the gradient. bf16 halves the memory traffic, which limits a
//! training step.

#[cfg(target_arch = "x86_64")]
use super::bf16::pairs::Bf16Rows;
#[cfg(target_arch = "x86_64")]
use super::bf16::rows::{add_halves, pack_rows, unpack_rows};
use super::matrix::Mat;
#[cfg(target_arch = "x86_64")]
use super::packed::{Buffer, Left, Right};
use crate::isa;
use crate::isa::Isa;
use crate::precision::Arithmetic;
#[cfg(target_arch = "x86_64")]
use crate::simd::avx512::LANES;
use std::ops::Range;

/// `[rows, cols]` in one arithmetic.
#[derive(Default)]
pub struct Operand {
    rows: usize,
    cols: usize,
    halves: bool,
    floats: Vec<f32>,
    /// Rows of bf16, padded to whole vectors.
    #[cfg(target_arch = "x86_64")]
    lanes: Buffer,
}

impl Operand {
    /// Makes room; the content is unspecified until it is put. An arithmetic that this CPU lacks becomes
    /// single.
    pub fn shape(&mut self, arithmetic: Arithmetic, rows: usize, cols: usize) {
        (self.rows, self.cols) = (rows, cols);
        self.halves = arithmetic == Arithmetic::Bf16 && isa::bf16();
        #[cfg(target_arch = "x86_64")]
        if self.halves {
            self.lanes.hold(rows.next_multiple_of(LANES) * self.stride());
            return;
        }
        self.floats.resize(rows * cols, 0.0);
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The arithmetic of its products.
    #[must_use]
    pub fn arithmetic(&self) -> Arithmetic {
        if self.halves { Arithmetic::Bf16 } else { Arithmetic::Single }
    }

    /// Lanes from row to row.
    #[cfg(target_arch = "x86_64")]
    fn stride(&self) -> usize {
        self.cols.div_ceil(2).next_multiple_of(LANES)
    }

    /// Writes whole rows from row `first` on.
    ///
    /// # Panics
    /// If `x` holds no whole rows, or more than there are: a fault of the caller.
    pub fn put(&mut self, first: usize, x: &[f32]) {
        let rows = x.len() / self.cols;
        assert!(rows * self.cols == x.len() && first + rows <= self.rows, "{rows} at {first}");
        #[cfg(target_arch = "x86_64")]
        if self.halves && rows > 0 {
            let stride = self.stride();
            let out = self.lanes.hold(self.rows.next_multiple_of(LANES) * stride);
            // SAFETY: `halves` implies AVX512_BF16; rows `first..first + rows` of `stride` lanes, whole
            // vectors, lie in the buffer, asserted above.
            unsafe {
                pack_rows(
                    Mat::new(x, rows, self.cols, self.cols),
                    1.0,
                    stride,
                    out.add(first * stride),
                );
            }
            return;
        }
        self.floats[first * self.cols..][..x.len()].copy_from_slice(x);
    }

    /// Reads whole rows from row `first` on.
    ///
    /// # Panics
    /// If `out` has room for no whole rows, or for more than there are: a fault of the caller.
    pub fn get(&self, first: usize, out: &mut [f32]) {
        let rows = out.len() / self.cols;
        assert!(rows * self.cols == out.len() && first + rows <= self.rows, "{rows} at {first}");
        #[cfg(target_arch = "x86_64")]
        if self.halves {
            let stride = self.stride();
            let from = &self.lanes.lanes()[first * stride..][..rows * stride];
            // SAFETY: `halves` implies AVX512_BF16 (hence F/BW); `rows` rows of `stride` lanes, whole vectors,
            // lie at `from`.
            return unsafe { unpack_rows(from.as_ptr(), stride, self.cols, out) };
        }
        out.copy_from_slice(&self.floats[first * self.cols..][..out.len()]);
    }

    /// Adds every row whose index is `rest` modulo `every` to `out`.
    ///
    /// # Panics
    /// If `out` is not as long as a row: a fault of the caller.
    pub fn add_every(&self, isa: Isa, every: usize, rest: usize, out: &mut [f32]) {
        assert!(out.len() == self.cols, "{} floats for {} columns", out.len(), self.cols);
        #[cfg(target_arch = "x86_64")]
        if self.halves {
            let rows = self.rows.saturating_sub(rest).div_ceil(every);
            let lanes = &self.lanes.lanes()[..self.rows * self.stride()];
            let first = lanes.as_ptr().wrapping_add(rest * self.stride());
            // SAFETY: `halves` implies AVX512_BF16 (hence F/BW); rows `rest`, `rest + every` and so on are
            // below `self.rows`, each of `stride` lanes.
            return unsafe { add_halves(first, every * self.stride(), rows, out) };
        }
        for row in (rest..self.rows).step_by(every) {
            crate::ops::add_scaled(isa, out, 1.0, &self.floats[row * self.cols..][..self.cols]);
        }
    }

    /// The lanes of rows of bf16; None for floats.
    #[cfg(target_arch = "x86_64")]
    pub fn lanes_mut(&mut self, rows: Range<usize>) -> Option<&mut [u32]> {
        assert!(rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        let stride = self.stride();
        let lanes = self.halves.then(|| self.lanes.lanes_mut())?;
        Some(&mut lanes[rows.start * stride..rows.end * stride])
    }

    /// [`Operand::lanes_mut`], read-only.
    #[cfg(target_arch = "x86_64")]
    pub fn lanes(&self, rows: Range<usize>) -> Option<&[u32]> {
        assert!(rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        let stride = self.stride();
        self.halves.then(|| &self.lanes.lanes()[rows.start * stride..rows.end * stride])
    }

    /// Rows of floats.
    ///
    /// # Panics
    /// If they are halves: a fault of the caller.
    pub(super) fn floats(&self, rows: Range<usize>) -> Mat<'_> {
        assert!(!self.halves && rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        Mat::new(&self.floats[rows.start * self.cols..], rows.len(), self.cols, self.cols)
    }

    /// Rows as a left operand; None for floats.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn left(&self, rows: Range<usize>) -> Option<Left<'_>> {
        assert!(rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        let lanes = || &self.lanes.lanes()[rows.start * self.stride()..];
        self.halves.then(|| Left::of(lanes(), rows.len(), self.cols))
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn pairs(&self) -> Bf16Rows<'_> {
        assert!(self.halves, "no halves");
        Bf16Rows::new(self.lanes.lanes(), self.rows, self.cols, self.stride())
    }

    /// The transpose as a left operand for `isa`, packed into `buffer`.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn transposed<'a>(&self, isa: Isa, buffer: &'a mut Buffer) -> Left<'a> {
        Left::transposed(self.pairs(), isa, buffer)
    }

    /// All rows as a right operand for `isa`, packed into `buffer`.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn right<'a>(&self, isa: Isa, buffer: &'a mut Buffer) -> Right<'a> {
        Right::halves(self.pairs(), isa, buffer)
    }
}

//! Operands as 32-bit lanes: one float, or two bf16 neighbours along the inner dimension `k`.
//!
//! Floats are used in place if their columns fill vectors. bf16 is packed first: the left operand row by row
//! or, transposed, by pairs of rows; the right one in contiguous panels of up to 64 columns (16 for AMX), so
//! that a panel is read sequentially.

use super::bf16::columns::{pack_columns, transpose_columns};
use super::bf16::pairs::{Bf16Rows, FloatRows, Pairs};
use super::bf16::rows::pack_rows;
use super::matrix::Mat;
use super::method::Method;
use super::panels::PANEL;
use super::panels::{
    Panels, pack_panels, pack_right_plain, pack_right_single, transpose_lanes,
    transpose_panels_half,
};
use crate::isa;
use crate::isa::Isa;
use crate::precision::Arithmetic;
use crate::simd::avx512::LANES;

/// The left operand: lane `p` of row `i` is `data[i * row + p * step]`.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub data: &'a [u32],
    pub row: usize,
    pub step: usize,
    pub rows: usize,
    pub depth: usize,
    pub arithmetic: Arithmetic,
}

/// The right operand: column `j` of lane row `p` is `data[j / columns * panel + p * step + j % columns]`.
/// Vectors are whole: lanes exist up to the next multiple of 16 columns.
#[derive(Clone, Copy)]
pub(crate) struct Right<'a> {
    pub data: &'a [u32],
    pub step: usize,
    pub panel: usize,
    /// Columns per panel: 16 or 64.
    pub columns: usize,
    pub cols: usize,
    pub depth: usize,
    pub arithmetic: Arithmetic,
}

/// Bits of floats.
fn bits(x: &[f32]) -> &[u32] {
    // SAFETY: f32 and u32 have the same size and alignment, and any bits are a valid u32.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), x.len()) }
}

/// Lanes aligned to cache lines: tiles whose rows straddle two lines load at half the speed.
#[derive(Default)]
pub struct Buffer(Vec<WordLine>);

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct WordLine([u32; LANES]);

impl Buffer {
    /// Makes room for `lanes` with unspecified content. It never shrinks: growing back would zero the lanes
    /// again.
    pub(crate) fn hold(&mut self, lanes: usize) -> *mut u32 {
        let lines = lanes.div_ceil(LANES);
        if self.0.len() < lines {
            self.0.resize(lines, WordLine([0; LANES]));
        }
        self.0.as_mut_ptr().cast()
    }

    pub(crate) fn lanes_mut(&mut self) -> &mut [u32] {
        // SAFETY: a `WordLine` is 16 lanes without padding; the slice borrows the lines exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * LANES) }
    }

    pub(crate) fn lanes(&self) -> &[u32] {
        // SAFETY: a `WordLine` is 16 lanes without padding; the slice borrows the lines.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LANES) }
    }
}

/// Lanes of `k` elements.
fn depth(arithmetic: Arithmetic, k: usize) -> usize {
    match arithmetic {
        Arithmetic::Bf16 => k.div_ceil(2),
        _ => k,
    }
}

/// Panel layout of a right operand with `k` rows before packing.
fn panels(method: Method, k: usize, cols: usize) -> Panels {
    let columns = match (method.isa, method.arithmetic) {
        (Isa::Amx, Arithmetic::Bf16) => LANES,
        _ => PANEL,
    };
    Panels::new(depth(method.arithmetic, k), columns, cols)
}

impl<'a> Left<'a> {
    /// Floats, in place.
    pub(crate) fn plain(a: Mat<'a>) -> Left<'a> {
        Left {
            data: bits(a.data),
            row: a.row_stride,
            step: a.col_stride,
            rows: a.rows,
            depth: a.cols,
            arithmetic: Arithmetic::Single,
        }
    }

    /// `scale * a` in bf16, packed into `buffer` for `isa`.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    pub(crate) fn halves(a: Mat<'_>, scale: f32, isa: Isa, buffer: &'a mut Buffer) -> Left<'a> {
        if a.col_stride != 1 {
            return Left::columns(FloatRows::of(a, scale), isa, buffer);
        }
        assert!(isa::bf16(), "no bf16 on this CPU");
        let depth = depth(Arithmetic::Bf16, a.cols);
        let row = depth.next_multiple_of(LANES);
        let out = buffer.hold(a.rows.next_multiple_of(LANES) * row);
        // SAFETY: AVX512_BF16 was asserted; the buffer holds `a.rows` rows of `row` lanes, whole vectors.
        unsafe { pack_rows(a, scale, row, out) };
        Left::of(buffer.lanes(), a.rows, a.cols)
    }

    /// Rows of bf16, in place: whole vectors each, in whole blocks of 16 rows.
    ///
    /// # Panics
    /// If they are not: a fault of the caller.
    pub(crate) fn rows(a: Bf16Rows<'a>) -> Left<'a> {
        let (rows, cols) = a.sizes;
        assert!(cols.is_multiple_of(2 * LANES) && rows.is_multiple_of(LANES), "{rows} x {cols}");
        let (data, row, depth) = (a.data, a.stride, cols / 2);
        Left { data, row, step: 1, rows, depth, arithmetic: Arithmetic::Bf16 }
    }

    /// [`Left::rows`], copied contiguously into `buffer`.
    ///
    /// # Panics
    /// As [`Left::rows`].
    pub(crate) fn copied(a: Bf16Rows<'_>, buffer: &'a mut Buffer) -> Left<'a> {
        let Left { data, row, rows, depth, .. } = Left::rows(a);
        buffer.hold(rows * depth);
        let copies = buffer.lanes_mut().chunks_exact_mut(depth).take(rows);
        for (from, to) in data.chunks(row).zip(copies) {
            to.copy_from_slice(&from[..depth]);
        }
        Left {
            data: buffer.lanes(),
            row: depth,
            step: 1,
            rows,
            depth,
            arithmetic: Arithmetic::Bf16,
        }
    }

    /// Rows of bf16 in `data`, whole vectors each, with room for whole blocks of 16 rows.
    pub(crate) fn of(data: &'a [u32], rows: usize, cols: usize) -> Left<'a> {
        let depth = depth(Arithmetic::Bf16, cols);
        let row = depth.next_multiple_of(LANES);
        Left { data, row, step: 1, rows, depth, arithmetic: Arithmetic::Bf16 }
    }

    /// The transpose of rows of bf16, packed into `buffer` for `isa`.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    pub(crate) fn transposed(a: Bf16Rows<'_>, isa: Isa, buffer: &'a mut Buffer) -> Left<'a> {
        Left::columns(a, isa, buffer)
    }

    /// The columns of `a` as rows.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    fn columns(a: impl Pairs, isa: Isa, buffer: &'a mut Buffer) -> Left<'a> {
        assert!(isa::bf16(), "no bf16 on this CPU");
        let (inner, rows) = a.sizes();
        let depth = depth(Arithmetic::Bf16, inner);
        let whole = |n: usize| n.next_multiple_of(LANES);
        // AMX reads rows; the AVX-512 kernel reads columns in place.
        let (row, step) = if isa == Isa::Amx { (whole(depth), 1) } else { (1, whole(rows)) };
        // SAFETY: AVX512_BF16 was asserted; the buffer holds whole blocks of 16 rows of `row` lanes, or `depth`
        // pairs of `step` lanes, whole vectors.
        unsafe {
            if step == 1 {
                transpose_columns(a, row, buffer.hold(whole(rows) * row));
            } else {
                pack_columns(a, step, buffer.hold(depth * step));
            }
        }
        Left { data: buffer.lanes(), row, step, rows, depth, arithmetic: Arithmetic::Bf16 }
    }
}

impl<'a> Right<'a> {
    /// Floats, in place, if their columns fill vectors.
    pub(crate) fn plain(b: Mat<'a>) -> Option<Right<'a>> {
        (b.col_stride == 1 && b.cols.is_multiple_of(LANES)).then(|| Right {
            data: bits(b.data),
            step: b.row_stride,
            panel: PANEL,
            columns: PANEL,
            cols: b.cols,
            depth: b.rows,
            arithmetic: Arithmetic::Single,
        })
    }

    /// Packed into `buffer`.
    ///
    /// # Panics
    /// If the CPU lacks the arithmetic or `isa`: a fault of the caller.
    pub(crate) fn packed(b: Mat<'_>, method: Method, buffer: &'a mut Buffer) -> Right<'a> {
        let Method { isa, arithmetic } = method;
        let halves = arithmetic == Arithmetic::Bf16;
        assert!(isa <= Isa::found() && (!halves || isa::bf16()), "no {arithmetic} by {isa}");
        let panels = panels(method, b.rows, b.cols);
        let out = buffer.hold(panels.lanes);
        // SAFETY: the CPU has `isa`, and AVX512_BF16 for bf16, asserted above; the buffer holds `panels.lanes`,
        // all panels.
        unsafe {
            match arithmetic {
                Arithmetic::Bf16 if b.col_stride == 1 => {
                    pack_panels(FloatRows::of(b, 1.0), panels, out);
                }
                Arithmetic::Bf16 => transpose_panels_half(b, panels, out),
                _ if isa >= Isa::Avx512 => pack_right_single(b, panels, out),
                _ => pack_right_plain(b, panels, out),
            }
        }
        Right::of(buffer.lanes(), b.cols, b.cols, b.rows, method)
    }

    /// Rows of bf16 as the operand's rows, packed into `buffer` for `isa`.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    pub(crate) fn halves(b: Bf16Rows<'_>, isa: Isa, buffer: &'a mut Buffer) -> Right<'a> {
        assert!(isa::bf16(), "no bf16 on this CPU");
        let (rows, cols) = b.sizes();
        let method = Method { isa, arithmetic: Arithmetic::Bf16 };
        let panels = panels(method, rows, cols);
        let out = buffer.hold(panels.lanes);
        // SAFETY: AVX512_BF16 was asserted; the buffer holds `panels.lanes`, all panels.
        unsafe { pack_panels(b, panels, out) };
        Right::of(buffer.lanes(), cols, cols, rows, method)
    }

    /// Rows of bf16 as the operand's columns, packed into `buffer` for `isa`.
    ///
    /// # Panics
    /// If the rows are no whole vectors of lanes or no blocks of 16, or the CPU lacks [`Arithmetic::Bf16`]: a fault
    /// of the caller.
    pub(crate) fn channels(b: Bf16Rows<'_>, isa: Isa, buffer: &'a mut Buffer) -> Right<'a> {
        assert!(isa::bf16(), "no bf16 on this CPU");
        let (cols, rows) = b.sizes();
        assert!(cols.is_multiple_of(LANES) && rows.is_multiple_of(2 * LANES), "{cols} x {rows}");
        let method = Method { isa, arithmetic: Arithmetic::Bf16 };
        let panels = panels(method, rows, cols);
        let out = buffer.hold(panels.lanes);
        // SAFETY: AVX512_BF16 (hence F/BW) was asserted, as were blocks of 16 columns and 32 rows; the buffer
        // holds `panels.lanes`, all panels.
        unsafe { transpose_lanes(b, panels, out) };
        Right::of(buffer.lanes(), cols, cols, rows, method)
    }

    /// The first `cols` of the `all` columns that [`Right::packed`] left in `data`; `k` rows before packing.
    pub(crate) fn of(
        data: &'a [u32],
        all: usize,
        cols: usize,
        k: usize,
        method: Method,
    ) -> Right<'a> {
        let Panels { columns, step, depth, lanes } = panels(method, k, all);
        assert!(cols <= all && data.len() >= lanes, "{lanes} lanes in {}", data.len());
        let (panel, arithmetic) = (depth * columns, method.arithmetic);
        Right { data, step, panel, columns, cols, depth, arithmetic }
    }

    /// Index of the first lane of column `j`.
    #[inline(always)]
    pub(crate) fn at(&self, j: usize) -> usize {
        j / self.columns * self.panel + j % self.columns
    }
}

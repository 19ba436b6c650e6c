//! Operands as lanes of 32 bits: one float, or two bf16 neighbours along the inner dimension `k`.
//!
//! Floats are multiplied where they lie if their columns fill vectors; halves are packed first, the left
//! operand row by row or, transposed, pair of rows by pair of rows, the right one in panels of up to 64
//! columns that lie together, so that a panel is read from end to end; for tiles they have 16.
#![allow(unsafe_code)]

use super::columns::{pack_columns, transpose_columns};
use super::pairs::{Floats, Halves, LANES, PANEL, Pairs};
use super::panels::{
    Panels, pack_panels, pack_right_plain, pack_right_single, transpose_lanes,
    transpose_panels_half,
};
use super::rows::pack_rows;
use super::view::Mat;
use crate::cpu::isa::{self, Isa};
use crate::precision::Arithmetic;

/// What multiplies, and how.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Method {
    /// The instructions.
    pub isa: Isa,
    /// What the lanes hold.
    pub arithmetic: Arithmetic,
}

impl Method {
    /// How the panels of a right operand lie, `k` rows before packing.
    fn panels(self, k: usize, cols: usize) -> Panels {
        let columns = match (self.isa, self.arithmetic) {
            (Isa::Amx, Arithmetic::Bf16) => LANES,
            _ => PANEL,
        };
        Panels::new(depth(self.arithmetic, k), columns, cols)
    }
}

/// The left operand: lane `p` of row `i` is `data[i * row + p * step]`.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Left<'a> {
    pub data: &'a [u32],
    pub row: usize,
    pub step: usize,
    pub rows: usize,
    pub depth: usize,
    pub arithmetic: Arithmetic,
}

/// The right operand: column `j` of lane row `p` is `data[j / columns * panel + p * step + j % columns]`. Vectors are
/// whole: lanes up to the next multiple of 16 columns exist.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Right<'a> {
    pub data: &'a [u32],
    pub step: usize,
    pub panel: usize,
    /// Of a panel: 16 or 64.
    pub columns: usize,
    pub cols: usize,
    pub depth: usize,
    pub arithmetic: Arithmetic,
}

/// The bits of floats.
fn bits(x: &[f32]) -> &[u32] {
    // SAFETY: same size, same alignment, and any bits are a u32.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), x.len()) }
}

/// Lanes of whole cache lines: tiles whose rows straddle two of them would load at half the speed.
#[derive(Default)]
pub(in crate::cpu) struct Buffer(Vec<Line>);

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u32; LANES]);

impl Buffer {
    /// Room for `lanes`, whatever they hold. None is ever taken away, because what comes back would be
    /// filled with zeros again.
    pub(in crate::cpu) fn hold(&mut self, lanes: usize) -> *mut u32 {
        let lines = lanes.div_ceil(LANES);
        if self.0.len() < lines {
            self.0.resize(lines, Line([0; LANES]));
        }
        self.0.as_mut_ptr().cast()
    }

    pub(in crate::cpu) fn lanes_mut(&mut self) -> &mut [u32] {
        // SAFETY: a line is 16 lanes and nothing else.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * LANES) }
    }

    pub(in crate::cpu) fn lanes(&self) -> &[u32] {
        // SAFETY: a line is 16 lanes and nothing else.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LANES) }
    }
}

/// Lanes that `k` elements fill.
fn depth(arithmetic: Arithmetic, k: usize) -> usize {
    match arithmetic {
        Arithmetic::Bf16 => k.div_ceil(2),
        _ => k,
    }
}

impl<'a> Left<'a> {
    /// Floats where they lie.
    pub(super) fn plain(a: Mat<'a>) -> Left<'a> {
        Left {
            data: bits(a.data),
            row: a.row_stride,
            step: a.col_stride,
            rows: a.rows,
            depth: a.cols,
            arithmetic: Arithmetic::Single,
        }
    }

    /// Halves, `scale` times as large, packed into `buffer` for `isa`.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    pub(in crate::cpu) fn halves(
        a: Mat<'_>,
        scale: f32,
        isa: Isa,
        buffer: &'a mut Buffer,
    ) -> Left<'a> {
        if a.col_stride != 1 {
            return Left::columns(Floats::of(a, scale), isa, buffer);
        }
        assert!(isa::bf16(), "no bf16 on this CPU");
        let depth = depth(Arithmetic::Bf16, a.cols);
        let row = depth.next_multiple_of(LANES);
        let out = buffer.hold(a.rows.next_multiple_of(LANES) * row);
        // SAFETY: the CPU has the features, as was checked; the buffer holds whole vectors of every row.
        unsafe { pack_rows(a, scale, row, out) };
        Left::of(buffer.lanes(), a.rows, a.cols)
    }

    /// Rows of halves where they lie, whole vectors each and whole blocks of 16 rows.
    ///
    /// # Panics
    /// If they are not: a fault of the caller.
    pub(in crate::cpu) fn rows(a: Halves<'a>) -> Left<'a> {
        let (rows, cols) = a.sizes;
        assert!(cols.is_multiple_of(2 * LANES) && rows.is_multiple_of(LANES), "{rows} x {cols}");
        let (data, row, depth) = (a.data, a.stride, cols / 2);
        Left { data, row, step: 1, rows, depth, arithmetic: Arithmetic::Bf16 }
    }

    /// The same one after another in `buffer`.
    ///
    /// # Panics
    /// As [`Left::rows`].
    pub(in crate::cpu) fn copied(a: Halves<'_>, buffer: &'a mut Buffer) -> Left<'a> {
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

    /// Rows of halves that lie in `data`, whole vectors each, with room for whole blocks of 16 rows.
    pub(super) fn of(data: &'a [u32], rows: usize, cols: usize) -> Left<'a> {
        let depth = depth(Arithmetic::Bf16, cols);
        let row = depth.next_multiple_of(LANES);
        Left { data, row, step: 1, rows, depth, arithmetic: Arithmetic::Bf16 }
    }

    /// The transpose of rows of halves, packed into `buffer` for `isa`.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    pub(in crate::cpu) fn transposed(a: Halves<'_>, isa: Isa, buffer: &'a mut Buffer) -> Left<'a> {
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
        // Tiles take rows; the AVX-512 kernel takes columns as they come.
        let (row, step) = if isa == Isa::Amx { (whole(depth), 1) } else { (1, whole(rows)) };
        // SAFETY: the CPU has the features, as was checked; the buffer holds every vector that is written.
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
    /// Floats where they lie, if their columns fill vectors.
    pub(super) fn plain(b: Mat<'a>) -> Option<Right<'a>> {
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
    pub(in crate::cpu) fn packed(b: Mat<'_>, method: Method, buffer: &'a mut Buffer) -> Right<'a> {
        let Method { isa, arithmetic } = method;
        let halves = arithmetic == Arithmetic::Bf16;
        assert!(isa <= Isa::found() && (!halves || isa::bf16()), "no {arithmetic} by {isa}");
        let panels = method.panels(b.rows, b.cols);
        let out = buffer.hold(panels.lanes);
        // SAFETY: the CPU has the features, as was checked; the buffer holds all panels.
        unsafe {
            match arithmetic {
                Arithmetic::Bf16 if b.col_stride == 1 => {
                    pack_panels(Floats::of(b, 1.0), panels, out);
                }
                Arithmetic::Bf16 => transpose_panels_half(b, panels, out),
                _ if isa >= Isa::Avx512 => pack_right_single(b, panels, out),
                _ => pack_right_plain(b, panels, out),
            }
        }
        Right::of(buffer.lanes(), b.cols, b.cols, b.rows, method)
    }

    /// Rows of halves as the rows of the operand, packed into `buffer` for `isa`.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    pub(in crate::cpu) fn halves(b: Halves<'_>, isa: Isa, buffer: &'a mut Buffer) -> Right<'a> {
        assert!(isa::bf16(), "no bf16 on this CPU");
        let (rows, cols) = b.sizes();
        let method = Method { isa, arithmetic: Arithmetic::Bf16 };
        let panels = method.panels(rows, cols);
        let out = buffer.hold(panels.lanes);
        // SAFETY: the CPU has the features, as was checked; the buffer holds all panels.
        unsafe { pack_panels(b, panels, out) };
        Right::of(buffer.lanes(), cols, cols, rows, method)
    }

    /// Rows of halves as the columns of the operand, packed into `buffer` for `isa`.
    ///
    /// # Panics
    /// If the rows are no whole vectors of lanes or no blocks of 16, or the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    pub(in crate::cpu) fn channels(b: Halves<'_>, isa: Isa, buffer: &'a mut Buffer) -> Right<'a> {
        assert!(isa::bf16(), "no bf16 on this CPU");
        let (cols, rows) = b.sizes();
        assert!(cols.is_multiple_of(LANES) && rows.is_multiple_of(2 * LANES), "{cols} x {rows}");
        let method = Method { isa, arithmetic: Arithmetic::Bf16 };
        let panels = method.panels(rows, cols);
        let out = buffer.hold(panels.lanes);
        // SAFETY: the CPU has the features; the buffer holds all panels.
        unsafe { transpose_lanes(b, panels, out) };
        Right::of(buffer.lanes(), cols, cols, rows, method)
    }

    /// The first `cols` of the `all` columns that [`Right::packed`] left in `data`; `k` rows before packing.
    pub(in crate::cpu) fn of(
        data: &'a [u32],
        all: usize,
        cols: usize,
        k: usize,
        method: Method,
    ) -> Right<'a> {
        let Panels { columns, step, depth, lanes } = method.panels(k, all);
        assert!(cols <= all && data.len() >= lanes, "{lanes} lanes in {}", data.len());
        let (panel, arithmetic) = (depth * columns, method.arithmetic);
        Right { data, step, panel, columns, cols, depth, arithmetic }
    }

    /// The lane where column `j` begins.
    #[inline(always)]
    pub(in crate::cpu) fn at(&self, j: usize) -> usize {
        j / self.columns * self.panel + j % self.columns
    }
}

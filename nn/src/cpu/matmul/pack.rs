//! Operands as lanes of 32 bits: one float, or two bf16 neighbours along the inner dimension `k`.
//!
//! Floats are multiplied where they lie if their columns fill vectors; halves are packed first, the left
//! operand row by row or, transposed, pair of rows by pair of rows, the right one in panels of up to 64
//! columns that lie together, so that a panel is read from end to end; for tiles they have 16.
#![allow(unsafe_code)]

use super::pairs::{
    AHEAD, Floats, Halves, LANES, PANEL, Pairs, along, first, floats, halves, transpose,
};
use super::view::Mat;
use crate::cpu::isa::{self, Isa};
use crate::cpu::prefetch::prefetch;
use crate::precision::Arithmetic;
use std::arch::x86_64::*;

/// What multiplies, and how.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Method {
    /// The instructions.
    pub isa: Isa,
    /// What the lanes hold.
    pub arithmetic: Arithmetic,
}

impl Method {
    /// Columns of a right operand's panel.
    fn panel(self) -> usize {
        match (self.isa, self.arithmetic) {
            (Isa::Amx, Arithmetic::Bf16) => LANES,
            _ => PANEL,
        }
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

    /// Halves, `scale` times as large, packed into `buffer`.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    pub(in crate::cpu) fn halves(a: Mat<'_>, scale: f32, buffer: &'a mut Buffer) -> Left<'a> {
        if a.col_stride != 1 {
            return Left::columns(Floats::of(a, scale), buffer);
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
        for (from, to) in data.chunks(row).zip(buffer.lanes_mut().chunks_exact_mut(depth)) {
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

    /// The transpose of rows of halves, packed into `buffer`.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    pub(in crate::cpu) fn transposed(a: Halves<'_>, buffer: &'a mut Buffer) -> Left<'a> {
        Left::columns(a, buffer)
    }

    /// The columns of `a` as rows.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    fn columns(a: impl Pairs, buffer: &'a mut Buffer) -> Left<'a> {
        assert!(isa::bf16(), "no bf16 on this CPU");
        let (inner, rows) = a.sizes();
        let depth = depth(Arithmetic::Bf16, inner);
        let whole = |n: usize| n.next_multiple_of(LANES);
        // Tiles take rows; the AVX-512 kernel takes columns as they come.
        let (row, step) =
            if Isa::used() == Isa::Amx { (whole(depth), 1) } else { (1, whole(rows)) };
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
        let panels = Panels::new(method, b.rows, b.cols);
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
        let panels = Panels::new(method, rows, cols);
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
        let panels = Panels::new(method, rows, cols);
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
        let Panels { columns, step, depth, lanes } = Panels::new(method, k, all);
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

/// How the panels of a right operand lie.
#[derive(Clone, Copy)]
struct Panels {
    /// Of each.
    columns: usize,
    /// Lanes between a panel's rows.
    step: usize,
    /// Lanes along the inner dimension.
    depth: usize,
    /// Of all panels.
    lanes: usize,
}

impl Panels {
    /// For `k` rows before packing.
    fn new(method: Method, k: usize, cols: usize) -> Panels {
        let (depth, columns) = (depth(method.arithmetic, k), method.panel());
        let step = cols.next_multiple_of(LANES).min(columns);
        Panels { columns, step, depth, lanes: depth * step * cols.div_ceil(columns) }
    }

    /// Where a column begins.
    #[inline(always)]
    fn at(self, column: usize) -> usize {
        column / self.columns * self.depth * self.columns + column % self.columns
    }
}

/// Rows of `a`, whose columns are neighbours, in halves and `scale` times as large, `row` lanes apart.
///
/// # Safety
/// `out` has room for whole vectors of every row; the CPU has the features of [`Arithmetic::Bf16`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn pack_rows(a: Mat<'_>, scale: f32, row: usize, out: *mut u32) {
    let whole = a.cols / (2 * LANES) * LANES;
    for i in 0..a.rows {
        let from = a.data.as_ptr().wrapping_add(i * a.row_stride);
        let ahead = from.wrapping_add(AHEAD * a.row_stride);
        // SAFETY: `Mat` holds its rows and columns; `out` is the caller's contract.
        unsafe {
            let out = out.add(i * row);
            for at in (0..whole).step_by(LANES) {
                prefetch(ahead.wrapping_add(2 * at));
                prefetch(ahead.wrapping_add(2 * at + LANES));
                let scaled = |from| _mm512_mul_ps(_mm512_loadu_ps(from), _mm512_set1_ps(scale));
                let (low, high) = (from.add(2 * at), from.add(2 * at + LANES));
                _mm512_storeu_si512(out.add(at).cast(), halves(scaled(low), scaled(high)));
            }
            for at in (whole..row).step_by(LANES) {
                _mm512_storeu_si512(out.add(at).cast(), along::<true>(from, a.cols, at, scale));
            }
        }
    }
}

/// The floats of halves: `out` holds whole rows of `cols`, `row` lanes apart at `from`.
///
/// # Safety
/// As many rows of whole vectors lie at `from`; the CPU has AVX-512 BW.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn unpack_rows(from: *const u32, row: usize, cols: usize, out: &mut [f32]) {
    for (i, out) in out.chunks_exact_mut(cols).enumerate() {
        for (at, out) in out.chunks_mut(LANES).enumerate() {
            // SAFETY: this function's contract; the mask ends at the row's end.
            unsafe {
                let floats = floats(from.add(i * row + at * LANES / 2));
                match out.len() {
                    LANES => _mm512_storeu_ps(out.as_mut_ptr(), floats),
                    len => _mm512_mask_storeu_ps(out.as_mut_ptr(), first(len), floats),
                }
            }
        }
    }
}

/// Adds `rows` rows of halves, `row` lanes apart at `from`, to `out`, which is as long as they are.
///
/// # Safety
/// As many rows of whole vectors lie at `from`; the CPU has AVX-512 BW.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn add_halves(from: *const u32, row: usize, rows: usize, out: &mut [f32]) {
    for (at, out) in out.chunks_mut(LANES).enumerate() {
        let mask = first(out.len());
        // SAFETY: this function's contract; the mask ends at the row's end.
        unsafe {
            let from = from.add(at * LANES / 2);
            let sum = _mm512_maskz_loadu_ps(mask, out.as_ptr());
            let add = |sum, i| _mm512_add_ps(sum, floats(from.add(i * row)));
            _mm512_mask_storeu_ps(out.as_mut_ptr(), mask, (0..rows).fold(sum, add));
        }
    }
}

/// Writes two vectors of lanes side by side, the second if there are columns for it.
///
/// # Safety
/// `out` has room for the vectors that are written; the CPU has AVX-512.
#[inline(always)]
unsafe fn store(lanes: [__m512i; 2], out: *mut u32, cols: usize) {
    // SAFETY: this function's contract.
    unsafe {
        _mm512_storeu_si512(out.cast(), lanes[0]);
        if cols > LANES {
            _mm512_storeu_si512(out.add(LANES).cast(), lanes[1]);
        }
    }
}

/// Pairs of rows, each as long as there are columns, `step` lanes apart.
///
/// # Safety
/// `out` has room for whole vectors of every pair; the CPU has the features of [`Arithmetic::Bf16`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn pack_columns<P: Pairs>(a: P, step: usize, out: *mut u32) {
    let (rows, cols) = a.sizes();
    for p in 0..rows.div_ceil(2) {
        for at in (0..cols).step_by(2 * LANES) {
            // SAFETY: this function's contract.
            unsafe { store(a.pair(p, at), out.add(p * step + at), cols - at) };
        }
    }
}

/// The columns of `a` as rows of halves, `row` lanes apart.
///
/// # Safety
/// As [`pack_columns`]; `out` has room for whole blocks of 16 rows.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn transpose_columns<P: Pairs>(a: P, row: usize, out: *mut u32) {
    let (rows, cols) = a.sizes();
    let depth = rows.div_ceil(2);
    for at in (0..cols).step_by(2 * LANES) {
        for first in (0..depth).step_by(LANES) {
            // SAFETY: this function's contract.
            unsafe {
                let out = out.add(at * row + first);
                // One half of the columns after the other: there are registers for one.
                transpose_block::<P, 0>(a, (first, at), depth - first, row, out);
                if cols - at > LANES {
                    let out = out.add(LANES * row);
                    transpose_block::<P, 1>(a, (first, at), depth - first, row, out);
                }
            }
        }
    }
}

/// Sixteen of the 32 columns from `at` on, of at most 16 pairs from `first` on, of which there are `pairs`.
///
/// # Safety
/// As [`transpose_columns`]; there are such columns.
#[inline(always)]
unsafe fn transpose_block<P: Pairs, const HALF: usize>(
    a: P,
    (first, at): (usize, usize),
    pairs: usize,
    row: usize,
    out: *mut u32,
) {
    // SAFETY: this function's contract.
    unsafe {
        let mut block = [_mm512_setzero_si512(); LANES];
        if pairs >= LANES {
            for (p, lanes) in block.iter_mut().enumerate() {
                *lanes = a.pair(first + p, at)[HALF];
            }
        } else {
            for (p, lanes) in block.iter_mut().enumerate().take(pairs) {
                *lanes = a.pair(first + p, at)[HALF];
            }
        }
        transpose(&mut block);
        for (i, lanes) in block.iter().enumerate() {
            _mm512_storeu_si512(out.add(i * row).cast(), *lanes);
        }
    }
}

/// Panels of the transpose of `b`: a lane stays one.
///
/// # Safety
/// `out` has room for all panels; `b` has blocks of 16 rows and of 16 lanes; the CPU has AVX-512.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn transpose_lanes(b: Halves<'_>, panels: Panels, out: *mut u32) {
    let (cols, _) = b.sizes();
    for col in (0..cols).step_by(LANES) {
        for p in (0..panels.depth).step_by(LANES) {
            let mut block = [_mm512_setzero_si512(); LANES];
            // SAFETY: this function's contract.
            unsafe {
                for (i, lanes) in block.iter_mut().enumerate() {
                    *lanes = b.lanes(col + i, p);
                }
                transpose(&mut block);
                let out = out.add(panels.at(col));
                for (i, lanes) in block.iter().enumerate() {
                    _mm512_storeu_si512(out.add((p + i) * panels.step).cast(), *lanes);
                }
            }
        }
    }
}

/// Panels of `b`; see [`Right`].
///
/// # Safety
/// `out` has room for all panels; the CPU has the features of [`Arithmetic::Bf16`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn pack_panels<P: Pairs>(b: P, panels: Panels, out: *mut u32) {
    let (_, cols) = b.sizes();
    let Panels { step, depth, .. } = panels;
    for column in (0..cols).step_by(2 * LANES) {
        let [first, second] = [column, column + LANES].map(|at| out.wrapping_add(panels.at(at)));
        let both = column + LANES < cols;
        for p in 0..depth {
            // SAFETY: this function's contract; the second vector is written if there are columns for it.
            unsafe {
                let lanes = b.pair(p, column);
                _mm512_storeu_si512(first.add(p * step).cast(), lanes[0]);
                if both {
                    _mm512_storeu_si512(second.add(p * step).cast(), lanes[1]);
                }
            }
        }
    }
}

/// Panels of a transposed `b` in halves.
///
/// # Safety
/// As [`pack_panels`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn transpose_panels_half(b: Mat<'_>, panels: Panels, out: *mut u32) {
    // SAFETY: the caller's contract.
    unsafe { transpose_panels::<true>(b, panels, out) }
}

/// Panels of floats.
///
/// # Safety
/// `out` has room for all panels; the CPU has AVX-512.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn pack_right_single(b: Mat<'_>, panels: Panels, out: *mut u32) {
    if b.col_stride != 1 {
        // SAFETY: the caller's contract.
        return unsafe { transpose_panels::<false>(b, panels, out) };
    }
    let Panels { step, depth, .. } = panels;
    for column in (0..b.cols).step_by(LANES) {
        let start = panels.at(column);
        for p in 0..depth {
            // SAFETY: `Mat` holds its rows and columns; `out` is the caller's contract.
            unsafe {
                let from = b.data.as_ptr().add(p * b.row_stride);
                let lanes = along::<false>(from, b.cols, column, 1.0);
                _mm512_storeu_si512(out.add(start + p * step).cast(), lanes);
            }
        }
    }
}

/// Panels of a transposed `b`, 16 x 16 lanes at a time.
///
/// # Safety
/// As [`pack_panels`], or [`pack_right_single`] for floats.
#[inline(always)]
unsafe fn transpose_panels<const HALF: bool>(b: Mat<'_>, panels: Panels, out: *mut u32) {
    let (data, Panels { step, depth, .. }) = (b.data.as_ptr(), panels);
    for column in (0..b.cols).step_by(LANES) {
        let start = panels.at(column);
        for at in (0..depth).step_by(LANES) {
            // SAFETY: `Mat` holds its rows and columns; `out` is the caller's contract.
            unsafe {
                let mut block = [_mm512_setzero_si512(); LANES];
                for (j, row) in block.iter_mut().enumerate().take(b.cols - column) {
                    let from = data.add((column + j) * b.col_stride);
                    let ahead = from.wrapping_add(LANES * b.col_stride);
                    prefetch(ahead.wrapping_add(if HALF { 2 * at } else { at }));
                    if HALF {
                        prefetch(ahead.wrapping_add(2 * at + LANES));
                    }
                    *row = along::<HALF>(from, b.rows, at, 1.0);
                }
                transpose(&mut block);
                for (p, row) in block.iter().enumerate().take(depth - at) {
                    _mm512_storeu_si512(out.add(start + (at + p) * step).cast(), *row);
                }
            }
        }
    }
}

/// Panels of floats without AVX-512.
///
/// # Safety
/// `out` has room for all panels.
unsafe fn pack_right_plain(b: Mat<'_>, panels: Panels, out: *mut u32) {
    let Panels { step, depth, .. } = panels;
    for column in (0..b.cols).step_by(LANES) {
        let start = panels.at(column);
        let cols = (b.cols - column).min(LANES);
        for p in 0..depth {
            let from = p * b.row_stride + column * b.col_stride;
            let value = |j: usize| if j < cols { b.data[from + j * b.col_stride] } else { 0.0 };
            let lanes: [u32; LANES] = std::array::from_fn(|j| value(j).to_bits());
            // SAFETY: this row of the panel lies in `out` by this function's contract.
            unsafe { out.add(start + p * step).cast::<[u32; LANES]>().write_unaligned(lanes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What AMX reads, made by whatever has bf16: the same lanes as those of the AVX-512 kernel, transposed.
    #[test]
    fn columns_are_transposed_into_the_same_lanes() {
        if !isa::bf16() {
            return;
        }
        let data: Vec<f32> = (0..4000).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
        for (rows, cols) in [(40, 37), (7, 16), (64, 48), (33, 5)] {
            let floats = Floats::of(Mat::new(&data, rows, cols, cols + 2), 1.0);
            let (depth, whole) = (rows.div_ceil(2), cols.next_multiple_of(LANES));
            let row = depth.next_multiple_of(LANES);
            let (mut straight, mut transposed) = (Buffer::default(), Buffer::default());
            // SAFETY: the CPU has bf16; the buffers hold every vector that is written.
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

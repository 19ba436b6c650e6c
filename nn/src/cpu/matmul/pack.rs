//! Operands as lanes of 32 bits: one float, or two bf16 neighbours along the inner dimension `k`.
//!
//! Floats are multiplied where they lie if their columns fill vectors; halves are packed first, the left
//! operand row by row or, transposed, pair of rows by pair of rows, the right one in panels of up to 64
//! columns that lie together, so that a panel is read from end to end.
#![allow(unsafe_code)]

use super::{Isa, Mat, tiles};
use crate::precision::Arithmetic;
use std::arch::x86_64::*;

/// Columns of a vector.
pub(super) const LANES: usize = 16;
/// Columns of a whole panel.
pub(super) const PANEL: usize = 4 * LANES;

/// The left operand: lane `p` of row `i` is `data[i * row + p * step]`.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    pub data: &'a [u32],
    pub row: usize,
    pub step: usize,
    pub rows: usize,
    pub depth: usize,
    pub arithmetic: Arithmetic,
}

/// The right operand: column `j` of lane row `p` is `data[j / 64 * panel + p * step + j % 64]`. Vectors are
/// whole: lanes up to the next multiple of 16 columns exist.
#[derive(Clone, Copy)]
pub(super) struct Right<'a> {
    pub data: &'a [u32],
    pub step: usize,
    pub panel: usize,
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
pub(super) struct Buffer(Vec<Line>);

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u32; LANES]);

impl Buffer {
    /// Room for `lanes`, whatever they hold. None is ever taken away, because what comes back would be
    /// filled with zeros again.
    fn hold(&mut self, lanes: usize) -> *mut u32 {
        let lines = lanes.div_ceil(LANES);
        if self.0.len() < lines {
            self.0.resize(lines, Line([0; LANES]));
        }
        self.0.as_mut_ptr().cast()
    }

    pub(super) fn lanes(&self) -> &[u32] {
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

    /// Halves, packed into `buffer`.
    ///
    /// # Panics
    /// If the CPU lacks [`Arithmetic::Bf16`]: a fault of the caller.
    pub(super) fn halves(a: Mat<'_>, buffer: &'a mut Buffer) -> Left<'a> {
        assert!(Arithmetic::Bf16.on_this_cpu(), "no bf16 on this CPU");
        let depth = depth(Arithmetic::Bf16, a.cols);
        let whole = |n: usize| n.next_multiple_of(LANES);
        // Tiles take rows; the AVX-512 kernel takes the columns of a transposed matrix as they come.
        let by_row = a.col_stride == 1 || tiles::available();
        let (row, step) = if by_row { (whole(depth), 1) } else { (1, whole(a.rows)) };
        let out = buffer.hold(if by_row { whole(a.rows) * row } else { depth * step });
        // SAFETY: the CPU has the features, as was checked; the buffer holds every vector that is written.
        unsafe {
            if a.col_stride != 1 && by_row {
                turn_left(a, depth, row, out);
            } else {
                pack_left(a, depth, row.max(step), out);
            }
        }
        Left { data: buffer.lanes(), row, step, rows: a.rows, depth, arithmetic: Arithmetic::Bf16 }
    }
}

impl<'a> Right<'a> {
    /// Floats where they lie, if their columns fill vectors.
    pub(super) fn plain(b: Mat<'a>) -> Option<Right<'a>> {
        (b.col_stride == 1 && b.cols.is_multiple_of(LANES)).then(|| Right {
            data: bits(b.data),
            step: b.row_stride,
            panel: PANEL,
            cols: b.cols,
            depth: b.rows,
            arithmetic: Arithmetic::Single,
        })
    }

    /// Packed into `buffer`.
    ///
    /// # Panics
    /// If the CPU lacks the arithmetic or `isa`: a fault of the caller.
    pub(super) fn packed(
        b: Mat<'_>,
        (isa, arithmetic): (Isa, Arithmetic),
        buffer: &'a mut Buffer,
    ) -> Right<'a> {
        assert!(isa <= Isa::found() && arithmetic.on_this_cpu(), "no {arithmetic} by {isa}");
        let depth = depth(arithmetic, b.rows);
        let out = buffer.hold(depth * width(b.cols) * b.cols.div_ceil(PANEL));
        // SAFETY: the CPU has the features, as was checked; the buffer holds all panels.
        unsafe {
            match arithmetic {
                Arithmetic::Bf16 => pack_right_half(b, depth, out),
                _ if isa == Isa::Avx512 => pack_right_single(b, depth, out),
                _ => pack_right_plain(b, depth, out),
            }
        }
        Right::of(buffer.lanes(), (b.cols, b.cols), b.rows, arithmetic)
    }

    /// The first `cols` of the `all` columns that [`Right::packed`] left in `data`; `k` rows before packing.
    pub(super) fn of(
        data: &'a [u32],
        (all, cols): (usize, usize),
        k: usize,
        arithmetic: Arithmetic,
    ) -> Right<'a> {
        let depth = depth(arithmetic, k);
        let lanes = depth * width(all) * all.div_ceil(PANEL);
        assert!(cols <= all && data.len() >= lanes, "{lanes} lanes in {}", data.len());
        Right { data, step: width(all), panel: depth * PANEL, cols, depth, arithmetic }
    }
}

/// Lanes between the rows of a panel.
fn width(cols: usize) -> usize {
    cols.next_multiple_of(LANES).min(PANEL)
}

/// The first `len` of 16 lanes.
#[inline(always)]
fn first(len: usize) -> __mmask16 {
    if len >= LANES { !0 } else { !(!0 << len) }
}

/// 16 lanes of one memory row of `len` floats, from lane `at` on: halves are neighbours in the row. Zero
/// beyond the end.
///
/// # Safety
/// `row` leads to `len` floats; the CPU has the arithmetic's features.
#[inline(always)]
unsafe fn along<const HALF: bool>(row: *const f32, len: usize, at: usize) -> __m512i {
    let load = |at: usize| {
        // SAFETY: the mask ends at `len`.
        unsafe { _mm512_maskz_loadu_ps(first(len.saturating_sub(at)), row.wrapping_add(at)) }
    };
    if HALF {
        // SAFETY: AVX512_BF16 by this function's contract; both types are 64 plain bytes.
        unsafe {
            let halves = _mm512_cvtne2ps_pbh(load(2 * at + LANES), load(2 * at));
            std::mem::transmute::<__m512bh, __m512i>(halves)
        }
    } else {
        // SAFETY: AVX-512F.
        unsafe { _mm512_castps_si512(load(at)) }
    }
}

/// 16 lanes of two memory rows, from column `at` on: halves stand one above the other. Zero beyond the end.
///
/// # Safety
/// Both rows lead to `len` floats, or `odd` is null and counts as zeros; the CPU has the features of
/// [`Arithmetic::Bf16`].
#[inline(always)]
unsafe fn across(even: *const f32, odd: *const f32, len: usize, at: usize) -> __m512i {
    let mask = first(len.saturating_sub(at));
    // SAFETY: the masks end at `len`; the features are this function's contract.
    unsafe {
        let low = _mm512_maskz_loadu_ps(mask, even.wrapping_add(at));
        let mask = if odd.is_null() { 0 } else { mask };
        let high = _mm512_maskz_loadu_ps(mask, odd.wrapping_add(at));
        let both = std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low));
        // 0, 16, 1, 17 and so on: each lane gets its low and its high half.
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let zip = _mm512_or_si512(
            lanes,
            _mm512_slli_epi32::<16>(_mm512_add_epi32(lanes, _mm512_set1_epi32(16))),
        );
        _mm512_permutexvar_epi16(zip, both)
    }
}

/// Rows of `a` in halves, `stride` lanes apart; see [`Left`].
///
/// # Safety
/// `out` has room for whole vectors of every row; the CPU has the features of [`Arithmetic::Bf16`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn pack_left(a: Mat<'_>, depth: usize, stride: usize, out: *mut u32) {
    let data = a.data.as_ptr();
    // SAFETY: `Mat` holds its rows and columns; `out` is the caller's contract.
    unsafe {
        if a.col_stride == 1 {
            for i in 0..a.rows {
                for at in (0..depth).step_by(LANES) {
                    let lanes = along::<true>(data.add(i * a.row_stride), a.cols, at);
                    _mm512_storeu_si512(out.add(i * stride + at).cast(), lanes);
                }
            }
        } else {
            for p in 0..depth {
                let (even, odd) = pair(data, a.col_stride, p, a.cols);
                let ahead = even.wrapping_add(AHEAD * a.col_stride);
                for at in (0..a.rows).step_by(LANES) {
                    fetch(ahead.wrapping_add(at));
                    fetch(ahead.wrapping_add(a.col_stride + at));
                    let lanes = across(even, odd, a.rows, at);
                    _mm512_storeu_si512(out.add(p * stride + at).cast(), lanes);
                }
            }
        }
    }
}

/// Rows of a transposed `a` in halves, `stride` lanes apart.
///
/// # Safety
/// As [`pack_left`]; `out` has room for whole blocks of 16 rows.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn turn_left(a: Mat<'_>, depth: usize, stride: usize, out: *mut u32) {
    for at in (0..a.rows).step_by(LANES) {
        for first in (0..depth).step_by(LANES) {
            let mut block = [_mm512_setzero_si512(); LANES];
            // SAFETY: `Mat` holds its rows and columns; `out` is the caller's contract.
            unsafe {
                for (p, lanes) in block.iter_mut().enumerate().take(depth - first) {
                    let (even, odd) = pair(a.data.as_ptr(), a.col_stride, first + p, a.cols);
                    *lanes = across(even, odd, a.rows, at);
                }
                transpose(&mut block);
                for (i, lanes) in block.iter().enumerate() {
                    _mm512_storeu_si512(out.add((at + i) * stride + first).cast(), *lanes);
                }
            }
        }
    }
}

/// Memory rows `2 p` and `2 p + 1`; null where there is no such row.
///
/// # Safety
/// Row `2 p` exists.
#[inline(always)]
unsafe fn pair(data: *const f32, stride: usize, p: usize, rows: usize) -> (*const f32, *const f32) {
    // SAFETY: both are rows that exist.
    unsafe {
        let odd = if 2 * p + 1 < rows { data.add((2 * p + 1) * stride) } else { std::ptr::null() };
        (data.add(2 * p * stride), odd)
    }
}

/// Rows that packing looks ahead: operands come from beyond the second-level cache, and a walk down the
/// columns is not what the processor itself fetches ahead for.
const AHEAD: usize = 8;

/// Asks for the cache line at `place`, which need not exist.
#[inline(always)]
pub(super) fn fetch(place: *const f32) {
    // SAFETY: a hint touches no memory; x86-64 has SSE.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
}

/// [`pack_right`] of floats without AVX-512.
///
/// # Safety
/// `out` has room for all panels.
unsafe fn pack_right_plain(b: Mat<'_>, depth: usize, out: *mut u32) {
    let step = width(b.cols);
    for column in (0..b.cols).step_by(LANES) {
        let start = column / PANEL * depth * PANEL + column % PANEL;
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

#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn pack_right_single(b: Mat<'_>, depth: usize, out: *mut u32) {
    // SAFETY: the caller's contract is `pack_right`'s.
    unsafe { pack_right::<false>(b, depth, out) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn pack_right_half(b: Mat<'_>, depth: usize, out: *mut u32) {
    // SAFETY: the caller's contract is `pack_right`'s.
    unsafe { pack_right::<true>(b, depth, out) }
}

/// Panels of `b`; see [`Right`].
///
/// # Safety
/// `out` has room for all panels; the CPU has the arithmetic's features.
#[inline(always)]
unsafe fn pack_right<const HALF: bool>(b: Mat<'_>, depth: usize, out: *mut u32) {
    let (data, step) = (b.data.as_ptr(), width(b.cols));
    for panel in (0..b.cols).step_by(PANEL) {
        let columns = || (panel..b.cols.min(panel + PANEL)).step_by(LANES);
        // SAFETY: `Mat` holds its rows and columns; `out` is the caller's contract.
        unsafe {
            let out = out.add(panel * depth);
            if b.col_stride == 1 {
                for p in 0..depth {
                    let (even, odd) = match HALF {
                        true => pair(data, b.row_stride, p, b.rows),
                        false => (data.add(p * b.row_stride), std::ptr::null()),
                    };
                    let ahead = even.wrapping_add(AHEAD * b.row_stride);
                    for column in columns() {
                        fetch(ahead.wrapping_add(column));
                        let lanes = if HALF {
                            fetch(ahead.wrapping_add(b.row_stride + column));
                            across(even, odd, b.cols, column)
                        } else {
                            along::<false>(even, b.cols, column)
                        };
                        _mm512_storeu_si512(out.add(p * step + column % PANEL).cast(), lanes);
                    }
                }
                continue;
            }
            for column in columns() {
                let out = out.add(column % PANEL);
                for at in (0..depth).step_by(LANES) {
                    let mut block = [_mm512_setzero_si512(); LANES];
                    for (j, row) in block.iter_mut().enumerate().take(b.cols - column) {
                        *row = along::<HALF>(data.add((column + j) * b.col_stride), b.rows, at);
                    }
                    transpose(&mut block);
                    for (p, row) in block.iter().enumerate().take(depth - at) {
                        _mm512_storeu_si512(out.add((at + p) * step).cast(), *row);
                    }
                }
            }
        }
    }
}

/// Turns a block of 16 x 16 lanes: four times, blocks of 8, 4, 2 and 1 change places across the diagonal.
///
/// # Safety
/// The CPU has AVX-512F.
#[inline(always)]
unsafe fn transpose(block: &mut [__m512i; LANES]) {
    // SAFETY: by this function's contract.
    unsafe {
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        for size in [8, 4, 2, 1] {
            let bit = _mm512_set1_epi32(size as i32);
            // Where the bit is set, the upper row takes from the lower one what stands `size` before it.
            let set = _mm512_test_epi32_mask(lanes, bit);
            let second = _mm512_set1_epi32(LANES as i32);
            let upper = _mm512_mask_sub_epi32(lanes, set, _mm512_or_si512(lanes, second), bit);
            let lower = _mm512_mask_add_epi32(_mm512_or_si512(lanes, second), !set, lanes, bit);
            for i in 0..LANES {
                if i & size == 0 {
                    let (a, b) = (block[i], block[i + size]);
                    block[i] = _mm512_permutex2var_epi32(a, upper, b);
                    block[i + size] = _mm512_permutex2var_epi32(a, lower, b);
                }
            }
        }
    }
}

//! The bf16 product by AMX, on CPUs that have it (Intel's servers from Sapphire Rapids on). Packed operands lie as AVX512_BF16
//! wants them, and that is how AMX wants them too. Rows that fill no tile are multiplied in one all the same, with what lies behind
//! them in the packed operand, and not written.
#![allow(unsafe_code)]

use super::columns::transpose_tiles;
use super::pack::{Left, Right};
use super::pairs::{Halves as Rows, LANES, PANEL, Pairs, first};
use super::task::{Half, Task};
use crate::cpu::tiles::{BLOCK, Block, Halves, Panel, ROWS, Steps, configure, configured, release};
use std::arch::x86_64::*;
use std::ops::Range;

/// The lanes of a tile if the depth is cut into equal ones.
fn equal_lanes(depth: usize) -> Option<usize> {
    (8..=ROWS).rev().chain([depth]).find(|lanes| *lanes <= ROWS && depth.is_multiple_of(*lanes))
}

/// A product.
///
/// # Safety
/// As `product` in [`super::kernel`], for halves; the left operand's lanes lie row by row, with room for
/// whole tiles of rows, and [`Isa::Amx`](crate::cpu::Isa::Amx) has been found.
pub(super) unsafe fn product(task: &Task<'_>) {
    let depth = task.left.depth;
    // SAFETY: by this function's contract; the cuts lie inside the depth.
    unsafe {
        match equal_lanes(depth) {
            Some(lanes) => share(task, 0, lanes, depth / lanes),
            None => {
                let steps = depth / ROWS;
                share(task, 0, ROWS, steps);
                let (base, base_row) = (task.out.cast_const(), task.stride);
                let rest = Task { base, base_row, ..*task };
                share(&rest, steps * ROWS, depth % ROWS, 1);
            }
        }
    }
}

/// The same for `steps` tiles of `lanes` from lane `first` of the depth on.
///
/// # Safety
/// As [`product`]; there are such lanes.
unsafe fn share(task: &Task<'_>, first: usize, lanes: usize, steps: usize) {
    let (left, right) = (&task.left, &task.right);
    let steps = Steps { a_row: left.row, b_row: right.step, lanes, count: steps };
    if left.rows <= ROWS && right.cols.is_multiple_of(PANEL) && task.scale == 1.0 {
        // SAFETY: this function's contract.
        return unsafe { few(task, first, steps) };
    }
    // SAFETY: this function's contract; the CPU has AVX-512 where it has AMX.
    unsafe { floats(task, first, steps) }
}

/// The same for any number of rows and columns.
///
/// # Safety
/// As [`share`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
unsafe fn floats(task: &Task<'_>, first: usize, steps: Steps) {
    // SAFETY: this function's contract; the blocks are the task's.
    unsafe { blocks(&task.left, &task.right, first, steps, &mut ToTask(task)) }
}

/// Whether a product consists of whole blocks, and its depth of whole tiles.
fn fills(rows: usize, cols: usize, depth: usize) -> bool {
    let of = |n: usize, size: usize| n > 0 && n.is_multiple_of(size);
    of(rows, BLOCK) && of(cols, BLOCK) && of(depth, ROWS)
}

/// All blocks of a product that consists of whole ones; false if it does not.
///
/// # Safety
/// As [`product`], of operands of bf16 packed for tiles; `finish` takes the blocks of this product.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
pub(super) unsafe fn whole<F: Finish>(left: &Left<'_>, right: &Right<'_>, finish: &mut F) -> bool {
    if left.depth != right.depth || !fills(left.rows, right.cols, left.depth) {
        return false;
    }
    let (lanes, count) = (ROWS, left.depth / ROWS);
    let steps = Steps { a_row: left.row, b_row: right.step, lanes, count };
    // SAFETY: this function's contract.
    unsafe { blocks(left, right, 0, steps, finish) };
    true
}

/// What becomes of a block's sums.
pub(in crate::cpu) trait Finish {
    /// Takes some of the sums' rows; `place` is the row and the column of the product where the block begins.
    ///
    /// # Safety
    /// The product has such a block; the CPU has the instructions of [`Arithmetic::Bf16`](crate::precision::Arithmetic::Bf16).
    unsafe fn take(&mut self, sums: &Sums, place: (usize, usize), rows: Range<usize>);
}

/// Bytes of the left operand that leave room for other things in the first-level cache.
const NEAR: usize = 24 << 10;

/// Gives `finish` the sums of all blocks.
///
/// # Safety
/// As [`share`]; inlined into what is compiled for the instructions of `F`.
#[inline(always)]
unsafe fn blocks<F: Finish>(
    left: &Left<'_>,
    right: &Right<'_>,
    first: usize,
    steps: Steps,
    finish: &mut F,
) {
    let (down, across) = (left.rows.div_ceil(BLOCK), right.cols.div_ceil(BLOCK));
    // Column after column if all rows stay near; otherwise row after row.
    let near = 4 * left.rows * left.row <= NEAR;
    let place = |n: usize| match near {
        true => (n % down * BLOCK, n / down * BLOCK),
        false => (n / across * BLOCK, n % across * BLOCK),
    };
    let tiles = |(row, col): (usize, usize)| {
        let next = if col + LANES < right.cols { col + LANES } else { col };
        let b = right.data.as_ptr().wrapping_add(first * right.step);
        let a = left.data.as_ptr().wrapping_add(row * left.row + first);
        let tall = row + ROWS < left.rows;
        let a = [a, if tall { a.wrapping_add(ROWS * left.row) } else { a }];
        Halves { a, a_step: steps.lanes, b: [col, next].map(|col| b.wrapping_add(right.at(col))) }
    };
    // SAFETY: every tile's rows lie in the operands: whole tiles of rows in `left`, columns in whole vectors of `right`,
    // lanes inside the depth. A block's missing second tile is a copy of its first. The rest is this function's contract.
    unsafe { pipeline(down * across, steps, place, tiles, finish) }
}

/// Gives `finish` the sums of `count` blocks, a few rows between any two steps of the block after: `place` says where one stands in the
/// product, `tiles` where its operands lie.
///
/// # Safety
/// There are such operands, `steps.count` tiles along the depth; `finish` takes blocks at these places; the CPU has tiles. Inlined into what
/// is compiled for the instructions of `F`.
#[inline(always)]
unsafe fn pipeline<F: Finish>(
    count: usize,
    steps: Steps,
    place: impl Fn(usize) -> (usize, usize),
    mut tiles: impl FnMut((usize, usize)) -> Halves,
    finish: &mut F,
) {
    let mut sums = Sums([0.0; BLOCK * BLOCK]);
    let part = |step: usize| step * BLOCK / steps.count;
    // SAFETY: this function's contract; nobody configures tiles before they are released; sums have been stored before they are taken.
    unsafe {
        configure(ROWS, steps.lanes);
        for n in 0..count {
            let mut block = tiles(place(n));
            Halves::begin();
            for step in 0..steps.count {
                block.step(steps);
                if n > 0 {
                    finish.take(&sums, place(n - 1), part(step)..part(step + 1));
                }
            }
            let out = sums.0.as_mut_ptr();
            let out = [out, out.add(ROWS * BLOCK)];
            Block::store(out.map(<*mut f32>::cast), 4 * BLOCK);
        }
        if count > 0 {
            finish.take(&sums, place(count - 1), 0..BLOCK);
        }
        release();
    }
}

/// Adds `aᵀ * right` to `out`, `[a.cols, right.cols]`, rows `stride` apart, if it consists of whole blocks; false if it does not. Columns of
/// `a` are transposed 32 at a time, into `columns`, and do not leave the first-level cache.
///
/// # Safety
/// The CPU has tiles; `right` is packed for them; `columns` has room for 32 columns' lanes, and `out` for the product.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
pub(super) unsafe fn transposed(
    a: Rows<'_>,
    right: &Right<'_>,
    columns: *mut u32,
    out: *mut f32,
    stride: usize,
) -> bool {
    let ((inner, rows), depth) = (a.sizes(), right.depth);
    if inner != 2 * depth || !fills(rows, right.cols, depth) {
        return false;
    }
    let across = right.cols / BLOCK;
    let steps = Steps { a_row: ROWS, b_row: right.step, lanes: ROWS, count: depth / ROWS };
    let tiles = |(row, col): (usize, usize)| {
        if col == 0 {
            // SAFETY: this function's contract; the product has 32 rows from this one on.
            unsafe { transpose_tiles(a, row, columns) };
        }
        Halves {
            a: [columns, columns.wrapping_add(depth * ROWS)],
            a_step: ROWS * ROWS,
            b: [col, col + LANES].map(|col| right.data.as_ptr().wrapping_add(right.at(col))),
        }
    };
    let place = |n: usize| (n / across * BLOCK, n % across * BLOCK);
    // SAFETY: this function's contract.
    unsafe { pipeline(rows / BLOCK * across, steps, place, tiles, &mut Onto { out, stride }) };
    true
}

/// Sums are added to what lies there.
struct Onto {
    out: *mut f32,
    stride: usize,
}

impl Finish for Onto {
    #[inline(always)]
    unsafe fn take(&mut self, sums: &Sums, (row, col): (usize, usize), rows: Range<usize>) {
        for i in rows {
            for j in [0, LANES] {
                // SAFETY: this function's contract.
                unsafe {
                    let to = self.out.add((row + i) * self.stride + col + j);
                    let sum = _mm512_load_ps(sums.0.as_ptr().add(i * BLOCK + j));
                    _mm512_storeu_ps(to, _mm512_add_ps(sum, _mm512_loadu_ps(to)));
                }
            }
        }
    }
}

/// The same for no more rows than a tile has, and whole panels.
///
/// # Safety
/// As [`share`].
unsafe fn few(task: &Task<'_>, first: usize, steps: Steps) {
    let (left, right) = (&task.left, &task.right);
    let work = || {
        for col in (0..right.cols).step_by(PANEL) {
            // SAFETY: rows, columns and lanes lie in the operands and the destination.
            unsafe {
                let base = match task.base.is_null() {
                    true => task.base,
                    false => task.base.add(col),
                };
                let panel = Panel {
                    a: left.data.as_ptr().add(first),
                    b: [0, 1, 2, 3].map(|i| {
                        let column = right.at(col + i * LANES);
                        right.data.as_ptr().wrapping_add(first * right.step + column)
                    }),
                    base: base.cast(),
                    base_row: 4 * task.base_row,
                };
                panel.multiply_halves(steps);
                Panel::store(task.out.add(col).cast(), 4 * task.stride);
            }
        }
    };
    // SAFETY: by this function's contract; nobody else's code is called inside.
    unsafe { configured(left.rows, steps.lanes, work) };
}

/// Sums of a block, row by row.
#[repr(C, align(64))]
pub(in crate::cpu) struct Sums(pub [f32; BLOCK * BLOCK]);

/// Sums go where the task says, with what they are added to.
struct ToTask<'a>(&'a Task<'a>);

impl Finish for ToTask<'_> {
    #[inline(always)]
    unsafe fn take(&mut self, sums: &Sums, (row, col): (usize, usize), rows: Range<usize>) {
        let task = self.0;
        let whole = row + rows.end <= task.left.rows && col + BLOCK <= task.right.cols;
        // SAFETY: this function's contract; a whole block's rows and columns are the task's.
        unsafe {
            match whole && task.scale == 1.0 {
                true if task.base.is_null() => self.some::<false>(sums, (row, col), rows),
                true => self.some::<true>(sums, (row, col), rows),
                false => self.edge(sums, (row, col), rows),
            }
        }
    }
}

impl ToTask<'_> {
    /// Rows of a whole block, on top of the base or not.
    ///
    /// # Safety
    /// As [`Finish::take`]; the task has these rows and 32 columns.
    #[inline(always)]
    unsafe fn some<const BASE: bool>(
        &self,
        sums: &Sums,
        (row, col): (usize, usize),
        rows: Range<usize>,
    ) {
        let task = self.0;
        for i in rows {
            // SAFETY: this function's contract.
            unsafe {
                let from = sums.0.as_ptr().add(i * BLOCK);
                let to = task.out.add((row + i) * task.stride + col);
                let base = task.base.wrapping_add((row + i) * task.base_row + col);
                for j in [0, LANES] {
                    let mut sum = _mm512_load_ps(from.add(j));
                    if BASE {
                        sum = _mm512_add_ps(sum, _mm512_loadu_ps(base.add(j)));
                    }
                    _mm512_storeu_ps(to.add(j), sum);
                }
            }
        }
    }

    /// Rows of a block of which the task may lack some, or columns.
    ///
    /// # Safety
    /// As [`Finish::take`].
    #[inline(never)]
    #[target_feature(enable = "avx512f")]
    unsafe fn edge(&self, sums: &Sums, (row, col): (usize, usize), rows: Range<usize>) {
        let task = self.0;
        let cols = (task.right.cols - col).min(BLOCK);
        for i in rows.start..rows.end.min(task.left.rows.saturating_sub(row)) {
            for j in [0, LANES] {
                let mask = first(cols.saturating_sub(j));
                // SAFETY: the masks end at the task's last column; the rest is this function's contract.
                unsafe {
                    let sum = _mm512_load_ps(sums.0.as_ptr().add(i * BLOCK + j));
                    task.store::<Half>(sum, row + i, col + j, mask);
                }
            }
        }
    }
}

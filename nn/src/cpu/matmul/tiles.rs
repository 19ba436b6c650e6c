//! The bf16 product by AMX, on CPUs that have it (Intel's servers from Sapphire Rapids on). Packed operands lie as AVX512_BF16
//! wants them, and that is how AMX wants them too. Rows that fill no tile are multiplied in one all the same, with what lies behind
//! them in the packed operand, and not written.
#![allow(unsafe_code)]

use super::pack::{Left, Right};
use super::pairs::{LANES, PANEL, first};
use super::task::{Half, Task};
use crate::cpu::tiles::{BLOCK, Block, Halves, Panel, ROWS, Steps, configured};
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

/// All blocks of a product that consists of whole ones; false if it does not.
///
/// # Safety
/// As [`product`], of operands of bf16 packed for tiles; `finish` takes the blocks of this product.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
pub(super) unsafe fn whole<F: Finish>(left: &Left<'_>, right: &Right<'_>, finish: &mut F) -> bool {
    let fills = |n: usize, of: usize| n > 0 && n.is_multiple_of(of);
    let depth = left.depth == right.depth && fills(left.depth, ROWS);
    if !depth || !fills(left.rows, BLOCK) || !fills(right.cols, BLOCK) {
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

/// Gives `finish` the sums of all blocks, a few rows between any two steps of the block after.
///
/// # Safety
/// As [`share`]; inlined into what is compiled for the instructions of `F`.
#[inline(always)]
pub(super) unsafe fn blocks<F: Finish>(
    left: &Left<'_>,
    right: &Right<'_>,
    first: usize,
    steps: Steps,
    finish: &mut F,
) {
    let mut sums = Sums([0.0; BLOCK * BLOCK]);
    let (down, across) = (left.rows.div_ceil(BLOCK), right.cols.div_ceil(BLOCK));
    // Column after column if all rows stay near; otherwise row after row.
    let near = 4 * left.rows * left.row <= NEAR;
    let place = |n: usize| match near {
        true => (n % down * BLOCK, n / down * BLOCK),
        false => (n / across * BLOCK, n % across * BLOCK),
    };
    let part = |step: usize| step * BLOCK / steps.count;
    let work = || {
        for n in 0..down * across {
            let (row, col) = place(n);
            // SAFETY: every tile's rows lie in the operands: whole tiles of rows in `left`, columns in whole vectors of `right`,
            // lanes inside the depth. A block's missing second tile is a copy of its first. Sums have been stored before they are taken.
            unsafe {
                let a = left.data.as_ptr().add(row * left.row + first);
                let b = right.data.as_ptr().add(first * right.step);
                let tall = row + ROWS < left.rows;
                let next = if col + LANES < right.cols { col + LANES } else { col };
                let mut block = Halves {
                    a: [a, if tall { a.add(ROWS * left.row) } else { a }],
                    b: [b.add(right.at(col)), b.add(right.at(next))],
                };
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
        }
        // SAFETY: as above.
        unsafe { finish.take(&sums, place(down * across - 1), 0..BLOCK) };
    };
    // SAFETY: by this function's contract; nobody configures tiles inside.
    unsafe { configured(ROWS, steps.lanes, work) };
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

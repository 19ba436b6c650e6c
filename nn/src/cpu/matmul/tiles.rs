//! The bf16 product by AMX, on CPUs that have it (Intel's servers from Sapphire Rapids on). Packed operands lie as AVX512_BF16
//! wants them, and that is how AMX wants them too. Rows that fill no tile are multiplied in one all the same, with what lies behind
//! them in the packed operand, and not written.
#![allow(unsafe_code)]

use super::pairs::{LANES, PANEL};
use super::task::{Half, Task};
use crate::cpu::tiles::{BLOCK, Block, Panel, ROWS, Steps, configured};
use std::arch::x86_64::*;

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
    let mut sums = Sums([0.0; BLOCK * BLOCK]);
    let mut block = |row: usize, col: usize| {
        // SAFETY: every tile's rows lie in the operands: whole tiles of rows in `left`, columns in whole vectors of `right`,
        // lanes inside the depth. A block's missing second tile is a copy of its first, and then only `sums` is written.
        unsafe {
            let a = left.data.as_ptr().add(row * left.row + first);
            let b = right.data.as_ptr();
            let b = b.add(col / PANEL * right.panel + first * right.step + col % PANEL);
            let whole = row + BLOCK <= left.rows && col + BLOCK <= right.cols;
            let direct = task.scale == 1.0 && whole;
            let (out, out_row) = match direct {
                true => (task.out.add(row * task.stride + col), task.stride),
                false => (sums.0.as_mut_ptr(), BLOCK),
            };
            let base = match direct && !task.base.is_null() {
                true => task.base.add(row * task.base_row + col),
                false => std::ptr::null(),
            };
            let tall = row + ROWS < left.rows;
            let wide = col + LANES < right.cols;
            let block = Block {
                a: [a, if tall { a.add(ROWS * left.row) } else { a }],
                b: [b, if wide { b.add(LANES) } else { b }],
                // The lower half is not looked at where the upper one is null.
                base: [base, base.wrapping_add(ROWS * task.base_row)].map(<*const f32>::cast),
                base_row: 4 * task.base_row,
            };
            block.multiply_halves(steps);
            let out = [out, out.wrapping_add(ROWS * out_row)];
            Block::store(out.map(<*mut f32>::cast), 4 * out_row);
            if !direct {
                finish(task, &sums, row, col, (left.rows - row).min(BLOCK));
            }
        }
    };
    let columns = (0..right.cols).step_by(BLOCK);
    let blocks = columns.flat_map(|col| (0..left.rows).step_by(BLOCK).map(move |row| (row, col)));
    // SAFETY: by this function's contract; nobody else's code is called inside.
    unsafe { configured(ROWS, lanes, || blocks.for_each(|(row, col)| block(row, col))) };
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
                    b: right.data.as_ptr().add(col / PANEL * right.panel + first * right.step),
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

/// Sums of a block on their way to the destination.
#[repr(C, align(64))]
struct Sums([f32; BLOCK * BLOCK]);

/// Adds a block's sums to what the task says they are added to.
///
/// # Safety
/// The task has `rows` rows from `first_row` on and columns from `first_col` on; the CPU has AVX-512F.
#[target_feature(enable = "avx512f")]
unsafe fn finish(task: &Task<'_>, sums: &Sums, first_row: usize, first_col: usize, rows: usize) {
    let cols = (task.right.cols - first_col).min(BLOCK);
    for i in 0..rows {
        for j in (0..cols).step_by(LANES) {
            let mask = if cols - j >= LANES { !0 } else { !(!0 << (cols - j)) };
            let (row, col) = (first_row + i, first_col + j);
            // SAFETY: the mask ends at the task's last column; the rest is this function's contract.
            unsafe {
                let sum = _mm512_load_ps(sums.0.as_ptr().add(i * BLOCK + j));
                task.store::<Half>(sum, row, col, mask);
            }
        }
    }
}

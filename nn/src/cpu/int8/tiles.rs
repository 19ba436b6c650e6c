//! Products of bytes by AMX. Rows that fill no tile are multiplied in one all the same, with what lies behind them, and not written.
//! Zero is zero on both sides, so that sums begin at nothing.
//!
//! What follows a product is done to a block of 32 by 32 sums at a time, while they are in the first-level cache and the tiles multiply
//! the next block.
#![allow(unsafe_code)]

use super::avx512::{self, LANES};
use super::task::{Finish, PANEL, Sign, Task};
use crate::cpu::matmul::{Buffer, first, halves, transpose, zip};
use crate::cpu::tiles::{BLOCK, Block, ROWS, Steps, configured};
use crate::net::TOKENS;
use std::arch::x86_64::*;

/// All rows and columns.
///
/// # Safety
/// The CPU has [`Isa::Amx`](crate::cpu::Isa::Amx); the task's pointers hold what it says.
pub(super) unsafe fn product(task: &Task, finish: Finish) {
    // SAFETY: this function's contract.
    unsafe {
        match finish {
            Finish::Replace => blocks(task, |sums, row, col| write::<0>(task, sums, row, col)),
            Finish::Add => blocks(task, |sums, row, col| write::<1>(task, sums, row, col)),
            Finish::SquaredRelu => blocks(task, |sums, row, col| write::<2>(task, sums, row, col)),
        }
    }
}

/// The squared ReLU of all rows and columns in bf16: rows of `task.cols` halves after one another at `out`. The task's own
/// destination is not looked at.
///
/// # Safety
/// As [`product`]; there is room; columns are a multiple of [`BLOCK`].
pub(super) unsafe fn squared(task: &Task, out: *mut u32) {
    // SAFETY: this function's contract.
    unsafe { blocks(task, |sums, row, col| write_squared(task, sums, row, col, out)) };
}

/// The heads of one position, 64 rows, as attention by tiles wants them: queries over the root of their size row by row, keys by pairs of
/// channels and values by pairs of rows. The task's own destination is not looked at.
///
/// # Safety
/// As [`product`]; the columns are queries, keys and values of as many heads of `dim` as `heads` has, and `dim` is [`BLOCK`] or a multiple of
/// [`PANEL`]; there is room for `64 * dim` halves in each buffer.
pub(super) unsafe fn heads(task: &Task, dim: usize, heads: &mut [[Buffer; 3]]) {
    let width = heads.len() * dim;
    let write = |sums: &Sums, row: usize, col: usize| {
        let (part, head, channel) = (col / width, col % width / dim, col % dim);
        let out = heads[head][part].hold(TOKENS * dim / 2);
        // SAFETY: this function's contract.
        unsafe {
            match part {
                0 => write_queries(task, sums, row, col, (dim, channel), out),
                1 => write_keys(task, sums, row, col, channel, out),
                _ => write_values(task, sums, row, col, (dim, channel), out),
            }
        }
    };
    // SAFETY: this function's contract.
    unsafe { blocks(task, write) };
}

/// Sums of a block on their way.
#[repr(C, align(64))]
struct Sums([i32; BLOCK * BLOCK]);

/// Hands all blocks of sums to `take`, with their first row and column.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn blocks(task: &Task, mut take: impl FnMut(&Sums, usize, usize)) {
    let depth = task.depth / 4;
    let steps = Steps { a_row: depth, b_row: PANEL, lanes: ROWS, count: depth / ROWS };
    let mut sums = Sums([0; BLOCK * BLOCK]);
    let mut before = None;
    let columns = (0..task.cols).step_by(BLOCK);
    let places = columns.flat_map(|col| (0..task.rows).step_by(BLOCK).map(move |row| (row, col)));
    let work = || {
        for (row, col) in places {
            // SAFETY: whole tiles of rows and columns exist, as the task says; a block's missing second tile is a copy of its
            // first and then not looked at.
            unsafe {
                let a = task.a.add(row * task.depth).cast();
                let b = task.b.add((col / PANEL * task.depth * PANEL) + col % PANEL * 4).cast();
                let (tall, wide) = (row + ROWS < task.rows, col + LANES < task.cols);
                let block = Block {
                    a: [a, if tall { a.add(ROWS * depth) } else { a }],
                    b: [b, if wide { b.add(LANES) } else { b }],
                    base: [std::ptr::null(); 2],
                    base_row: 0,
                };
                match task.sign {
                    Sign::Either => block.multiply_signed(steps),
                    Sign::Positive => block.multiply_bytes(steps),
                }
                // While the tiles multiply, the vectors do the rest for the block before.
                if let Some((row, col)) = before.replace((row, col)) {
                    take(&sums, row, col);
                }
                let out = sums.0.as_mut_ptr();
                Block::store([out, out.add(ROWS * BLOCK)].map(<*mut i32>::cast), 4 * BLOCK);
            }
        }
        if let Some((row, col)) = before {
            take(&sums, row, col);
        }
    };
    // SAFETY: this function's contract; nobody else's code is called inside.
    unsafe { configured(ROWS, ROWS, work) };
}

/// Writes what becomes of a block's sums.
///
/// # Safety
/// The task has the row and the column; the CPU has AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn write<const FINISH: u8>(task: &Task, sums: &Sums, row: usize, col: usize) {
    for j in (0..(task.cols - col).min(BLOCK)).step_by(LANES) {
        let at = col + j;
        // SAFETY: this function's contract; scales and bias are whole panels.
        unsafe {
            let mask = first(task.cols - at);
            let b_scale = _mm512_loadu_ps(task.b_scales.add(at));
            let bias = _mm512_loadu_ps(task.bias.add(at));
            for i in 0..(task.rows - row).min(BLOCK) {
                let sums = _mm512_load_si512(sums.0.as_ptr().add(i * BLOCK + j).cast());
                let scale = _mm512_mul_ps(_mm512_set1_ps(*task.a_scales.add(row + i)), b_scale);
                let out = task.out.add((row + i) * task.stride + at);
                avx512::finish::<FINISH>(sums, scale, bias, mask, out);
            }
        }
    }
}

/// What a block's columns have in common.
#[derive(Clone, Copy)]
struct Columns {
    scales: [__m512; 2],
    bias: [__m512; 2],
}

impl Columns {
    /// With everything `times` as large.
    ///
    /// # Safety
    /// The task has all columns of the block; the CPU has AVX-512; so below.
    #[inline(always)]
    unsafe fn of(task: &Task, col: usize, times: f32) -> Columns {
        let load = |from: *const f32| {
            // SAFETY: this function's contract.
            let one = |at: usize| unsafe {
                _mm512_mul_ps(_mm512_loadu_ps(from.add(col + at)), _mm512_set1_ps(times))
            };
            [one(0), one(LANES)]
        };
        Columns { scales: load(task.b_scales), bias: load(task.bias) }
    }

    /// Row `i` of the block: sums times both scales, and the bias.
    #[inline(always)]
    unsafe fn row(&self, sums: &Sums, i: usize, scale: f32) -> [__m512; 2] {
        // SAFETY: the contract of `of`; a block has the row.
        unsafe {
            let a_scale = _mm512_set1_ps(scale);
            let one = |j: usize| {
                let sums = _mm512_load_si512(sums.0.as_ptr().add(i * BLOCK + j * LANES).cast());
                let scale = _mm512_mul_ps(a_scale, self.scales[j]);
                _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, self.bias[j])
            };
            [one(0), one(1)]
        }
    }

    /// The same in bf16, neighbours in a lane.
    #[inline(always)]
    unsafe fn halves(&self, sums: &Sums, i: usize, scale: f32) -> __m512i {
        // SAFETY: the contract of `of`, and AVX512_BF16.
        unsafe {
            let [low, high] = self.row(sums, i, scale);
            halves(low, high)
        }
    }
}

/// # Safety
/// As [`squared`], of a block.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn write_squared(task: &Task, sums: &Sums, row: usize, col: usize, out: *mut u32) {
    // SAFETY: this function's contract.
    unsafe {
        let columns = Columns::of(task, col, 1.0);
        for i in 0..(task.rows - row).min(BLOCK) {
            let mut y = columns.row(sums, i, *task.a_scales.add(row + i));
            for y in &mut y {
                // The second operand is what comes of NaN.
                let positive = _mm512_max_ps(_mm512_setzero_ps(), *y);
                *y = _mm512_mul_ps(positive, positive);
            }
            let to = out.add(((row + i) * task.cols + col) / 2);
            _mm512_storeu_si512(to.cast(), halves(y[0], y[1]));
        }
    }
}

/// # Safety
/// As [`heads`], of a block.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn write_queries(
    task: &Task,
    sums: &Sums,
    row: usize,
    col: usize,
    (dim, channel): (usize, usize),
    out: *mut u32,
) {
    // SAFETY: this function's contract.
    unsafe {
        let columns = Columns::of(task, col, (dim as f32).sqrt().recip());
        for i in 0..BLOCK {
            let y = columns.halves(sums, i, *task.a_scales.add(row + i));
            _mm512_storeu_si512(out.add(((row + i) * dim + channel) / 2).cast(), y);
        }
    }
}

/// # Safety
/// As [`heads`], of a block.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn write_keys(
    task: &Task,
    sums: &Sums,
    row: usize,
    col: usize,
    channel: usize,
    out: *mut u32,
) {
    // SAFETY: this function's contract.
    unsafe {
        let columns = Columns::of(task, col, 1.0);
        for first in (0..BLOCK).step_by(LANES) {
            let mut block = [_mm512_setzero_si512(); LANES];
            for (i, lanes) in block.iter_mut().enumerate() {
                let row = row + first + i;
                *lanes = columns.halves(sums, first + i, *task.a_scales.add(row));
            }
            transpose(&mut block);
            for (pair, keys) in block.iter().enumerate() {
                let to = out.add((channel / 2 + pair) * TOKENS + row + first);
                _mm512_storeu_si512(to.cast(), *keys);
            }
        }
    }
}

/// # Safety
/// As [`heads`], of a block.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn write_values(
    task: &Task,
    sums: &Sums,
    row: usize,
    col: usize,
    (dim, channel): (usize, usize),
    out: *mut u32,
) {
    // SAFETY: this function's contract.
    unsafe {
        let columns = Columns::of(task, col, 1.0);
        // As operands of products lie: in panels of 64 columns.
        let step = dim.min(PANEL);
        let out = out.add(channel / PANEL * TOKENS / 2 * PANEL + channel % PANEL);
        for i in (0..BLOCK).step_by(2) {
            let one = |i: usize| columns.halves(sums, i, *task.a_scales.add(row + i));
            let lanes = zip(one(i), one(i + 1));
            let to = out.add((row + i) / 2 * step);
            _mm512_storeu_si512(to.cast(), lanes[0]);
            _mm512_storeu_si512(to.add(LANES).cast(), lanes[1]);
        }
    }
}

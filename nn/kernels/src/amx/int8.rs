//! int8 products by AMX. Partial tiles are computed full; padding rows are discarded. Both zero points are 0,
//! so sums start at 0.
//!
//! The epilogue handles a block of 32 x 32 sums at a time, while they are in L1 and the tiles multiply the next
//! block.

use crate::TOKENS;
use crate::amx::tiles::{BLOCK, Block, ROWS, Steps, configured};
use crate::gemm::Buffer;
use crate::gemm::int8::avx512_vnni;
use crate::gemm::int8::task::{Finish, Int8Product, PANEL, Sign, by_finish};
use crate::simd::avx512::LANES;
use crate::simd::avx512::{f32_to_bf16, tail_mask, transpose, zip};
use std::arch::x86_64::*;

/// All rows and columns.
///
/// # Safety
/// The CPU has [`Isa::Amx`](crate::isa::Isa::Amx); the task's pointers hold what it says.
pub(crate) unsafe fn product(task: &Int8Product, finish: Finish) {
    // SAFETY: AMX and AVX-512 F/BW/VL; the task's pointers hold its rows (padded to 16), depth and whole panels
    // by the caller's contract.
    unsafe { by_finish!(finish, finished, task) }
}

/// # Safety
/// As [`product`].
unsafe fn finished<const FINISH: u8>(task: &Int8Product) {
    // SAFETY: AMX and AVX-512 F/BW/VL; the task's pointers hold what it says by the caller's contract.
    unsafe { blocks(task, |sums, row, col| write::<FINISH>(task, sums, row, col)) }
}

/// Squared ReLU of all rows and columns in bf16: contiguous rows of `task.cols` at `out`. `task.out` is unused.
///
/// # Safety
/// As [`product`]; `out` has room for `task.rows` rows of bf16; columns are a multiple of [`BLOCK`].
pub(crate) unsafe fn squared(task: &Int8Product, out: *mut u32) {
    // SAFETY: AMX with AVX512_BF16; `out` holds rows * cols bf16, and `cols` is a multiple of 32, by this
    // function's contract.
    unsafe { blocks(task, |sums, row, col| write_squared(task, sums, row, col, out)) };
}

/// The heads of one position (64 rows), packed for attention by AMX: queries / sqrt(dim) row by row, keys by
/// pairs of channels, values by pairs of rows. `task.out` is unused.
///
/// # Safety
/// As [`product`]; the columns are queries, keys and values of `heads.len()` heads of `dim`, and `dim` is
/// [`BLOCK`] or a multiple of [`PANEL`]; each buffer has room for `64 * dim` bf16.
pub(crate) unsafe fn heads(task: &Int8Product, dim: usize, heads: &mut [[Buffer; 3]]) {
    let width = heads.len() * dim;
    let write = |sums: &Sums, row: usize, col: usize| {
        let (part, head, channel) = (col / width, col % width / dim, col % dim);
        let out = heads[head][part].hold(TOKENS * dim / 2);
        // SAFETY: AMX with AVX512_BF16; the block lies in one part of one head, because `dim` is a multiple of
        // 32; the buffer holds 64 * dim bf16.
        unsafe {
            match part {
                0 => write_queries(task, sums, row, col, (dim, channel), out),
                1 => write_keys(task, sums, row, col, channel, out),
                _ => write_values(task, sums, row, col, (dim, channel), out),
            }
        }
    };
    // SAFETY: AMX; the task has 64 rows and 3 * width columns, whole blocks, by this function's contract.
    unsafe { blocks(task, write) };
}

/// Sums of a block.
#[repr(C, align(64))]
struct Sums([i32; BLOCK * BLOCK]);

/// Calls `take` with each block of sums and its first row and column.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn blocks(task: &Int8Product, mut take: impl FnMut(&Sums, usize, usize)) {
    let depth = task.depth / 4;
    let steps = Steps { a_row: depth, b_row: PANEL, lanes: ROWS, count: depth / ROWS };
    let mut sums = Sums([0; BLOCK * BLOCK]);
    let mut before = None;
    let columns = (0..task.cols).step_by(BLOCK);
    let places = columns.flat_map(|col| (0..task.rows).step_by(BLOCK).map(move |row| (row, col)));
    let work = || {
        for (row, col) in places {
            // SAFETY: AMX is configured for 16 x 16 tiles; rows are padded to 16, columns to 64, the depth to
            // 64 bytes, so both tiles exist; a block's missing second tile is a copy of its first, and its sums
            // are ignored.
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
                // While the tiles multiply, vector code finishes the previous block.
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
    // SAFETY: the CPU has AMX by this function's contract; `take` is this module's and configures no tiles.
    unsafe { configured(ROWS, ROWS, work) };
}

/// Epilogue of a block.
///
/// # Safety
/// The task has row `row` and column `col`; the CPU has AVX-512 F, BW and VL.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn write<const FINISH: u8>(task: &Int8Product, sums: &Sums, row: usize, col: usize) {
    for j in (0..(task.cols - col).min(BLOCK)).step_by(LANES) {
        let at = col + j;
        // SAFETY: the enabled AVX-512 F/BW/VL; scales and bias have whole panels; rows end at `task.rows`, the
        // tail mask at `task.cols`.
        unsafe {
            let mask = tail_mask(task.cols - at);
            let b_scale = _mm512_loadu_ps(task.b_scales.add(at));
            let bias = _mm512_loadu_ps(task.bias.add(at));
            for i in 0..(task.rows - row).min(BLOCK) {
                let sums = _mm512_load_si512(sums.0.as_ptr().add(i * BLOCK + j).cast());
                let scale = _mm512_mul_ps(_mm512_set1_ps(*task.a_scales.add(row + i)), b_scale);
                let out = task.out.add((row + i) * task.stride + at);
                avx512_vnni::finish::<FINISH>(sums, scale, bias, mask, out);
            }
        }
    }
}

/// Scales and bias of a block's 32 columns.
#[derive(Clone, Copy)]
struct Columns {
    scales: [__m512; 2],
    bias: [__m512; 2],
}

impl Columns {
    /// All values times `times`.
    ///
    /// # Safety
    /// The task has 32 columns from `col` on; the CPU has AVX-512; so for the other methods.
    #[inline(always)]
    unsafe fn of(task: &Int8Product, col: usize, times: f32) -> Columns {
        let load = |from: *const f32| {
            // SAFETY: AVX-512F; scales and bias have whole panels, hence 32 columns from `col` on.
            let one = |at: usize| unsafe {
                _mm512_mul_ps(_mm512_loadu_ps(from.add(col + at)), _mm512_set1_ps(times))
            };
            [one(0), one(LANES)]
        };
        Columns { scales: load(task.b_scales), bias: load(task.bias) }
    }

    /// Row `i` of the block: `sums * row scale * column scales + bias`.
    #[inline(always)]
    unsafe fn row(&self, sums: &Sums, i: usize, scale: f32) -> [__m512; 2] {
        // SAFETY: AVX-512F by the contract of `of`; a block has 32 rows of 32 sums, aligned to 64 bytes, and `i
        // < 32`.
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

    /// [`Columns::row`] in bf16, neighbours in one lane.
    #[inline(always)]
    unsafe fn halves(&self, sums: &Sums, i: usize, scale: f32) -> __m512i {
        // SAFETY: as `row`, and AVX512_BF16, which the callers enable.
        unsafe {
            let [low, high] = self.row(sums, i, scale);
            f32_to_bf16(low, high)
        }
    }
}

/// # Safety
/// As [`squared`], for one block.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn write_squared(task: &Int8Product, sums: &Sums, row: usize, col: usize, out: *mut u32) {
    // SAFETY: the enabled AVX-512 F/BW/BF16; 32 columns from `col` on exist, rows end at `task.rows`, and `out`
    // holds rows * cols bf16.
    unsafe {
        let columns = Columns::of(task, col, 1.0);
        for i in 0..(task.rows - row).min(BLOCK) {
            let mut y = columns.row(sums, i, *task.a_scales.add(row + i));
            for y in &mut y {
                // `max` returns its second operand for NaN: NaN propagates.
                let positive = _mm512_max_ps(_mm512_setzero_ps(), *y);
                *y = _mm512_mul_ps(positive, positive);
            }
            let to = out.add(((row + i) * task.cols + col) / 2);
            _mm512_storeu_si512(to.cast(), f32_to_bf16(y[0], y[1]));
        }
    }
}

/// # Safety
/// As [`heads`], for one block.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn write_queries(
    task: &Int8Product,
    sums: &Sums,
    row: usize,
    col: usize,
    (dim, channel): (usize, usize),
    out: *mut u32,
) {
    // SAFETY: the enabled AVX-512 F/BW/BF16; the task has 64 rows in whole blocks; `out` holds `[64, dim]`
    // bf16, and `channel + 32 <= dim`.
    unsafe {
        let columns = Columns::of(task, col, (dim as f32).sqrt().recip());
        for i in 0..BLOCK {
            let y = columns.halves(sums, i, *task.a_scales.add(row + i));
            _mm512_storeu_si512(out.add(((row + i) * dim + channel) / 2).cast(), y);
        }
    }
}

/// # Safety
/// As [`heads`], for one block.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn write_keys(
    task: &Int8Product,
    sums: &Sums,
    row: usize,
    col: usize,
    channel: usize,
    out: *mut u32,
) {
    // SAFETY: the enabled AVX-512 F/BW/BF16; the task has 64 rows in whole blocks; `out` holds `[dim / 2, 64]`
    // lanes, and `channel + 32 <= dim`.
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
/// As [`heads`], for one block.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn write_values(
    task: &Int8Product,
    sums: &Sums,
    row: usize,
    col: usize,
    (dim, channel): (usize, usize),
    out: *mut u32,
) {
    // SAFETY: the enabled AVX-512 F/BW/BF16; the task has 64 rows in whole blocks; `out` holds `[32, dim]`
    // lanes in panels of up to 64 columns, and `channel + 32 <= dim`.
    unsafe {
        let columns = Columns::of(task, col, 1.0);
        // Packed as a right operand: panels of up to 64 columns.
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

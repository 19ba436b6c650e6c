//! The bf16 product by AMX (Intel servers from Sapphire Rapids on). AMX uses the packed layout of AVX512_BF16.
//! Partial tiles are computed full; padding rows are discarded. A block of sums is finished by an [`Epilogue`] while the
//! tiles multiply the next block.

use crate::amx::tiles::{
    BLOCK, Block, Panel, ROWS, SteppedBlock, Steps, configure, configured, release,
};
use crate::gemm::bf16::columns::transpose_tiles;
use crate::gemm::bf16::pairs::{Bf16Rows, Pairs};
use crate::gemm::format::{Half, Product};
use crate::gemm::packed::{Left, Right};
use crate::gemm::panels::PANEL;
use crate::simd::avx512::{LANES, tail_mask};
use std::arch::x86_64::*;
use std::ops::Range;

/// The largest tile depth, in lanes, that divides `depth`.
fn equal_lanes(depth: usize) -> Option<usize> {
    (8..=ROWS).rev().chain([depth]).find(|lanes| *lanes <= ROWS && depth.is_multiple_of(*lanes))
}

/// A product.
///
/// # Safety
/// As `product` in [`crate::gemm::microkernel`], for bf16; the left operand's lanes lie row by row, with
/// room for whole tiles of rows, and [`Isa::Amx`](crate::isa::Isa::Amx) has been found.
pub(crate) unsafe fn product(task: &Product<'_>) {
    let depth = task.left.depth;
    // SAFETY: AMX was found; the task's operands hold `depth` lanes, and each share's lanes lie inside them.
    unsafe {
        match equal_lanes(depth) {
            Some(lanes) => share(task, 0, lanes, depth / lanes),
            None => {
                let steps = depth / ROWS;
                share(task, 0, ROWS, steps);
                let (base, base_row) = (task.out.cast_const(), task.stride);
                let rest = Product { base, base_row, ..*task };
                share(&rest, steps * ROWS, depth % ROWS, 1);
            }
        }
    }
}

/// [`product`] over `steps` tiles of `lanes` from lane `first` of the depth on.
///
/// # Safety
/// As [`product`]; there are such lanes.
unsafe fn share(task: &Product<'_>, first: usize, lanes: usize, steps: usize) {
    let (left, right) = (&task.left, &task.right);
    let steps = Steps { a_row: left.row, b_row: right.step, lanes, count: steps };
    if left.rows <= ROWS && right.cols.is_multiple_of(PANEL) && task.scale == 1.0 {
        // SAFETY: AMX was found; `left` has at most 16 rows, `right` whole panels, and the lanes exist.
        return unsafe { single_tile_rows(task, first, steps) };
    }
    // SAFETY: AMX was found, which implies AVX-512 F/BW/DQ/BF16; the lanes exist.
    unsafe { floats(task, first, steps) }
}

/// [`share`] for any number of rows and columns.
///
/// # Safety
/// As [`share`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
unsafe fn floats(task: &Product<'_>, first: usize, steps: Steps) {
    // SAFETY: AMX and the enabled AVX-512 features; `ToTask` masks what lies outside the task's rows and
    // columns.
    unsafe { blocks(&task.left, &task.right, first, steps, &mut ToTask(task)) }
}

/// Whether a product is whole blocks, and its depth whole tiles.
fn fills(rows: usize, cols: usize, depth: usize) -> bool {
    let of = |n: usize, size: usize| n > 0 && n.is_multiple_of(size);
    of(rows, BLOCK) && of(cols, BLOCK) && of(depth, ROWS)
}

/// All blocks of a product; false if it is not whole blocks.
///
/// # Safety
/// As [`product`], with operands of bf16 packed for AMX; `finish` accepts this product's blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
pub(crate) unsafe fn whole<F: Epilogue>(
    left: &Left<'_>,
    right: &Right<'_>,
    finish: &mut F,
) -> bool {
    if left.depth != right.depth || !fills(left.rows, right.cols, left.depth) {
        return false;
    }
    let (lanes, count) = (ROWS, left.depth / ROWS);
    let steps = Steps { a_row: left.row, b_row: right.step, lanes, count };
    // SAFETY: AMX and the enabled AVX-512 features; `fills` checked whole blocks and tiles, so both operands
    // hold them.
    unsafe { blocks(left, right, 0, steps, finish) };
    true
}

/// Epilogue of a block's sums.
pub(crate) trait Epilogue {
    /// Takes rows `rows` of the sums; `place` is the row and the column of the product where the block begins.
    ///
    /// # Safety
    /// The product has such a block; the CPU has AVX-512 F, BW, DQ and AVX512_BF16.
    unsafe fn take(&mut self, sums: &BlockSums, place: (usize, usize), rows: Range<usize>);
}

/// Bytes of the left operand that fit in L1 beside other data.
const NEAR: usize = 24 << 10;

/// Calls `finish` with the sums of every block.
///
/// # Safety
/// As [`share`]; inlined into a function compiled for the instructions of `F`.
#[inline(always)]
unsafe fn blocks<F: Epilogue>(
    left: &Left<'_>,
    right: &Right<'_>,
    first: usize,
    steps: Steps,
    finish: &mut F,
) {
    let (down, across) = (left.rows.div_ceil(BLOCK), right.cols.div_ceil(BLOCK));
    // Column-major order if all rows fit in L1; otherwise row-major.
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
        SteppedBlock {
            a,
            a_step: steps.lanes,
            b: [col, next].map(|col| b.wrapping_add(right.at(col))),
        }
    };
    // SAFETY: AMX was found; every tile lies in the operands: `left` has whole tiles of rows, `right` whole
    // vectors of columns, and the lanes are inside the depth. A block's missing second tile is a copy of its
    // first. `finish` accepts the blocks by this function's contract.
    unsafe { pipeline(down * across, steps, place, tiles, finish) }
}

/// Software pipeline: calls `finish` with the sums of `count` blocks, a few rows between any two steps of the
/// next block; `place` gives a block's position in the product, `tiles` its operands.
///
/// # Safety
/// The operands exist, `steps.count` tiles along the depth; `finish` accepts blocks at these places; the CPU
/// has AMX. Inlined into a function compiled for the instructions of `F`.
#[inline(always)]
unsafe fn pipeline<F: Epilogue>(
    count: usize,
    steps: Steps,
    place: impl Fn(usize) -> (usize, usize),
    mut tiles: impl FnMut((usize, usize)) -> SteppedBlock,
    finish: &mut F,
) {
    let mut sums = BlockSums([0.0; BLOCK * BLOCK]);
    let part = |step: usize| step * BLOCK / steps.count;
    // SAFETY: AMX by this function's contract, configured here and released below, and `finish` configures no
    // tiles; the operands hold `steps.count` tiles; `sums` holds 32 x 32 floats, stored before they are taken.
    unsafe {
        configure(ROWS, steps.lanes);
        for n in 0..count {
            let mut block = tiles(place(n));
            SteppedBlock::begin();
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

/// Adds `aᵀ * right` to `out`, `[a.cols, right.cols]`, rows `stride` apart; false if it is not whole blocks. 32
/// columns of `a` at a time are transposed into `columns`, which stays in L1.
///
/// # Safety
/// The CPU has AMX; `right` is packed for it; `columns` has room for 32 columns' lanes, and `out` for the
/// product.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512bf16")]
pub(crate) unsafe fn transposed(
    a: Bf16Rows<'_>,
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
            // SAFETY: the enabled AVX-512 F/BW/BF16; `fills` checked that `a` has 32 columns from `row` on and
            // `2 * depth` rows, a multiple of 32; `columns` holds 32 * depth lanes.
            unsafe { transpose_tiles(a, row, columns) };
        }
        SteppedBlock {
            a: [columns, columns.wrapping_add(depth * ROWS)],
            a_step: ROWS * ROWS,
            b: [col, col + LANES].map(|col| right.data.as_ptr().wrapping_add(right.at(col))),
        }
    };
    let place = |n: usize| (n / across * BLOCK, n % across * BLOCK);
    // SAFETY: AMX by this function's contract; `columns` holds two rows of tiles, `right` whole tiles, and
    // `out` `rows x right.cols`, `stride` apart.
    unsafe { pipeline(rows / BLOCK * across, steps, place, tiles, &mut Onto { out, stride }) };
    true
}

/// Epilogue: adds the sums to the destination.
struct Onto {
    out: *mut f32,
    stride: usize,
}

impl Epilogue for Onto {
    #[inline(always)]
    unsafe fn take(&mut self, sums: &BlockSums, (row, col): (usize, usize), rows: Range<usize>) {
        for i in rows {
            for j in [0, LANES] {
                // SAFETY: AVX-512F, and the block's rows and 32 columns lie in `out`: `Epilogue::take`'s
                // contract.
                unsafe {
                    let to = self.out.add((row + i) * self.stride + col + j);
                    let sum = _mm512_load_ps(sums.0.as_ptr().add(i * BLOCK + j));
                    _mm512_storeu_ps(to, _mm512_add_ps(sum, _mm512_loadu_ps(to)));
                }
            }
        }
    }
}

/// [`share`] for at most one tile of rows and whole panels.
///
/// # Safety
/// As [`share`].
unsafe fn single_tile_rows(task: &Product<'_>, first: usize, steps: Steps) {
    let (left, right) = (&task.left, &task.right);
    let work = || {
        for col in (0..right.cols).step_by(PANEL) {
            // SAFETY: AMX is configured for `left.rows` rows; 64 columns from `col` on exist in `right`, `out`
            // and `base`; lanes `first..` lie inside the depth.
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
    // SAFETY: AMX by this function's contract; rows and lanes are 1 to 16; `work` configures no tiles.
    unsafe { configured(left.rows, steps.lanes, work) };
}

/// BlockSums of a block, row by row.
#[repr(C, align(64))]
pub(crate) struct BlockSums(pub [f32; BLOCK * BLOCK]);

/// Epilogue: scales the sums, adds the base and writes to the task's destination.
struct ToTask<'a>(&'a Product<'a>);

impl Epilogue for ToTask<'_> {
    #[inline(always)]
    unsafe fn take(&mut self, sums: &BlockSums, (row, col): (usize, usize), rows: Range<usize>) {
        let task = self.0;
        let whole = row + rows.end <= task.left.rows && col + BLOCK <= task.right.cols;
        // SAFETY: AVX-512F by `Epilogue::take`'s contract; a whole block's rows and 32 columns are the task's,
        // and `edge` masks the others.
        unsafe {
            match whole && task.scale == 1.0 {
                true if task.base.is_null() => self.whole_block::<false>(sums, (row, col), rows),
                true => self.whole_block::<true>(sums, (row, col), rows),
                false => self.edge(sums, (row, col), rows),
            }
        }
    }
}

impl ToTask<'_> {
    /// Rows of a whole block, with or without a base.
    ///
    /// # Safety
    /// As [`Epilogue::take`]; the task has these rows and 32 columns.
    #[inline(always)]
    unsafe fn whole_block<const BASE: bool>(
        &self,
        sums: &BlockSums,
        (row, col): (usize, usize),
        rows: Range<usize>,
    ) {
        let task = self.0;
        for i in rows {
            // SAFETY: AVX-512F; the task has row `row + i` and 32 columns from `col` on in `out` and, if
            // `BASE`, in `base`.
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

    /// Rows of a block that may reach beyond the task's rows or columns.
    ///
    /// # Safety
    /// As [`Epilogue::take`].
    #[inline(never)]
    #[target_feature(enable = "avx512f")]
    unsafe fn edge(&self, sums: &BlockSums, (row, col): (usize, usize), rows: Range<usize>) {
        let task = self.0;
        let cols = (task.right.cols - col).min(BLOCK);
        for i in rows.start..rows.end.min(task.left.rows.saturating_sub(row)) {
            for j in [0, LANES] {
                let mask = tail_mask(cols.saturating_sub(j));
                // SAFETY: the enabled AVX-512F; `row + i` is below the task's rows, and the tail masks end at
                // its last column.
                unsafe {
                    let sum = _mm512_load_ps(sums.0.as_ptr().add(i * BLOCK + j));
                    task.store::<Half>(sum, row + i, col + j, mask);
                }
            }
        }
    }
}

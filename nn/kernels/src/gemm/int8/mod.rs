//! int8 products: weights are quantized once per output channel, activations per row at run time. Sums are
//! exact; only quantization loses accuracy.
//!
//! A row becomes bytes with one scale: squared ReLUs unsigned; other activations unsigned with a zero point in
//! the middle of the range (sums start at minus its contribution), or signed. Five kernels multiply such bytes.
//! AMX, AVX512_VNNI and AVX-VNNI add four products in 32 bits and use all 8 bits of both operands. So does
//! Arm's `sdot`, whose operands are both signed: there squared ReLUs have a zero point, other activations none.
//! AVX2's `vpmaddubsw` adds in 16 bits: activations have 7 bits, and a channel's weights are scaled so that
//! eight products fit for any activations, which allows adding four results before widening.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512_vnni;
#[cfg(target_arch = "x86_64")]
mod avx_vnni;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod norm_quantize;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod quantize;
pub(crate) mod task;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use super::packed::Buffer;
#[cfg(target_arch = "x86_64")]
use crate::TOKENS;
#[cfg(target_arch = "x86_64")]
use crate::amx::tiles::BLOCK;
use crate::norm::MAX_ROWS;
use crate::ops;
#[cfg(target_arch = "x86_64")]
use crate::simd::horizontal::EIGHT;
#[cfg(target_arch = "aarch64")]
use neon as simd;
use std::ops::Range;
use task::{CHAIN, Int8Product, PANEL, ROWS};
#[cfg(target_arch = "x86_64")]
use x86 as simd;

pub use task::{Finish, Kernel, Sign};

/// Quantized rows of activations, one scale per row.
#[derive(Default)]
pub struct Rows {
    lines: Vec<ByteLine>,
    /// Sign of the numbers that the bytes represent.
    sign: Sign,
    scales: Vec<f32>,
    /// Bytes from row to row.
    stride: usize,
    /// Scratch: a few normalised rows.
    block: Vec<f32>,
    unit: Vec<f32>,
}

impl Rows {
    /// Quantizes contiguous rows of `depth` non-negative bf16.
    ///
    /// # Panics
    /// If the CPU lacks the kernel, `depth` is no multiple of 64, or there are fewer halves: a fault of the caller.
    #[cfg(target_arch = "x86_64")]
    pub fn round_halves(&mut self, kernel: Kernel, x: &Buffer, rows: usize, depth: usize) {
        let lanes = x.lanes();
        assert!(depth.is_multiple_of(64) && lanes.len() >= rows * depth / 2, "{rows} of {depth}");
        assert!(kernel == Kernel::Tiles && kernel.on_this_cpu(), "no {kernel:?}");
        self.hold(kernel, Sign::Positive, rows, depth);
        let levels = kernel.levels(Sign::Positive);
        let bytes = bytes_mut(&mut self.lines);
        // SAFETY: `Kernel::Tiles` on this CPU implies AVX-512 F/BW; `lanes` holds `rows * depth` bf16, `depth`
        // a multiple of 64, asserted above; `hold` made room for as many bytes and `rows` scales.
        unsafe { avx512_vnni::round_halves(lanes, depth, levels, bytes, &mut self.scales) };
    }

    /// Makes room for `rows` of `depth`, padded to whole blocks of rows and to the kernel's depth; padding
    /// bytes meet zero weights.
    pub fn hold(&mut self, kernel: Kernel, sign: Sign, rows: usize, depth: usize) {
        self.sign = sign;
        self.stride = kernel.depth(depth);
        // Not cleared: every byte that counts is written.
        let lines = (rows.next_multiple_of(ROWS) * self.stride).div_ceil(64);
        self.lines.resize(lines, ByteLine([0; 64]));
        self.scales.resize(rows, 0.0);
    }

    /// Layer-normalises each row of `x`, `[rows, width]`, as [`ops::layer_norm`] does, and quantizes it.
    ///
    /// # Panics
    /// If the CPU lacks the kernel, or the shapes do not agree: a fault of the caller.
    pub fn normalise(&mut self, kernel: Kernel, x: &[f32], gamma: &[f32], beta: &[f32]) {
        let width = gamma.len();
        assert!(beta.len() == width && x.len().is_multiple_of(width), "rows of another width");
        assert!(kernel.on_this_cpu(), "no {kernel:?}");
        self.hold(kernel, Sign::Either, x.len() / width, width);
        let levels = kernel.levels(Sign::Either);
        let scratch = MAX_ROWS * width;
        self.block.resize(scratch, 0.0);
        #[cfg(target_arch = "x86_64")]
        let done = self.normalise_most(kernel, x, norm_quantize::Norm { gamma, beta, levels });
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        let rows =
            bytes_mut(&mut self.lines)[done * self.stride..].chunks_mut(MAX_ROWS * self.stride);
        let scales = self.scales[done..].chunks_mut(MAX_ROWS);
        for ((bytes, scales), x) in rows.zip(scales).zip(x[done * width..].chunks(scratch)) {
            let block = &mut self.block[..x.len()];
            let stride = self.stride;
            // SAFETY: `on_this_cpu` asserted the kernel's features; `x` and `block` hold as many rows of
            // `width` floats as `scales` has entries, at most `MAX_ROWS`; `bytes` has `stride` bytes for each; a
            // `width` that is a multiple of 16 is whole vectors of every kernel.
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            unsafe {
                if width.is_multiple_of(16) {
                    simd::normalise(kernel, x, gamma, beta, block);
                } else {
                    self.unit.resize(scratch, 0.0);
                    let unit = &mut self.unit[..x.len()];
                    ops::layer_norm(
                        kernel.isa(),
                        x,
                        gamma,
                        beta,
                        unit,
                        &mut [0.0; MAX_ROWS],
                        block,
                    );
                }
                simd::round(kernel, block, width, levels, bytes, stride, scales);
            }
        }
    }

    /// Handles rows eight at a time where the AVX-512 kernel applies; returns the number of rows done.
    #[cfg(target_arch = "x86_64")]
    fn normalise_most(
        &mut self,
        kernel: Kernel,
        x: &[f32],
        norm: norm_quantize::Norm<'_>,
    ) -> usize {
        let width = norm.gamma.len();
        let wide = matches!(kernel, Kernel::Vnni | Kernel::Tiles);
        if !wide || !width.is_multiple_of(norm_quantize::WIDTH) {
            return 0;
        }
        let (scales, _) = self.scales.as_chunks_mut::<EIGHT>();
        let bytes = bytes_mut(&mut self.lines).chunks_exact_mut(EIGHT * width);
        for ((x, bytes), scales) in x.chunks_exact(EIGHT * width).zip(bytes).zip(&mut *scales) {
            let block = &mut self.block[..x.len()];
            // SAFETY: `wide` and `on_this_cpu` (asserted by the caller) imply AVX-512 F/BW/VL/DQ; eight rows of
            // `width`, a multiple of `WIDTH`, lie in `x` and `block`, and as many bytes, since the stride
            // equals the width.
            unsafe { norm_quantize::rows(x, norm, bytes, scales, block) };
        }
        scales.len() * EIGHT
    }

    /// Quantizes rows of `depth`, `x` `[rows, depth]`.
    ///
    /// # Panics
    /// If the CPU lacks the kernel, or `x` holds no whole rows: a fault of the caller.
    pub fn round(&mut self, kernel: Kernel, sign: Sign, x: &[f32], depth: usize) {
        assert!(depth > 0 && x.len().is_multiple_of(depth), "{} of {depth}", x.len());
        self.hold(kernel, sign, x.len() / depth, depth);
        self.put(kernel, 0, x, depth);
    }

    /// Quantizes `x` into rows from `first` on, for which [`Rows::hold`] made room.
    ///
    /// # Panics
    /// As [`Rows::round`], or if there are no such rows: a fault of the caller.
    pub fn put(&mut self, kernel: Kernel, first: usize, x: &[f32], depth: usize) {
        assert!(kernel.on_this_cpu(), "no {kernel:?}");
        assert!(self.stride == kernel.depth(depth), "rows of {depth}");
        assert!(first + x.len() / depth <= self.scales.len(), "rows from {first} on");
        let levels = kernel.levels(self.sign);
        let bytes = &mut bytes_mut(&mut self.lines)[first * self.stride..];
        let rows = bytes.chunks_mut(MAX_ROWS * self.stride);
        let scales = self.scales[first..].chunks_mut(MAX_ROWS);
        let x = x.chunks(MAX_ROWS * depth);
        for ((bytes, scales), x) in rows.zip(scales).zip(x) {
            let scales = &mut scales[..x.len() / depth];
            let stride = self.stride;
            // SAFETY: `on_this_cpu` asserted the kernel's features; `x` holds as many rows of `depth` floats as
            // `scales` has entries, and `bytes` `stride >= depth` bytes for each.
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            unsafe {
                simd::round(kernel, x, depth, levels, bytes, stride, scales);
            }
        }
    }
}

/// A cache line of bytes: vectors that straddle two lines load at half the speed.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct ByteLine([i8; 64]);

/// The bytes of the lines.
fn bytes(lines: &[ByteLine]) -> &[u8] {
    // SAFETY: a `ByteLine` is 64 bytes without padding; the slice borrows the lines.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), 64 * lines.len()) }
}

/// The same, to be written.
fn bytes_mut(lines: &mut [ByteLine]) -> &mut [u8] {
    // SAFETY: a `ByteLine` is 64 bytes without padding; the slice borrows the lines exclusively.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), 64 * lines.len()) }
}

/// A linear map with int8 weights.
pub struct Linear8 {
    kernel: Kernel,
    /// Sign of the activations.
    sign: Sign,
    /// Panels of 64 columns; for every four rows of the matrix, four bytes of each column.
    lines: Vec<ByteLine>,
    /// By column: initial value of the sums, minus the contribution of the activations' zero point.
    start: Vec<i32>,
    /// By column, like `bias`.
    scales: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
    outputs: usize,
}

impl Linear8 {
    /// Quantizes `weight`, `[inputs, outputs]`, for activations of `sign`.
    ///
    /// # Panics
    /// If the shapes do not agree: a fault of the caller.
    #[must_use]
    pub fn new(kernel: Kernel, sign: Sign, weight: &[f32], bias: &[f32]) -> Linear8 {
        let outputs = bias.len();
        assert!(
            outputs > 0 && weight.len().is_multiple_of(outputs),
            "{} by {outputs}",
            weight.len()
        );
        let inputs = weight.len() / outputs;
        let (depth, columns) = (kernel.depth(inputs), outputs.next_multiple_of(PANEL));
        let mut new = Linear8 {
            kernel,
            sign,
            lines: vec![ByteLine([0; 64]); depth * columns / 64],
            start: vec![0; columns],
            scales: vec![0.0; columns],
            bias: bias.to_vec(),
            inputs,
            outputs,
        };
        new.bias.resize(columns, 0.0);
        let zero = kernel.levels(sign).zero;
        for j in 0..outputs {
            let column: Vec<f32> = (0..inputs).map(|k| weight[k * outputs + j]).collect();
            let (scale, rounded) = round_column(kernel, &column);
            new.scales[j] = scale;
            new.start[j] = -zero * rounded.iter().map(|w| i32::from(*w)).sum::<i32>();
            for (k, w) in rounded.into_iter().enumerate() {
                let at = new.place(k, j);
                new.lines[at / 64].0[at % 64] = w;
            }
        }
        new
    }

    /// The product of rows `rows` with all columns; the destination is still missing.
    ///
    /// # Panics
    /// If shapes do not agree or the CPU lacks the kernel: a fault of the caller.
    fn task(&self, x: &Rows, rows: Range<usize>) -> Int8Product {
        assert!(x.stride == self.kernel.depth(self.inputs), "depth {}", x.stride);
        assert!(x.sign == self.sign, "rows of {:?} for {:?}", x.sign, self.sign);
        assert!(rows.end <= x.scales.len(), "row {}", rows.end);
        // AMX reads whole blocks from the first row on; the buffer is padded to whole blocks from row 0 on.
        assert!(rows.start.is_multiple_of(ROWS), "row {}", rows.start);
        assert!(self.kernel.on_this_cpu(), "no {:?}", self.kernel);
        Int8Product {
            rows: rows.len(),
            cols: self.outputs,
            depth: x.stride,
            a: bytes(&x.lines)[rows.start * x.stride..].as_ptr(),
            #[cfg(target_arch = "x86_64")]
            sign: self.sign,
            a_scales: x.scales[rows.start..].as_ptr(),
            b: self.lines.as_ptr().cast(),
            start: self.start.as_ptr(),
            b_scales: self.scales.as_ptr(),
            bias: self.bias.as_ptr(),
            out: std::ptr::null_mut(),
            stride: 0,
        }
    }

    /// Index of the weight of input `k` and output `j`.
    fn place(&self, k: usize, j: usize) -> usize {
        let depth = self.kernel.depth(self.inputs);
        j / PANEL * depth * PANEL + k / 4 * 4 * PANEL + j % PANEL * 4 + k % 4
    }

    /// Its outputs.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// `out = x * weight + bias`, or as `finish` says, for the first `cols` outputs; rows of `out` are `stride`
    /// apart.
    ///
    /// # Panics
    /// If shapes do not agree or the CPU lacks the kernel: a fault of the caller.
    pub fn apply(&self, x: &Rows, out: &mut [f32], stride: usize, cols: usize, finish: Finish) {
        self.apply_to(x, 0..x.scales.len(), out, stride, cols, finish);
    }

    /// [`Linear8::apply`] of rows `rows` of `x`; the first of them becomes the first row of `out`.
    ///
    /// # Panics
    /// As [`Linear8::apply`], or if there are no such rows: a fault of the caller.
    pub fn apply_to(
        &self,
        x: &Rows,
        rows: Range<usize>,
        out: &mut [f32],
        stride: usize,
        cols: usize,
        finish: Finish,
    ) {
        let count = rows.len();
        if count == 0 {
            return;
        }
        assert!(0 < cols && cols <= self.outputs && cols <= stride, "{cols} columns");
        assert!((count - 1) * stride + cols <= out.len(), "{count} rows in {}", out.len());
        let task = Int8Product { cols, out: out.as_mut_ptr(), stride, ..self.task(x, rows) };
        // SAFETY: `task` asserted the kernel's features, the depth and the rows; `Rows` holds them in whole
        // blocks of 16 from a start that callers keep a multiple of 16, with a scale each; this map holds whole
        // panels of `depth`; `out` is exclusively borrowed and large enough, asserted above.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        unsafe {
            simd::product(self.kernel, &task, finish);
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Linear8 {
    /// Whether [`Linear8::squared`] and [`Linear8::heads`] work: blocks of AMX tiles fill all columns.
    pub fn by_blocks(&self) -> bool {
        self.kernel == Kernel::Tiles && self.outputs.is_multiple_of(BLOCK)
    }

    /// Squared ReLU of `x * weight + bias` in bf16, contiguous rows in `out`.
    ///
    /// # Panics
    /// If [`Linear8::by_blocks`] says no, or depths differ: a fault of the caller.
    pub fn squared(&self, x: &Rows, out: &mut Buffer) {
        assert!(self.by_blocks(), "no whole blocks");
        let rows = x.scales.len();
        let out = out.hold(rows * self.outputs / 2);
        // SAFETY: `by_blocks` and `task` assert AMX, shapes and rows; `out` holds rows * outputs bf16, and
        // columns are a multiple of 32.
        unsafe { crate::amx::int8::squared(&self.task(x, 0..rows), out) };
    }

    /// Queries, keys and values of position `p` (64 rows of `x`), packed for
    /// [`attention`](crate::amx::attention).
    ///
    /// # Panics
    /// If [`Linear8::by_blocks`] is false, there is no such position, or the heads are no whole blocks: a fault
    /// of the caller.
    pub fn heads(&self, x: &Rows, p: usize, heads: &mut [[Buffer; 3]]) {
        let (rows, dim) = (p * TOKENS..(p + 1) * TOKENS, self.outputs / 3 / heads.len());
        assert!(self.by_blocks() && rows.end <= x.scales.len(), "position {p}");
        assert!(self.outputs == 3 * dim * heads.len(), "{} heads", heads.len());
        assert!(dim == BLOCK || dim.is_multiple_of(PANEL), "heads of {dim}");
        for buffer in heads.as_flattened_mut() {
            buffer.hold(TOKENS * dim / 2);
        }
        // SAFETY: `by_blocks` and `task` assert AMX, shapes and rows; each buffer holds 64 * dim bf16, and
        // `dim` is 32 or a multiple of 64, asserted above.
        unsafe { crate::amx::int8::heads(&self.task(x, rows), dim, heads) };
    }
}

/// Scale of a channel's weights, and the quantized weights.
fn round_column(kernel: Kernel, column: &[f32]) -> (f32, Vec<i8>) {
    let high = column.iter().fold(0.0f32, |high, w| high.max(w.abs()));
    let mut scale = high / 127.0;
    // A denormal scale has an infinite inverse, and multiplying may not increase it; such weights round to
    // zero.
    if scale < f32::MIN_POSITIVE {
        return (0.0, vec![0; column.len()]);
    }
    loop {
        let factor = 1.0 / scale;
        let rounded: Vec<i8> = column
            .iter()
            .map(|w| (w * factor).round_ties_even().clamp(-127.0, 127.0) as i8)
            .collect();
        let excess = match kernel {
            Kernel::Dot | Kernel::Tiles | Kernel::Vnni | Kernel::AvxVnni => 0.0,
            Kernel::Avx2 => excess(&rounded),
        };
        if excess <= 1.0 {
            return (scale, rounded);
        }
        scale *= excess.max(1.004);
    }
}

/// The largest possible 16-bit partial sum as a share of its range: above 1 it may overflow.
fn excess(rounded: &[i8]) -> f32 {
    const MOST: i32 = i16::MAX as i32 / 127;
    let mut worst = 0;
    for chain in rounded.chunks(CHAIN) {
        for half in [0, 2] {
            let (mut up, mut down) = (0, 0);
            for four in chain.chunks(4) {
                for w in four.iter().skip(half).take(2) {
                    up += i32::from(*w).max(0);
                    down -= i32::from(*w).min(0);
                }
            }
            worst = worst.max(up).max(down);
        }
    }
    worst as f32 / MOST as f32
}

#[cfg(test)]
mod tests;

//! Products of 8-bit integers: weights rounded once for each output channel, activations for each row as they
//! come. Sums are exact; what is lost is lost in rounding.
//!
//! A row becomes unsigned bytes with one scale: squared ReLUs as they are, anything else shifted to the middle
//! of the range, which the sums make good by beginning at what the shift adds, or with a sign. Five sets of instructions
//! multiply such bytes. AMX, AVX512_VNNI and AVX-VNNI sum four products in 32 bits and take all 8 bits of both. So does
//! `sdot` of Arm's processors, whose bytes have a sign: there squared ReLUs are shifted, and the rest is not. AVX2's
//! `vpmaddubsw` sums in 16 bits: there activations have 7 bits, and a channel's weights are scaled so that
//! eight products fit whatever the activations are, which lets four results be added before they are widened.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod normalise;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod rounding;
mod task;
#[cfg(target_arch = "x86_64")]
mod tiles;
#[cfg(target_arch = "x86_64")]
mod vnni;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use super::matmul::Buffer;
use super::ops;
#[cfg(target_arch = "x86_64")]
use super::quarters::EIGHT;
use super::rows::FEW;
#[cfg(target_arch = "x86_64")]
use super::tiles::BLOCK;
#[cfg(target_arch = "x86_64")]
use crate::net::TOKENS;
#[cfg(target_arch = "aarch64")]
use neon as simd;
use std::ops::Range;
use task::{CHAIN, PANEL, ROWS, Task};
#[cfg(target_arch = "x86_64")]
use x86 as simd;

pub use task::{Finish, Kernel, Sign};

/// Rows of activations in bytes, each with its scale.
#[derive(Default)]
pub struct Rows {
    lines: Vec<Line>,
    /// Of the numbers that the bytes stand for.
    sign: Sign,
    scales: Vec<f32>,
    /// Bytes from row to row.
    stride: usize,
    /// A few normalised rows on their way, and what else normalising them makes.
    block: Vec<f32>,
    unit: Vec<f32>,
}

impl Rows {
    /// Rounds rows of `depth` halves, none below zero, that lie row after row.
    ///
    /// # Panics
    /// If the CPU lacks the kernel, `depth` is no multiple of 64, or there are fewer halves: a fault of the caller.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn round_halves(&mut self, kernel: Kernel, x: &Buffer, rows: usize, depth: usize) {
        let lanes = x.lanes();
        assert!(depth.is_multiple_of(64) && lanes.len() >= rows * depth / 2, "{rows} of {depth}");
        assert!(kernel == Kernel::Tiles && kernel.on_this_cpu(), "no {kernel:?}");
        self.hold(kernel, Sign::Positive, rows, depth);
        let levels = kernel.levels(Sign::Positive);
        let bytes = bytes_mut(&mut self.lines);
        // SAFETY: the CPU has the instructions; there are such rows of halves, and room for their bytes and scales.
        unsafe { avx512::round_halves(lanes, depth, levels, bytes, &mut self.scales) };
    }

    /// Room for `rows` of `depth` and for whole blocks of rows, whatever they hold; bytes beyond the depth meet weights of zero.
    pub(super) fn hold(&mut self, kernel: Kernel, sign: Sign, rows: usize, depth: usize) {
        self.sign = sign;
        self.stride = kernel.depth(depth);
        // Content need not be cleared: every byte that counts is written.
        let lines = (rows.next_multiple_of(ROWS) * self.stride).div_ceil(64);
        self.lines.resize(lines, Line([0; 64]));
        self.scales.resize(rows, 0.0);
    }

    /// Normalises each row of `x`, `[rows, width]`, as [`ops::layer_norm`] does, and rounds it.
    ///
    /// # Panics
    /// If the CPU lacks the kernel, or the shapes do not agree: a fault of the caller.
    pub fn normalise(&mut self, kernel: Kernel, x: &[f32], gamma: &[f32], beta: &[f32]) {
        let width = gamma.len();
        assert!(beta.len() == width && x.len().is_multiple_of(width), "rows of another width");
        assert!(kernel.on_this_cpu(), "no {kernel:?}");
        self.hold(kernel, Sign::Either, x.len() / width, width);
        let levels = kernel.levels(Sign::Either);
        let few = FEW * width;
        self.block.resize(few, 0.0);
        #[cfg(target_arch = "x86_64")]
        let done = self.normalise_most(kernel, x, normalise::Norm { gamma, beta, levels });
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        let rows = bytes_mut(&mut self.lines)[done * self.stride..].chunks_mut(FEW * self.stride);
        let scales = self.scales[done..].chunks_mut(FEW);
        for ((bytes, scales), x) in rows.zip(scales).zip(x[done * width..].chunks(few)) {
            let block = &mut self.block[..x.len()];
            let stride = self.stride;
            // SAFETY: the CPU has the instructions, as was checked; `x` and `block` are as many rows of the
            // width as there are scales, at most `FEW`; `bytes` has been made for them; 16 is a multiple of
            // the vectors' lengths.
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            unsafe {
                if width.is_multiple_of(16) {
                    simd::normalise(kernel, x, gamma, beta, block);
                } else {
                    self.unit.resize(few, 0.0);
                    let unit = &mut self.unit[..x.len()];
                    ops::layer_norm(x, gamma, beta, unit, &mut [0.0; FEW], block);
                }
                simd::round(kernel, block, width, levels, bytes, stride, scales);
            }
        }
    }

    /// The same of as many rows as go together, where there is a kernel for that; returns how many those are.
    #[cfg(target_arch = "x86_64")]
    fn normalise_most(&mut self, kernel: Kernel, x: &[f32], norm: normalise::Norm<'_>) -> usize {
        let width = norm.gamma.len();
        let wide = matches!(kernel, Kernel::Vnni | Kernel::Tiles);
        if !wide || !width.is_multiple_of(normalise::WIDTH) {
            return 0;
        }
        let (scales, _) = self.scales.as_chunks_mut::<EIGHT>();
        let bytes = bytes_mut(&mut self.lines).chunks_exact_mut(EIGHT * width);
        for ((x, bytes), scales) in x.chunks_exact(EIGHT * width).zip(bytes).zip(&mut *scales) {
            let block = &mut self.block[..x.len()];
            // SAFETY: the CPU has the kernel, as the caller checked; there are as many rows, whose bytes need no filling up.
            unsafe { normalise::rows(x, norm, bytes, scales, block) };
        }
        scales.len() * EIGHT
    }

    /// Rounds rows of `depth`, `x` `[rows, depth]`.
    ///
    /// # Panics
    /// If the CPU lacks the kernel, or `x` holds no whole rows: a fault of the caller.
    pub fn round(&mut self, kernel: Kernel, sign: Sign, x: &[f32], depth: usize) {
        assert!(depth > 0 && x.len().is_multiple_of(depth), "{} of {depth}", x.len());
        self.hold(kernel, sign, x.len() / depth, depth);
        self.put(kernel, 0, x, depth);
    }

    /// The same of some rows from row `first` on, for which there is room.
    ///
    /// # Panics
    /// As [`Rows::round`], or if there are no such rows: a fault of the caller.
    pub(super) fn put(&mut self, kernel: Kernel, first: usize, x: &[f32], depth: usize) {
        assert!(kernel.on_this_cpu(), "no {kernel:?}");
        assert!(self.stride == kernel.depth(depth), "rows of {depth}");
        assert!(first + x.len() / depth <= self.scales.len(), "rows from {first} on");
        let levels = kernel.levels(self.sign);
        let bytes = &mut bytes_mut(&mut self.lines)[first * self.stride..];
        let rows = bytes.chunks_mut(FEW * self.stride);
        let scales = self.scales[first..].chunks_mut(FEW);
        let x = x.chunks(FEW * depth);
        for ((bytes, scales), x) in rows.zip(scales).zip(x) {
            let scales = &mut scales[..x.len() / depth];
            let stride = self.stride;
            // SAFETY: the CPU has the instructions, as was checked; there are as many rows of floats and of
            // bytes as scales.
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            unsafe {
                simd::round(kernel, x, depth, levels, bytes, stride, scales);
            }
        }
    }
}

/// Bytes of a whole cache line: vectors that straddle two load at half the speed.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([i8; 64]);

/// All bytes of the lines.
fn bytes(lines: &[Line]) -> &[u8] {
    // SAFETY: a line is 64 bytes and nothing else.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), 64 * lines.len()) }
}

/// The same, to be written.
fn bytes_mut(lines: &mut [Line]) -> &mut [u8] {
    // SAFETY: a line is 64 bytes and nothing else.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), 64 * lines.len()) }
}

/// A linear map with weights of 8 bits.
pub struct Linear8 {
    kernel: Kernel,
    /// Of the activations.
    sign: Sign,
    /// Panels of 64 columns; in each, for every four rows of the matrix, four bytes for each column.
    lines: Vec<Line>,
    /// What sums begin at, by column: minus what the shift of the activations will add.
    start: Vec<i32>,
    /// By column.
    scales: Vec<f32>,
    bias: Vec<f32>,
    inputs: usize,
    outputs: usize,
}

impl Linear8 {
    /// Rounds `weight`, `[inputs, outputs]`, for activations of `sign`.
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
            lines: vec![Line([0; 64]); depth * columns / 64],
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

    /// The product of some rows with all columns, which nothing is written of yet.
    ///
    /// # Panics
    /// If shapes do not agree or the CPU lacks the kernel: a fault of the caller.
    fn task(&self, x: &Rows, rows: Range<usize>) -> Task {
        assert!(x.stride == self.kernel.depth(self.inputs), "depth {}", x.stride);
        assert!(x.sign == self.sign, "rows of {:?} for {:?}", x.sign, self.sign);
        assert!(rows.end <= x.scales.len(), "row {}", rows.end);
        assert!(self.kernel.on_this_cpu(), "no {:?}", self.kernel);
        Task {
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

    /// Where the weight of input `k` and output `j` lies.
    fn place(&self, k: usize, j: usize) -> usize {
        let depth = self.kernel.depth(self.inputs);
        j / PANEL * depth * PANEL + k / 4 * 4 * PANEL + j % PANEL * 4 + k % 4
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// `out = x * weight + bias`, or what `finish` says, for the first `cols` outputs; rows of `out` are `stride`
    /// apart.
    ///
    /// # Panics
    /// If shapes do not agree or the CPU lacks the kernel: a fault of the caller.
    pub fn apply(&self, x: &Rows, out: &mut [f32], stride: usize, cols: usize, finish: Finish) {
        self.apply_to(x, 0..x.scales.len(), out, stride, cols, finish);
    }

    /// The same of some rows of `x`, the first of which becomes the first of `out`.
    ///
    /// # Panics
    /// As [`Linear8::apply`], or if there are no such rows: a fault of the caller.
    pub(super) fn apply_to(
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
        let task = Task { cols, out: out.as_mut_ptr(), stride, ..self.task(x, rows) };
        // SAFETY: the CPU has the kernel; `Rows` holds `rows x depth` bytes in whole blocks and a scale for each row, this map
        // whole panels of `depth`, and `out` is exclusively borrowed and large enough: all checked above or
        // by the makers.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        unsafe {
            simd::product(self.kernel, &task, finish);
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Linear8 {
    /// Whether [`Linear8::squared`] and [`Linear8::heads`] work: blocks of tiles fill all columns.
    pub(super) fn by_blocks(&self) -> bool {
        self.kernel == Kernel::Tiles && self.outputs.is_multiple_of(BLOCK)
    }

    /// The squared ReLU of `x * weight + bias` in bf16, row after row in `out`.
    ///
    /// # Panics
    /// If [`Linear8::by_blocks`] says no, or depths differ: a fault of the caller.
    pub(super) fn squared(&self, x: &Rows, out: &mut Buffer) {
        assert!(self.by_blocks(), "no whole blocks");
        let rows = x.scales.len();
        let out = out.hold(rows * self.outputs / 2);
        // SAFETY: as in `apply`; there is room, and columns come in whole blocks.
        unsafe { tiles::squared(&self.task(x, 0..rows), out) };
    }

    /// Queries, keys and values of position `p`, whose rows are 64 of `x`, as [`attention::tiles`](super::attention::tiles) wants them.
    ///
    /// # Panics
    /// If [`Linear8::by_blocks`] says no, there is no such position, or the heads make no whole blocks: a fault of the caller.
    pub(super) fn heads(&self, x: &Rows, p: usize, heads: &mut [[Buffer; 3]]) {
        let (rows, dim) = (p * TOKENS..(p + 1) * TOKENS, self.outputs / 3 / heads.len());
        assert!(self.by_blocks() && rows.end <= x.scales.len(), "position {p}");
        assert!(self.outputs == 3 * dim * heads.len(), "{} heads", heads.len());
        assert!(dim == BLOCK || dim.is_multiple_of(PANEL), "heads of {dim}");
        for buffer in heads.as_flattened_mut() {
            buffer.hold(TOKENS * dim / 2);
        }
        // SAFETY: as in `apply`; there is room, and heads come in whole blocks.
        unsafe { tiles::heads(&self.task(x, rows), dim, heads) };
    }
}

/// The scale of a channel's weights, and the weights in units of it.
fn round_column(kernel: Kernel, column: &[f32]) -> (f32, Vec<i8>) {
    let high = column.iter().fold(0.0f32, |high, w| high.max(w.abs()));
    let mut scale = high / 127.0;
    // Below it a scale has no finite inverse and may not grow when multiplied; such weights round to zero.
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

/// How far the sums of 16 bits may go beyond their range, as a share of it: above 1 they may.
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

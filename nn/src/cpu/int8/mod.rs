//! Products of 8-bit integers: weights rounded once for each output channel, activations for each row as they
//! come. Sums are exact; what is lost is lost in rounding.
//!
//! A row becomes unsigned bytes with one scale: squared ReLUs as they are, anything else shifted to the middle
//! of the range, which the sums make good by beginning at what the shift adds. Four sets of instructions
//! multiply such bytes. AVX512_VNNI and AVX-VNNI sum four products in 32 bits and take all 8 bits of both. So does
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
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod rounding;
mod task;
#[cfg(target_arch = "x86_64")]
mod vnni;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::{ops, rows};
#[cfg(target_arch = "aarch64")]
use neon as simd;
use task::{CHAIN, PANEL, Task};
#[cfg(target_arch = "x86_64")]
use x86 as simd;

pub use task::{Finish, Kernel, Sign};

/// Rows of activations in bytes, each with its scale.
#[derive(Default)]
pub struct Rows {
    bytes: Vec<u8>,
    scales: Vec<f32>,
    /// Bytes from row to row.
    stride: usize,
    /// A few normalised rows on their way, and what else normalising them makes.
    block: Vec<f32>,
    unit: Vec<f32>,
}

impl Rows {
    /// Room for `rows` of `depth`, whatever they hold; bytes beyond the depth meet weights of zero.
    fn hold(&mut self, rows: usize, depth: usize) {
        self.stride = depth.next_multiple_of(CHAIN);
        // Content need not be cleared: every byte that counts is written.
        self.bytes.resize(rows * self.stride, 0);
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
        self.hold(x.len() / width, width);
        let levels = kernel.levels(Sign::Either);
        let few = rows::FEW * width;
        self.block.resize(few, 0.0);
        let rows = self.bytes.chunks_mut(rows::FEW * self.stride);
        for ((bytes, scales), x) in rows.zip(self.scales.chunks_mut(rows::FEW)).zip(x.chunks(few)) {
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
                    ops::layer_norm(x, gamma, beta, unit, &mut [0.0; rows::FEW], block);
                }
                simd::round(kernel, block, width, levels, bytes, stride, scales);
            }
        }
    }

    /// Rounds rows of `depth`, `x` `[rows, depth]`.
    ///
    /// # Panics
    /// If the CPU lacks the kernel, or `x` holds no whole rows: a fault of the caller.
    pub fn round(&mut self, kernel: Kernel, sign: Sign, x: &[f32], depth: usize) {
        assert!(depth > 0 && x.len().is_multiple_of(depth), "{} of {depth}", x.len());
        assert!(kernel.on_this_cpu(), "no {kernel:?}");
        self.hold(x.len() / depth, depth);
        let levels = kernel.levels(sign);
        let rows = self.bytes.chunks_mut(rows::FEW * self.stride);
        let x = x.chunks(rows::FEW * depth);
        for ((bytes, scales), x) in rows.zip(self.scales.chunks_mut(rows::FEW)).zip(x) {
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

/// A linear map with weights of 8 bits.
pub struct Linear8 {
    kernel: Kernel,
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
        let (depth, columns) = (inputs.next_multiple_of(CHAIN), outputs.next_multiple_of(PANEL));
        let mut new = Linear8 {
            kernel,
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

    /// Where the weight of input `k` and output `j` lies.
    fn place(&self, k: usize, j: usize) -> usize {
        let depth = self.inputs.next_multiple_of(CHAIN);
        j / PANEL * depth * PANEL + k / 4 * 4 * PANEL + j % PANEL * 4 + k % 4
    }

    /// `out = x * weight + bias`, or what `finish` says, for the first `cols` outputs; rows of `out` are `stride`
    /// apart.
    ///
    /// # Panics
    /// If shapes do not agree or the CPU lacks the kernel: a fault of the caller.
    pub fn apply(&self, x: &Rows, out: &mut [f32], stride: usize, cols: usize, finish: Finish) {
        let rows = x.scales.len();
        if rows == 0 {
            return;
        }
        assert!(x.stride == self.inputs.next_multiple_of(CHAIN), "depth {}", x.stride);
        assert!(0 < cols && cols <= self.outputs && cols <= stride, "{cols} columns");
        assert!((rows - 1) * stride + cols <= out.len(), "{rows} rows in {}", out.len());
        assert!(self.kernel.on_this_cpu(), "no {:?}", self.kernel);
        let task = Task {
            rows,
            cols,
            depth: x.stride,
            a: x.bytes.as_ptr(),
            a_scales: x.scales.as_ptr(),
            b: self.lines.as_ptr().cast(),
            start: self.start.as_ptr(),
            b_scales: self.scales.as_ptr(),
            bias: self.bias.as_ptr(),
            out: out.as_mut_ptr(),
            stride,
        };
        // SAFETY: the CPU has the kernel; `Rows` holds `rows x depth` bytes and a scale for each row, this map
        // whole panels of `depth`, and `out` is exclusively borrowed and large enough: all checked above or
        // by the makers.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        unsafe {
            simd::product(self.kernel, &task, finish);
        }
    }
}

/// The scale of a channel's weights, and the weights in units of it.
fn round_column(kernel: Kernel, column: &[f32]) -> (f32, Vec<i8>) {
    let high = column.iter().fold(0.0f32, |high, w| high.max(w.abs()));
    let mut scale = high / 127.0;
    loop {
        let factor = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        let rounded: Vec<i8> = column
            .iter()
            .map(|w| (w * factor).round_ties_even().clamp(-127.0, 127.0) as i8)
            .collect();
        let excess = match kernel {
            Kernel::Dot | Kernel::Vnni | Kernel::AvxVnni => 0.0,
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

//! Muon: steps for the matrices of the trunk, by orthogonalised momentum.
//!
//! Newton-Schulz dominates the cost of an optimiser step; its products are in bf16 where that is this CPU's
//! fastest arithmetic, as its author runs it.

use nn::by_isa;
use nn::kernels::gemm::{Accumulate, Mat, Method, matmul};
use nn::kernels::ops;
use nn::precision::Arithmetic;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

/// Constants of one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct MuonStep {
    /// Decay of the momentum.
    pub momentum: f32,
    /// Gradient clipping factor.
    pub clip: f32,
    /// Weight factor: one minus the decay.
    pub shrink: f32,
    /// Learning rate.
    pub rate: f32,
    /// Arithmetic of Newton-Schulz.
    pub arithmetic: Arithmetic,
}

/// One parameter's slices of the flat vectors.
pub(super) struct Slices<'a> {
    pub params: &'a mut [f32],
    pub grads: &'a [f32],
    pub momentum: &'a mut [f32],
}

/// A parameter `[rows, parts * cols]` as Muon sees it: independent matrices side by side, each with its
/// scratch.
pub(super) struct Muon {
    rows: usize,
    cols: usize,
    parts: Vec<MatrixScratch>,
}

/// Scratch of one matrix `[rows, cols]`.
#[derive(Default)]
struct MatrixScratch {
    step: Vec<f32>,
    next: Vec<f32>,
    gram: Vec<f32>,
    square: Vec<f32>,
}

by_isa! {
    /// `out = share * out + other * x`.
    pub fn weighted(out: &mut [f32], share: f32, other: f32, x: &[f32]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = *out * share + other * x;
        }
    }
}

by_isa! {
    /// `out = share * x`.
    pub fn scaled(out: &mut [f32], share: f32, x: &[f32]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = share * x;
        }
    }
}

by_isa! {
    /// Nesterov momentum: `momentum = decay * momentum + clip * grads`; the look-ahead goes to `step`.
    pub fn look_ahead(
        step: &mut [f32],
        momentum: &mut [f32],
        grads: &[f32],
        clip: f32,
        decay: f32,
    ) {
        for ((step, momentum), g) in step.iter_mut().zip(momentum).zip(grads) {
            let g = clip * g;
            *momentum = decay * *momentum + g;
            *step = g + decay * *momentum;
        }
    }
}

impl Muon {
    /// For a parameter of these sizes with `parts` matrices side by side.
    pub(super) fn new(rows: usize, stride: usize, parts: usize) -> Muon {
        let scratch = (0..parts).map(|_| MatrixScratch::default()).collect();
        Muon { rows, cols: stride / parts, parts: scratch }
    }

    /// Muon (Jordan 2024): the step is the nearest orthogonal matrix of the momentum, scaled to AdamW's RMS
    /// step size (Liu et al. 2025, "Muon is scalable", section 2.2).
    pub(super) fn step(&mut self, how: MuonStep, slices: Slices<'_>) {
        let (rows, cols) = (self.rows, self.cols);
        let method = Method::widest(how.arithmetic);
        let (isa, stride) = (method.isa, cols * self.parts.len());
        self.parts.iter_mut().for_each(|part| part.step.resize(rows * cols, 0.0));
        let momentum = slices.momentum.chunks_exact_mut(stride);
        let grads = slices.grads.chunks_exact(stride);
        for (row, (momentum, grads)) in momentum.zip(grads).enumerate() {
            let places = momentum.chunks_exact_mut(cols).zip(grads.chunks_exact(cols));
            for (part, (momentum, grads)) in self.parts.iter_mut().zip(places) {
                let step = &mut part.step[row * cols..][..cols];
                look_ahead(isa, step, momentum, grads, how.clip, how.momentum);
            }
        }
        let parts = self.parts.par_iter_mut().with_max_len(1);
        parts.for_each(|part| part.orthogonalise(rows, cols, method));
        let scale = 0.2 * how.rate * (rows.max(cols) as f32).sqrt();
        for (row, params) in slices.params.chunks_exact_mut(stride).enumerate() {
            for (part, params) in self.parts.iter().zip(params.chunks_exact_mut(cols)) {
                let step = &part.step[row * cols..][..cols];
                weighted(isa, params, how.shrink, -scale, step);
            }
        }
    }
}

impl MatrixScratch {
    /// Five Newton-Schulz steps of the quintic iteration with Jordan's coefficients: singular values of `step`,
    /// `[rows, cols]`, end up between about 0.7 and 1.2.
    fn orthogonalise(&mut self, rows: usize, cols: usize, method: Method) {
        const A: f32 = 3.4445;
        const B: f32 = -4.7750;
        const C: f32 = 2.0315;
        let MatrixScratch { step: x, next, gram, square } = self;
        let length = ops::dot(method.isa, x, x).sqrt() + 1e-12;
        x.iter_mut().for_each(|v| *v /= length);
        // Use the smaller Gram matrix: X Xᵀ if wide, Xᵀ X if tall.
        let n = rows.min(cols);
        gram.resize(n * n, 0.0);
        square.resize(n * n, 0.0);
        next.resize(x.len(), 0.0);
        for _ in 0..5 {
            let view = Mat::new(x, rows, cols, cols);
            let (left, right) = if rows <= cols { (view, view.t()) } else { (view.t(), view) };
            matmul(method, gram, n, Accumulate::Replace, 1.0, left, right);
            let g = Mat::new(gram, n, n, n);
            matmul(method, square, n, Accumulate::Replace, C, g, g);
            ops::add_scaled(method.isa, square, B, gram);
            scaled(method.isa, next, A, x);
            let s = Mat::new(square, n, n, n);
            let (left, right) = if rows <= cols { (s, view) } else { (view, s) };
            matmul(method, next, cols, Accumulate::Add, 1.0, left, right);
            std::mem::swap(x, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::rng::Rng;

    /// Random numbers with a few dominant directions, as momenta have.
    fn momentum(rows: usize, cols: usize) -> Vec<f32> {
        let mut rng = Rng::new(7);
        let mut number = || rng.unit() as f32 * 2.0 - 1.0;
        let mut x: Vec<f32> = (0..rows * cols).map(|_| 0.1 * number()).collect();
        for strength in [8.0, 3.0, 1.0] {
            let left: Vec<f32> = (0..rows).map(|_| number()).collect();
            let right: Vec<f32> = (0..cols).map(|_| number()).collect();
            for (row, l) in x.chunks_exact_mut(cols).zip(&left) {
                row.iter_mut().zip(&right).for_each(|(x, r)| *x += strength * l * r);
            }
        }
        x
    }

    fn orthogonal(x: &[f32], rows: usize, cols: usize, arithmetic: Arithmetic) -> Vec<f32> {
        let mut part = MatrixScratch { step: x.to_vec(), ..MatrixScratch::default() };
        part.orthogonalise(rows, cols, Method::widest(arithmetic));
        part.step
    }

    /// The smaller Gram matrix: mean of its diagonal, RMS of the rest.
    fn gram(x: &[f32], rows: usize, cols: usize) -> (f32, f32) {
        let n = rows.min(cols);
        let at = |line: usize, i: usize| {
            if rows <= cols { x[line * cols + i] } else { x[i * cols + line] }
        };
        let (mut diagonal, mut rest) = (0.0, 0.0);
        for i in 0..n {
            for j in 0..n {
                let product: f32 = (0..rows.max(cols)).map(|k| at(i, k) * at(j, k)).sum();
                if i == j { diagonal += product } else { rest += product * product }
            }
        }
        (diagonal / n as f32, (rest / (n * n) as f32).sqrt())
    }

    /// Without bf16 on the CPU, both are the same products.
    #[test]
    fn newton_schulz_makes_rows_orthogonal_in_bf16_as_in_single_precision() {
        for (rows, cols) in [(8, 20), (20, 8), (16, 16), (128, 128), (128, 384), (384, 128)] {
            let x = momentum(rows, cols);
            let single = orthogonal(&x, rows, cols, Arithmetic::Single);
            let half = orthogonal(&x, rows, cols, Arithmetic::Bf16);
            for way in [&single, &half] {
                // Squared singular values: between 0.7² and 1.2².
                let (diagonal, rest) = gram(way, rows, cols);
                assert!((0.49..1.44).contains(&diagonal), "{rows}x{cols}: {diagonal}");
                assert!(rest < 0.12, "{rows}x{cols}: {rest}");
            }
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let lengths = (dot(&single, &single) * dot(&half, &half)).sqrt();
            let cosine = dot(&single, &half) / lengths;
            assert!(cosine > 0.99, "{rows}x{cols}: {cosine}");
        }
    }

    #[test]
    fn matrices_side_by_side_are_stepped_independently() {
        let (rows, cols) = (12, 8);
        let how = MuonStep {
            momentum: 0.9,
            clip: 0.5,
            shrink: 0.99,
            rate: 0.1,
            arithmetic: Arithmetic::Single,
        };
        let run = |parts: usize, grads: &[f32]| {
            let (mut params, mut momentum) = (vec![1.0; grads.len()], vec![0.0; grads.len()]);
            let slices = Slices { params: &mut params, grads, momentum: &mut momentum };
            Muon::new(rows, parts * cols, parts).step(how, slices);
            (params, momentum)
        };
        let parts: Vec<Vec<f32>> = (1..4).map(|i| momentum(rows, i * cols)).collect();
        let part = |i: usize, row: usize| &parts[i][row * cols..][..cols];
        let batched: Vec<f32> =
            (0..rows).flat_map(|row| (0..3).flat_map(move |i| part(i, row).to_vec())).collect();
        let (params, kept) = run(3, &batched);
        for (i, numbers) in parts.iter().enumerate() {
            let (alone, alone_kept) = run(1, &numbers[..rows * cols]);
            for row in 0..rows {
                let at = (row * 3 + i) * cols;
                assert_eq!(params[at..][..cols], alone[row * cols..][..cols]);
                assert_eq!(kept[at..][..cols], alone_kept[row * cols..][..cols]);
            }
        }
    }
}

//! The optimiser: Muon for the matrices of the trunk, AdamW for everything else, on the flat
//! parameter vector.

use crate::cpu::matmul::{Into, Mat, matmul};
use crate::net::layout::Layout;
use crate::precision::Arithmetic;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Constants of the optimiser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptimizerConfig {
    /// AdamW's decay of the gradient's mean and square.
    pub beta1: f32,
    /// AdamW's decay of the gradient's square.
    pub beta2: f32,
    /// Decoupled decay of matrices, per unit of learning rate.
    pub weight_decay: f32,
    /// Muon's momentum; 0 uses AdamW for the trunk's matrices too.
    pub muon_momentum: f32,
    /// Gradients longer than this are shortened to it.
    pub clip: f32,
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        OptimizerConfig {
            beta1: 0.9,
            beta2: 0.98,
            weight_decay: 0.02,
            muon_momentum: 0.95,
            clip: 1.0,
        }
    }
}

/// One matrix inside the flat vector, as Muon sees it.
struct Matrix {
    start: usize,
    rows: usize,
    cols: usize,
    stride: usize,
}

/// A parameter that AdamW steps.
struct Plain {
    range: Range<usize>,
    /// Whether it is drawn towards zero.
    decays: bool,
    /// Its learning rate over that of the others.
    haste: f32,
}

/// AdamW's step does not grow with the gradient. What begins at zero and must come to weigh as much as scores of
/// attention do would be on its way for most of a run: after 1,600 steps of 1.1e-3 an attack weighed 0.1.
const HASTE: f32 = 10.0;

/// Optimiser state; `first` and `second` are part of a training checkpoint.
pub struct Optimizer {
    config: OptimizerConfig,
    matrices: Vec<Matrix>,
    plain: Vec<Plain>,
    /// Means of the gradient, or Muon's momentum, `[layout.len]`.
    pub first: Vec<f32>,
    /// Means of the gradient's square, `[layout.len]`.
    pub second: Vec<f32>,
}

impl Optimizer {
    /// The optimiser before its first step.
    #[must_use]
    pub fn new(layout: &Layout, config: OptimizerConfig) -> Optimizer {
        let mut optimizer = Optimizer {
            config,
            matrices: Vec::new(),
            plain: Vec::new(),
            first: vec![0.0; layout.len],
            second: vec![0.0; layout.len],
        };
        for param in &layout.params {
            let matrix = param.name.ends_with(".weight");
            if matrix && param.name.starts_with("block") && optimizer.config.muon_momentum > 0.0 {
                let (rows, stride) = (param.shape[0], param.shape[1]);
                // Queries, keys and values are three maps that share one multiplication.
                let parts = if param.name.ends_with("qkv.weight") { 3 } else { 1 };
                let cols = stride / parts;
                optimizer.matrices.extend((0..parts).map(|i| Matrix {
                    start: param.range.start + i * cols,
                    rows,
                    cols,
                    stride,
                }));
            } else {
                let late = param.name.ends_with(".relations") || param.name == "action.policy";
                let haste = if late { HASTE } else { 1.0 };
                optimizer.plain.push(Plain { range: param.range.clone(), decays: matrix, haste });
            }
        }
        optimizer
    }

    /// One step; `step` counts from 1. Returns the gradient's length before clipping.
    pub fn step(&mut self, params: &mut [f32], grads: &mut [f32], rate: f32, step: u64) -> f32 {
        let length = grads.iter().map(|g| f64::from(*g) * f64::from(*g)).sum::<f64>().sqrt() as f32;
        if length > self.config.clip {
            let scale = self.config.clip / length;
            grads.iter_mut().for_each(|g| *g *= scale);
        }
        self.adam(params, grads, rate, step);
        for matrix in &self.matrices {
            muon(&self.config, matrix, params, grads, &mut self.first, rate);
        }
        length
    }

    /// AdamW (Loshchilov and Hutter 2019).
    fn adam(&mut self, params: &mut [f32], grads: &[f32], rate: f32, step: u64) {
        let c = &self.config;
        let steps = i32::try_from(step).unwrap_or(i32::MAX);
        let correct1 = 1.0 - c.beta1.powi(steps);
        let correct2 = 1.0 - c.beta2.powi(steps);
        for Plain { range, decays, haste } in &self.plain {
            let rate = rate * haste;
            let shrink = if *decays { 1.0 - rate * c.weight_decay } else { 1.0 };
            let rest = params[range.clone()].iter_mut().zip(&grads[range.clone()]);
            let state = self.first[range.clone()].iter_mut().zip(&mut self.second[range.clone()]);
            for ((p, g), (m, v)) in rest.zip(state) {
                *m += (1.0 - c.beta1) * (g - *m);
                *v += (1.0 - c.beta2) * (g * g - *v);
                *p = *p * shrink - rate * (*m / correct1) / ((*v / correct2).sqrt() + 1e-8);
            }
        }
    }
}

/// Muon (Jordan 2024): the momentum's nearest orthogonal matrix is the step, scaled so that an entry
/// moves as far as AdamW would move it (Liu et al. 2025, "Muon is scalable", section 2.2).
fn muon(
    c: &OptimizerConfig,
    m: &Matrix,
    params: &mut [f32],
    grads: &[f32],
    momentum: &mut [f32],
    rate: f32,
) {
    let mut step = Vec::with_capacity(m.rows * m.cols);
    for row in 0..m.rows {
        let range = m.start + row * m.stride..m.start + row * m.stride + m.cols;
        for (momentum, g) in momentum[range.clone()].iter_mut().zip(&grads[range]) {
            *momentum = c.muon_momentum * *momentum + g;
            // Nesterov: look one step ahead.
            step.push(g + c.muon_momentum * *momentum);
        }
    }
    orthogonalise(&mut step, m.rows, m.cols);
    let scale = 0.2 * rate * (m.rows.max(m.cols) as f32).sqrt();
    for (row, step) in step.chunks_exact(m.cols).enumerate() {
        let start = m.start + row * m.stride;
        for (p, s) in params[start..start + m.cols].iter_mut().zip(step) {
            *p = *p * (1.0 - rate * c.weight_decay) - scale * s;
        }
    }
}

/// Five Newton-Schulz steps of the quintic iteration with Jordan's coefficients: singular values
/// end up between about 0.7 and 1.2.
fn orthogonalise(x: &mut [f32], rows: usize, cols: usize) {
    const A: f32 = 3.4445;
    const B: f32 = -4.7750;
    const C: f32 = 2.0315;
    let length = x.iter().map(|v| v * v).sum::<f32>().sqrt() + 1e-12;
    x.iter_mut().for_each(|v| *v /= length);
    // Work on the smaller Gram matrix: X Xᵀ if wide, Xᵀ X if tall.
    let n = rows.min(cols);
    let (mut gram, mut square) = (vec![0.0; n * n], vec![0.0; n * n]);
    let mut next = vec![0.0; x.len()];
    for _ in 0..5 {
        let view = Mat::new(x, rows, cols, cols);
        let (left, right) = if rows <= cols { (view, view.t()) } else { (view.t(), view) };
        matmul(Arithmetic::Single, &mut gram, n, Into::Replace, 1.0, left, right);
        let g = Mat::new(&gram, n, n, n);
        matmul(Arithmetic::Single, &mut square, n, Into::Replace, C, g, g);
        for (s, g) in square.iter_mut().zip(&gram) {
            *s += B * g;
        }
        next.iter_mut().zip(x.iter()).for_each(|(next, x)| *next = A * x);
        let s = Mat::new(&square, n, n, n);
        if rows <= cols {
            matmul(Arithmetic::Single, &mut next, cols, Into::Add, 1.0, s, view);
        } else {
            matmul(Arithmetic::Single, &mut next, cols, Into::Add, 1.0, view, s);
        }
        x.copy_from_slice(&next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetConfig;

    #[test]
    fn newton_schulz_brings_singular_values_near_one() {
        for (rows, cols) in [(8, 20), (20, 8), (16, 16)] {
            let mut x: Vec<f32> =
                (0..rows * cols).map(|i| ((i * 7919 % 97) as f32 - 48.0) / 48.0).collect();
            orthogonalise(&mut x, rows, cols);
            // The squared length is the sum of the squared singular values.
            let sum: f32 = x.iter().map(|v| v * v).sum();
            let n = rows.min(cols) as f32;
            assert!(sum > 0.4 * n && sum < 1.5 * n, "{rows}x{cols}: {sum}");
        }
    }

    #[test]
    fn every_parameter_is_stepped_once() {
        let layout = Layout::new(&NetConfig::default());
        let mut params = vec![0.0; layout.len];
        let mut grads: Vec<f32> =
            (0..layout.len).map(|i| 1e-3 * ((i * 31 % 17) as f32 - 7.5)).collect();
        Optimizer::new(&layout, OptimizerConfig::default()).step(&mut params, &mut grads, 1e-3, 1);
        let still = params.iter().filter(|p| **p == 0.0).count();
        assert_eq!(still, 0);
    }
}

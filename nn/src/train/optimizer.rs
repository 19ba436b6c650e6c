//! The optimiser: Muon for the matrices of the trunk, AdamW for everything else, on the flat
//! parameter vector. Parameters are stepped side by side on all threads of the rayon pool.

use super::muon::{Muon, MuonStep, Slices};
use crate::cpu::isa::by_isa;
use crate::cpu::ops;
use crate::net::layout::Layout;
use crate::net::params::Param;
use crate::precision::Arithmetic;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;
use serde::{Deserialize, Serialize};

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

/// How a parameter is stepped.
enum Rule {
    Adam {
        /// Whether it is drawn towards zero.
        decays: bool,
        /// Its learning rate over that of the others.
        haste: f32,
    },
    Muon(Muon),
}

/// AdamW's step does not grow with the gradient. What begins at zero and must come to weigh as much as scores of
/// attention do would be on its way for most of a run: after 1,600 steps of 1.1e-3 an attack weighed 0.1.
const HASTE: f32 = 10.0;

/// Optimiser state; `first` and `second` are part of a training checkpoint.
pub struct Optimizer {
    config: OptimizerConfig,
    /// The parameters in the order of the flat vector, and their lengths.
    rules: Vec<(usize, Rule)>,
    arithmetic: Arithmetic,
    /// Means of the gradient, or Muon's momentum, `[layout.len]`.
    pub first: Vec<f32>,
    /// Means of the gradient's square, `[layout.len]`.
    pub second: Vec<f32>,
}

/// What AdamW makes of a step's number and rate.
#[derive(Clone, Copy)]
pub struct AdamStep {
    beta1: f32,
    beta2: f32,
    /// One minus each beta to the power of the step.
    correct1: f32,
    correct2: f32,
    clip: f32,
    shrink: f32,
    rate: f32,
}

/// Floats that one thread squares at a time.
const CHUNK: usize = 1 << 14;

impl Optimizer {
    /// The optimiser before its first step.
    #[must_use]
    pub fn new(layout: &Layout, config: OptimizerConfig) -> Optimizer {
        Optimizer::of(&layout.params, config)
    }

    /// The same for any parameters that tile a flat vector. Weights whose name begins with `block` are a trunk's.
    #[must_use]
    pub fn of(params: &[Param], config: OptimizerConfig) -> Optimizer {
        let len = params.last().map_or(0, |param| param.range.end);
        let rules = params.iter().map(|param| {
            let matrix = param.name.ends_with(".weight");
            let muon = matrix && param.name.starts_with("block") && config.muon_momentum > 0.0;
            let rule = match param.shape[..] {
                [rows, stride] if muon => {
                    // Queries, keys and values are three maps that share one multiplication.
                    let parts = if param.name.ends_with("qkv.weight") { 3 } else { 1 };
                    Rule::Muon(Muon::new(rows, stride, parts))
                }
                _ => {
                    let late = param.name.ends_with(".relations") || param.name == "action.policy";
                    let haste = if late { HASTE } else { 1.0 };
                    Rule::Adam { decays: matrix, haste }
                }
            };
            (param.range.len(), rule)
        });
        Optimizer {
            rules: rules.collect(),
            config,
            arithmetic: Arithmetic::best(),
            first: vec![0.0; len],
            second: vec![0.0; len],
        }
    }

    /// One step; `step` counts from 1. Returns the gradient's length before clipping.
    pub fn step(&mut self, params: &mut [f32], grads: &[f32], rate: f32, step: u64) -> f32 {
        let c = &self.config;
        let squares = |chunk: &[f32]| f64::from(ops::dot(chunk, chunk));
        // Collected first: a sum in the order of the threads would not repeat exactly.
        let parts: Vec<f64> = grads.par_chunks(CHUNK).map(squares).collect();
        let length = parts.iter().sum::<f64>().sqrt() as f32;
        let clip = if length > c.clip { c.clip / length } else { 1.0 };
        let (decay, steps) = (c.weight_decay, i32::try_from(step).unwrap_or(i32::MAX));
        let how = AdamStep {
            beta1: c.beta1,
            beta2: c.beta2,
            correct1: 1.0 - c.beta1.powi(steps),
            correct2: 1.0 - c.beta2.powi(steps),
            clip,
            shrink: 1.0,
            rate,
        };
        let (momentum, arithmetic) = (c.muon_momentum, self.arithmetic);
        let shrink = 1.0 - rate * decay;
        let muon = MuonStep { momentum, clip, shrink, rate, arithmetic };
        let mut rest = (params, grads, &mut self.first[..], &mut self.second[..]);
        let mut tasks = Vec::with_capacity(self.rules.len());
        for (len, rule) in &mut self.rules {
            let (params, rest0) = rest.0.split_at_mut(*len);
            let (grads, rest1) = rest.1.split_at(*len);
            let (momentum, rest2) = rest.2.split_at_mut(*len);
            let (second, rest3) = rest.3.split_at_mut(*len);
            tasks.push((rule, Slices { params, grads, momentum }, second));
            rest = (rest0, rest1, rest2, rest3);
        }
        tasks.into_par_iter().with_max_len(1).for_each(|(rule, slices, second)| match rule {
            Rule::Adam { decays, haste } => {
                let rate = rate * *haste;
                let shrink = if *decays { 1.0 - rate * decay } else { 1.0 };
                // The mean of the gradient lies where Muon has its momentum.
                let Slices { params, grads, momentum } = slices;
                adam(AdamStep { rate, shrink, ..how }, params, grads, momentum, second);
            }
            Rule::Muon(matrices) => matrices.step(muon, slices),
        });
        length
    }
}

by_isa! {
    /// AdamW (Loshchilov and Hutter 2019), with the mean of the gradient and that of its square.
    pub fn adam(
        how: AdamStep,
        params: &mut [f32],
        grads: &[f32],
        first: &mut [f32],
        second: &mut [f32],
    ) {
        for ((p, g), (m, v)) in params.iter_mut().zip(grads).zip(first.iter_mut().zip(second)) {
            let g = how.clip * g;
            *m += (1.0 - how.beta1) * (g - *m);
            *v += (1.0 - how.beta2) * (g * g - *v);
            let step = (*m / how.correct1) / ((*v / how.correct2).sqrt() + 1e-8);
            *p = *p * how.shrink - how.rate * step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetConfig;

    fn steps(config: OptimizerConfig, size: f32) -> (Layout, Vec<f32>, f32) {
        let layout = Layout::new(&NetConfig::default());
        let mut params = vec![0.0; layout.len];
        let grads: Vec<f32> =
            (0..layout.len).map(|i| size * ((i * 31 % 17) as f32 - 7.5)).collect();
        let length = Optimizer::new(&layout, config).step(&mut params, &grads, 1e-3, 1);
        (layout, params, length)
    }

    #[test]
    fn every_parameter_is_stepped_once() {
        let (_, params, _) = steps(OptimizerConfig::default(), 1e-3);
        let still = params.iter().filter(|p| **p == 0.0).count();
        assert_eq!(still, 0);
    }

    /// Adam's first step goes as far as the rate against the gradient's sign, whatever its length.
    #[test]
    fn the_first_step_of_adam_is_the_rate_and_a_long_gradient_is_clipped() {
        let config = OptimizerConfig { muon_momentum: 0.0, ..OptimizerConfig::default() };
        for size in [1e-4, 1.0] {
            let (layout, params, length) = steps(config.clone(), size);
            let sum: f64 = (0..layout.len).map(|i| ((i * 31 % 17) as f64 - 7.5).powi(2)).sum();
            let want = f64::from(size) * sum.sqrt();
            assert!((f64::from(length) / want - 1.0).abs() < 1e-4, "{length} for {want}");
            for param in &layout.params {
                let late = param.name.ends_with(".relations") || param.name == "action.policy";
                let rate = if late { 1e-2 } else { 1e-3 };
                for i in param.range.clone() {
                    let want = -rate * ((i * 31 % 17) as f32 - 7.5).signum();
                    assert!(
                        (params[i] - want).abs() < 2e-2 * rate,
                        "{}: {}",
                        param.name,
                        params[i]
                    );
                }
            }
        }
    }
}

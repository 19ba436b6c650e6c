//! The optimiser: Muon for the matrices of the trunk, AdamW for everything else, on the flat parameter vector.
//! Parameters are stepped in parallel on the rayon pool.

use super::muon::{Muon, MuonStep, Slices};
use nn::by_isa;
use nn::kernels::{Isa, ops};
use nn::net::layout::Layout;
use nn::net::params::Param;
use nn::precision::Arithmetic;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;
use serde::{Deserialize, Serialize};

/// Constants of the optimiser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptimizerConfig {
    /// AdamW's decay of the gradient's mean.
    pub beta1: f32,
    /// AdamW's decay of the gradient's square.
    pub beta2: f32,
    /// Decoupled decay of matrices, per unit of learning rate.
    pub weight_decay: f32,
    /// Muon's momentum; 0 uses AdamW for the trunk's matrices too.
    pub muon_momentum: f32,
    /// Gradient clipping: longer gradients are scaled down to this length.
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

/// Update rule of a parameter.
enum Rule {
    Adam {
        /// Whether weight decay applies.
        decays: bool,
        /// Learning rate relative to the others.
        rate_factor: f32,
    },
    Muon(Muon),
}

/// AdamW's step does not grow with the gradient. A zero-initialised parameter that must reach the size of
/// attention scores would take most of a run: after 1,600 steps of 1.1e-3 the weight of an attack was 0.1.
const LATE_RATE_FACTOR: f32 = 10.0;

/// Optimiser state; `first` and `second` are part of a training checkpoint.
pub struct Optimizer {
    config: OptimizerConfig,
    /// Length and rule of each parameter, in the order of the flat vector.
    rules: Vec<(usize, Rule)>,
    arithmetic: Arithmetic,
    /// First moments, or Muon's momentum, `[layout.len]`.
    pub first: Vec<f32>,
    /// Second moments, `[layout.len]`.
    pub second: Vec<f32>,
}

/// AdamW's constants for a step number and rate.
#[derive(Clone, Copy)]
pub struct AdamStep {
    beta1: f32,
    beta2: f32,
    /// Bias correction: one minus each beta to the power of the step.
    correct1: f32,
    correct2: f32,
    clip: f32,
    shrink: f32,
    rate: f32,
}

/// Floats per task when the gradient's length is computed.
const CHUNK: usize = 1 << 14;

impl Optimizer {
    /// The optimiser before its first step.
    #[must_use]
    pub fn new(layout: &Layout, config: OptimizerConfig) -> Optimizer {
        Optimizer::of(&layout.params, config)
    }

    /// For any parameters that tile a flat vector. Weights whose name begins with `block` belong to a trunk.
    #[must_use]
    pub fn of(params: &[Param], config: OptimizerConfig) -> Optimizer {
        let len = params.last().map_or(0, |param| param.range.end);
        let rules = params.iter().map(|param| {
            let matrix = param.name.ends_with(".weight");
            let muon = matrix && param.name.starts_with("block") && config.muon_momentum > 0.0;
            let rule = match param.shape[..] {
                [rows, stride] if muon => {
                    // Queries, keys and values are three maps in one product.
                    let parts = if param.name.ends_with("qkv.weight") { 3 } else { 1 };
                    Rule::Muon(Muon::new(rows, stride, parts))
                }
                _ => {
                    let late = param.name.ends_with(".relations") || param.name == "action.policy";
                    let rate_factor = if late { LATE_RATE_FACTOR } else { 1.0 };
                    Rule::Adam { decays: matrix, rate_factor }
                }
            };
            (param.range.len(), rule)
        });
        Optimizer {
            rules: rules.collect(),
            config,
            arithmetic: Arithmetic::best(Isa::found()),
            first: vec![0.0; len],
            second: vec![0.0; len],
        }
    }

    /// One step; `step` counts from 1. Returns the gradient's length before clipping.
    pub fn step(&mut self, params: &mut [f32], grads: &[f32], rate: f32, step: u64) -> f32 {
        let c = &self.config;
        let squares = |chunk: &[f32]| f64::from(ops::dot(Isa::found(), chunk, chunk));
        // Collected first: a sum in thread order would not be repeatable.
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
            Rule::Adam { decays, rate_factor } => {
                let rate = rate * *rate_factor;
                let shrink = if *decays { 1.0 - rate * decay } else { 1.0 };
                // AdamW's first moment shares the storage of Muon's momentum.
                let Slices { params, grads, momentum } = slices;
                adam(
                    Isa::found(),
                    AdamStep { rate, shrink, ..how },
                    params,
                    grads,
                    momentum,
                    second,
                );
            }
            Rule::Muon(matrices) => matrices.step(muon, slices),
        });
        length
    }
}

by_isa! {
    /// AdamW (Loshchilov and Hutter 2019), from first and second moments.
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
    use nn::net::NetConfig;

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

    /// Adam's first step has the length of the rate against the gradient's sign, whatever its length.
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

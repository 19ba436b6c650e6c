//! Cross-entropies and their gradients, the parts of all losses.

use nn::kernels::{Isa, ops};
use nn::net::BUCKETS;
use nn::numeric::argmax;

/// Cross-entropy of softmax(`logits`) against `target` (sums to 1); `grad` gets `weight` times its gradient.
pub(super) fn cross_entropy(logits: &[f32], target: &[f32], weight: f32, grad: &mut [f32]) -> f64 {
    let top = logits.iter().copied().fold(f32::MIN, f32::max);
    let mut total = 0.0;
    for (g, x) in grad.iter_mut().zip(logits) {
        *g = (x - top).exp();
        total += *g;
    }
    let mut expected = 0.0;
    for ((g, x), t) in grad.iter_mut().zip(logits).zip(target) {
        *g = weight * (*g / total - t);
        expected += t * x;
    }
    f64::from(top + total.ln() - expected)
}

/// [`cross_entropy`] for the 64 buckets, on the fast softmax.
pub(super) fn bucket_entropy(
    logits: &[f32],
    target: &[f32; BUCKETS],
    weight: f32,
    grad: &mut [f32],
) -> f64 {
    grad.copy_from_slice(logits);
    ops::softmax64(Isa::found(), grad);
    // log-sum-exp from any one entry; the target's largest is never tiny for long.
    let best = argmax(logits).unwrap_or(0);
    let log_sum = logits[best] - grad[best].max(f32::MIN_POSITIVE).ln();
    let loss = log_sum - ops::dot(Isa::found(), target, logits);
    for (g, t) in grad.iter_mut().zip(target) {
        *g = weight * (*g - t);
    }
    f64::from(loss)
}

/// Binary cross-entropy of one logit; returns (loss, gradient).
pub(super) fn binary(logit: f32, truth: bool) -> (f64, f32) {
    let p = 1.0 / (1.0 + (-logit).exp());
    let softplus = logit.max(0.0) + (-logit.abs()).exp().ln_1p();
    if truth { (f64::from(softplus - logit), p - 1.0) } else { (f64::from(softplus), p) }
}

/// One-hot distribution of `class`.
pub(super) fn one_hot<const N: usize>(class: usize) -> [f32; N] {
    let mut target = [0.0; N];
    target[class] = 1.0;
    target
}

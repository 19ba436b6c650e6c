//! Row-wise kernels: layer normalisation, softmax, squared ReLU, and their gradients.
//!
//! | file | operation | instructions |
//! |---|---|---|
//! | `layer_norm` | layer normalisation of floats, and its gradient | AVX-512; a few rows: AVX2, AVX-512, NEON |
//! | `moments` | mean and standard deviation of eight rows at a time | AVX-512 |
//! | `softmax` | softmax of rows of 64 scores | AVX-512 |
//! | `squared_relu` | gradient of the squared ReLU | AVX-512 |
//! | `bf16` | the steps between the products of a training step, rounded to bf16 | AVX-512 with bf16 |
//!
//! Without these instructions the loops of [`ops`](super::ops) run, which are the references in the tests.

#[cfg(target_arch = "x86_64")]
pub mod bf16;
mod layer_norm;
#[cfg(target_arch = "x86_64")]
pub(crate) mod moments;
mod softmax;
pub(crate) mod squared_relu;

pub(crate) use layer_norm::MAX_ROWS;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use layer_norm::normalise;
pub use layer_norm::{layer_norm, layer_norm_backward};
pub use softmax::attention_softmax;
pub use squared_relu::square_positive_backward;

#[cfg(test)]
mod test_rows {
    pub fn numbers(count: usize, spread: f32) -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 % 1013) as f32 / 506.5 - 1.0) * spread).collect()
    }

    pub fn near(a: &[f32], b: &[f32]) {
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).abs() <= 2e-6 + 2e-6 * b.abs(), "{i}: {a} against {b}");
        }
    }
}

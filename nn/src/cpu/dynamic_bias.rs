//! The attention bias that a block makes of the whole board, and its gradient.

use super::activations::{LayerActivations, Scratch, size};
use super::layers::{
    Gradient, InputGradient, linear, linear_backward, project_backward, relu, relu_backward,
    take_gradient,
};
use super::matmul::{Into, Mat, multiply_transposed};
use super::weights::Weights;
use crate::net::TOKENS;
use crate::net::layout::{DynamicBias, Layout};

const SQUARE: usize = TOKENS * TOKENS;

/// How much of each pattern there is in a head's bias, `layer.bias_mix`, from the compressed tokens, `layer.bias_tokens`.
pub(super) fn shares(
    w: &Weights,
    places: &DynamicBias,
    positions: usize,
    layer: &mut LayerActivations,
) {
    linear(w, &places.hidden, &layer.bias_tokens, positions, &mut layer.bias_hidden);
    relu(&mut layer.bias_hidden);
    linear(w, &places.mix, &layer.bias_hidden, positions, &mut layer.bias_mix);
}

/// Writes the bias, `[positions, heads, 64, 64]`, where the attention scores are to be added, from the shares of its patterns.
pub(super) fn mix(layout: &Layout, w: &Weights, positions: usize, layer: &mut LayerActivations) {
    let rows = positions * layout.config.heads;
    size(&mut layer.attention, rows * SQUARE);
    let rank = layer.bias_mix.len() / rows;
    #[cfg(target_arch = "x86_64")]
    if let Some(basis) = w.basis() {
        return basis.mix(&layer.bias_mix, &mut layer.four, &mut layer.attention);
    }
    let mix = Mat::new(&layer.bias_mix, rows, rank, rank);
    w.product(&mut layer.attention, SQUARE, Into::Replace, mix, &layout.bias_basis);
}

/// From `s.dscores`, `[positions * heads, 64 * 64]`, down to the parameters and, added, to `s.dnormed`.
pub(super) fn backward(
    layout: &Layout,
    g: &mut Gradient<'_>,
    places: &DynamicBias,
    layer: &LayerActivations,
    s: &mut Scratch,
) {
    let rows = s.dscores.rows();
    let rank = layer.bias_mix.len() / rows;
    s.bias_mix.shape(g.w.arithmetic(), rows, rank);
    s.bias_mix.put(0, &layer.bias_mix);
    multiply_transposed(&mut g.grads[layout.bias_basis.clone()], &s.bias_mix, &s.dscores);
    size(&mut s.dbias_mix, rows * rank);
    let (out, into) = (&mut s.dbias_mix, Into::Replace);
    g.w.product_of_rows(out, rank, into, &s.dscores, 0..rows, &layout.bias_basis);

    size(&mut s.dbias_hidden, layer.bias_hidden.len());
    let to = InputGradient { dx: &mut s.dbias_hidden, into: Into::Replace };
    linear_backward(g, &places.mix, &layer.bias_hidden, &s.dbias_mix, to);
    relu_backward(&mut s.dbias_hidden, &layer.bias_hidden);
    size(&mut s.dbias_tokens, layer.bias_tokens.len());
    let to = InputGradient { dx: &mut s.dbias_tokens, into: Into::Replace };
    linear_backward(g, &places.hidden, &layer.bias_tokens, &s.dbias_hidden, to);
    take_gradient(g, &places.compress, &s.dbias_tokens, &mut s.dout);
    let to = InputGradient { dx: &mut s.dnormed, into: Into::Add };
    project_backward(g, &places.compress, &layer.normed1, &s.dout, to);
}

//! The attention bias that a block makes of the whole board, and its gradient.

use super::activations::{LayerActivations, Scratch, size};
use super::layers::{
    linear, linear_backward, project, project_backward, relu, relu_backward, take_gradient,
};
use super::matmul::{Into, Mat, matmul};
use super::weights::Weights;
use crate::net::TOKENS;
use crate::net::layout::{DynamicBias, Layout};

const SQUARE: usize = TOKENS * TOKENS;

/// Writes the bias, `[positions, heads, 64, 64]`, where the attention scores are to be added.
pub(super) fn forward(
    layout: &Layout,
    w: &Weights,
    places: &DynamicBias,
    positions: usize,
    layer: &mut LayerActivations,
) {
    project(w, &places.compress, &layer.normed1, &mut layer.bias_tokens);
    mix(layout, w, places, positions, layer);
}

/// The same from the compressed tokens, `layer.bias_tokens`, on.
pub(super) fn mix(
    layout: &Layout,
    w: &Weights,
    places: &DynamicBias,
    positions: usize,
    layer: &mut LayerActivations,
) {
    linear(w, &places.hidden, &layer.bias_tokens, positions, &mut layer.bias_hidden);
    relu(&mut layer.bias_hidden);
    linear(w, &places.mix, &layer.bias_hidden, positions, &mut layer.bias_mix);
    let rows = positions * layout.config.heads;
    size(&mut layer.attention, rows * SQUARE);
    let rank = layer.bias_mix.len() / rows;
    let mix = Mat::new(&layer.bias_mix, rows, rank, rank);
    w.product(&mut layer.attention, SQUARE, Into::Replace, mix, &layout.bias_basis);
}

/// From `s.dscores`, `[positions, heads, 64, 64]`, down to the parameters and, added, to `s.dnormed`.
pub(super) fn backward(
    layout: &Layout,
    (w, grads): (&Weights, &mut [f32]),
    places: &DynamicBias,
    layer: &LayerActivations,
    s: &mut Scratch,
) {
    let rows = s.dscores.len() / SQUARE;
    let rank = layer.bias_mix.len() / rows;
    let dscores = Mat::new(&s.dscores, rows, SQUARE, SQUARE);
    let mix = Mat::new(&layer.bias_mix, rows, rank, rank);
    let dbasis = &mut grads[layout.bias_basis.clone()];
    matmul(w.arithmetic(), dbasis, SQUARE, Into::Add, 1.0, mix.t(), dscores);
    size(&mut s.dbias_mix, rows * rank);
    w.product(&mut s.dbias_mix, rank, Into::Replace, dscores, &layout.bias_basis);

    size(&mut s.dbias_hidden, layer.bias_hidden.len());
    let dhidden = Some((&mut s.dbias_hidden[..], Into::Replace));
    linear_backward((w, grads), &places.mix, &layer.bias_hidden, &s.dbias_mix, dhidden);
    relu_backward(&mut s.dbias_hidden, &layer.bias_hidden);
    size(&mut s.dbias_tokens, layer.bias_tokens.len());
    let dtokens = Some((&mut s.dbias_tokens[..], Into::Replace));
    linear_backward((w, grads), &places.hidden, &layer.bias_tokens, &s.dbias_hidden, dtokens);
    take_gradient((w, grads), &places.compress, &s.dbias_tokens, &mut s.dout);
    let operands = (&layer.normed1, &s.dout);
    project_backward((w, grads), &places.compress, operands, (&mut s.dnormed, Into::Add));
}

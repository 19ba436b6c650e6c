//! Position-dependent attention bias, computed from the whole board, and its gradient.

use super::activations::{LayerActivations, Scratch, size};
use super::layers::{
    Gradient, InputGradient, linear, linear_backward, project_backward, relu, relu_backward,
    take_gradient,
};
use super::pieces::Pieces;
use super::weights::Weights;
use crate::kernels::gemm::{Accumulate, Mat, multiply_transposed};
use crate::net::TOKENS;
use crate::net::layout::{DynamicBias, Layout};

const SQUARE: usize = TOKENS * TOKENS;

/// Computes `layer.bias_mix`, the share of each pattern in each head's bias, from `layer.bias_tokens`, the
/// compressed tokens of all squares, or of `pieces`.
pub(super) fn shares(
    w: &Weights,
    places: &DynamicBias,
    pieces: Option<&Pieces>,
    layer: &mut LayerActivations,
) {
    let channels = places.compress.bias.len();
    if let Some(pieces) = pieces {
        pieces.boards(&mut layer.bias_tokens, channels);
    }
    let positions = layer.bias_tokens.len() / (TOKENS * channels);
    linear(w, &places.hidden, &layer.bias_tokens, positions, &mut layer.bias_hidden);
    relu(&mut layer.bias_hidden);
    linear(w, &places.mix, &layer.bias_hidden, positions, &mut layer.bias_mix);
}

/// Mixes the patterns by their shares into `layer.attention`, `[positions, heads, 64, 64]`, where the scores
/// are added later.
pub(super) fn mix(layout: &Layout, w: &Weights, positions: usize, layer: &mut LayerActivations) {
    let rows = positions * layout.config.heads;
    size(&mut layer.attention, rows * SQUARE);
    let rank = layer.bias_mix.len() / rows;
    #[cfg(target_arch = "x86_64")]
    if let Some(basis) = w.basis() {
        return basis.mix(&layer.bias_mix, &mut layer.four, &mut layer.attention);
    }
    let mix = Mat::new(&layer.bias_mix, rows, rank, rank);
    w.product(&mut layer.attention, SQUARE, Accumulate::Replace, mix, &layout.bias_basis);
}

/// From `s.dscores`, `[positions * heads, 64 * 64]`, down to the parameters and to `s.dnormed`, to which it is
/// added.
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
    multiply_transposed(
        g.w.isa(),
        &mut g.grads[layout.bias_basis.clone()],
        &s.bias_mix,
        &s.dscores,
    );
    size(&mut s.dbias_mix, rows * rank);
    let (out, into) = (&mut s.dbias_mix, Accumulate::Replace);
    g.w.product_of_rows(out, rank, into, &s.dscores, 0..rows, &layout.bias_basis);

    size(&mut s.dbias_hidden, layer.bias_hidden.len());
    let to = InputGradient { dx: &mut s.dbias_hidden, into: Accumulate::Replace };
    linear_backward(g, &places.mix, &layer.bias_hidden, &s.dbias_mix, to);
    relu_backward(&mut s.dbias_hidden, &layer.bias_hidden);
    size(&mut s.dbias_tokens, layer.bias_tokens.len());
    let to = InputGradient { dx: &mut s.dbias_tokens, into: Accumulate::Replace };
    linear_backward(g, &places.hidden, &layer.bias_tokens, &s.dbias_hidden, to);
    take_gradient(g, &places.compress, &s.dbias_tokens, &mut s.dout);
    let to = InputGradient { dx: &mut s.dnormed, into: Accumulate::Add };
    project_backward(g, &places.compress, &layer.normed1, &s.dout, to);
}

//! Position-dependent attention bias, computed from the whole board, and its gradient.

use super::activations::{AttentionBuffers, FloatLayer, Scratch, size};
use super::layers::{
    Gradient, InputGradient, linear, linear_backward, project_backward, relu, relu_backward,
    take_gradient,
};
use super::pieces::Pieces;
use super::weights::Weights;
use crate::kernels::gemm::{Accumulate, Mat, multiply_transposed};
use crate::net::TOKENS;
use crate::net::layout::{DynamicBiasLayout, Layout};

const SQUARE: usize = TOKENS * TOKENS;

/// Computes `bias_mix`, the share of each pattern in each head's bias, from `bias_tokens`, the
/// compressed tokens of all squares, or of `pieces`.
pub(super) fn shares(
    w: &Weights,
    places: &DynamicBiasLayout,
    pieces: Option<&Pieces>,
    buffers: &mut AttentionBuffers,
) {
    let AttentionBuffers { bias_tokens, bias_hidden, bias_mix, .. } = buffers;
    let channels = places.compress.bias.len();
    if let Some(pieces) = pieces {
        pieces.boards(bias_tokens, channels);
    }
    let positions = bias_tokens.len() / (TOKENS * channels);
    linear(w, &places.hidden, bias_tokens, positions, bias_hidden);
    relu(bias_hidden);
    linear(w, &places.mix, bias_hidden, positions, bias_mix);
}

/// Mixes the patterns by their shares into `weights`, `[positions, heads, 64, 64]`, where the scores
/// are added later.
pub(super) fn mix(layout: &Layout, w: &Weights, positions: usize, buffers: &mut AttentionBuffers) {
    let rows = positions * layout.config.heads;
    size(&mut buffers.weights, rows * SQUARE);
    let rank = buffers.bias_mix.len() / rows;
    #[cfg(target_arch = "x86_64")]
    if let Some(basis) = w.basis() {
        return basis.mix(&buffers.bias_mix, &mut buffers.four, &mut buffers.weights);
    }
    let mix = Mat::new(&buffers.bias_mix, rows, rank, rank);
    w.product(&mut buffers.weights, SQUARE, Accumulate::Replace, mix, &layout.bias_basis);
}

/// From `s.dscores`, `[positions * heads, 64 * 64]`, down to the parameters and to `s.dnormed`, to which it is
/// added.
pub(super) fn backward(
    layout: &Layout,
    g: &mut Gradient<'_>,
    places: &DynamicBiasLayout,
    layer: &FloatLayer,
    s: &mut Scratch,
) {
    let buffers = &layer.attention;
    let rows = s.dscores.rows();
    let rank = buffers.bias_mix.len() / rows;
    s.bias_mix.shape(g.w.arithmetic(), rows, rank);
    s.bias_mix.put(0, &buffers.bias_mix);
    multiply_transposed(
        g.w.isa(),
        &mut g.grads[layout.bias_basis.clone()],
        &s.bias_mix,
        &s.dscores,
    );
    size(&mut s.dbias_mix, rows * rank);
    let (out, into) = (&mut s.dbias_mix, Accumulate::Replace);
    g.w.product_of_rows(out, rank, into, &s.dscores, 0..rows, &layout.bias_basis);

    size(&mut s.dbias_hidden, buffers.bias_hidden.len());
    let to = InputGradient { dx: &mut s.dbias_hidden, into: Accumulate::Replace };
    linear_backward(g, &places.mix, &buffers.bias_hidden, &s.dbias_mix, to);
    relu_backward(&mut s.dbias_hidden, &buffers.bias_hidden);
    size(&mut s.dbias_tokens, buffers.bias_tokens.len());
    let to = InputGradient { dx: &mut s.dbias_tokens, into: Accumulate::Replace };
    linear_backward(g, &places.hidden, &buffers.bias_tokens, &s.dbias_hidden, to);
    take_gradient(g, &places.compress, &s.dbias_tokens, &mut s.dout);
    let to = InputGradient { dx: &mut s.dnormed, into: Accumulate::Add };
    project_backward(g, &places.compress, &layer.norm1.out, &s.dout, to);
}

//! Attention with several heads, position by position: for training, which keeps the weights, for play, which
//! does not, and the gradient.

use super::activations::{LayerActivations, Scratch, size};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::attention;
use super::layers::{Gradient, put_gradient};
use super::matmul::{Into, Mat, matmul};
use super::relations::Relations;
use super::weights::Weights;
use super::{ops, rows};
use crate::net::TOKENS;
use crate::net::layout::{Block, Layout};

const SQUARE: usize = TOKENS * TOKENS;

/// Adds what the attacks on the board add to the attention bias, which lies where the scores go.
pub(super) fn relate(
    w: &Weights,
    places: &Block,
    relations: &Relations,
    layer: &mut LayerActivations,
) {
    if let Some(table) = &places.relations {
        if places.dynamic_bias.is_none() {
            layer.attention.clear();
        }
        relations.add_to(&mut layer.attention, &w[table.clone()]);
    }
}

/// Where head `h` begins in `[64, 3 * width]`: `part` 0 queries, 1 keys, 2 values.
fn head_start(layout: &Layout, h: usize, part: usize) -> usize {
    let (width, heads) = (layout.config.width, layout.config.heads);
    part * width + h * (width / heads)
}

/// Attention of position `p`: `mixed`, `[64, width]`, gets the heads' outputs side by side, `layer.attention` the
/// weights.
pub(super) fn weigh(
    layout: &Layout,
    w: &Weights,
    places: &Block,
    layer: &mut LayerActivations,
    p: usize,
    mixed: &mut [f32],
) {
    let bias = &w[places.attention_bias.clone()];
    let into = if places.has_position_bias() { Into::Add } else { Into::Replace };
    let (width, heads) = (layout.config.width, layout.config.heads);
    let (dim, stride) = (width / heads, 3 * width);
    let qkv = &layer.qkv[p * TOKENS * stride..][..TOKENS * stride];
    let scale = (dim as f32).sqrt().recip();
    for h in 0..heads {
        let part = |i| Mat::new(&qkv[head_start(layout, h, i)..], TOKENS, dim, stride);
        let scores = &mut layer.attention[(p * heads + h) * SQUARE..][..SQUARE];
        matmul(w.attention(), scores, TOKENS, into, scale, part(0), part(1).t());
        rows::attention_softmax(scores, &bias[h * SQUARE..][..SQUARE]);
        let weights = Mat::new(scores, TOKENS, TOKENS, TOKENS);
        matmul(w.attention(), &mut mixed[h * dim..], width, Into::Replace, 1.0, weights, part(2));
    }
}

/// The same for play, which does not look at the weights again: a head in one pass where there is a kernel.
pub(super) fn attend(
    layout: &Layout,
    w: &Weights,
    places: &Block,
    layer: &mut LayerActivations,
    p: usize,
    mixed: &mut [f32],
) {
    let (width, heads) = (layout.config.width, layout.config.heads);
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if attention::takes(w.attention(), width / heads) {
        let (bias, dim, stride) = (&w[places.attention_bias.clone()], width / heads, 3 * width);
        let qkv = &layer.qkv[p * TOKENS * stride..][..TOKENS * stride];
        for h in 0..heads {
            let dynamic = &layer.attention;
            let head = attention::Head {
                qkv: [0, 1, 2].map(|part| &qkv[head_start(layout, h, part)..]),
                stride,
                dim,
                bias: &bias[h * SQUARE..][..SQUARE],
                dynamic: (places.has_position_bias())
                    .then(|| &dynamic[(p * heads + h) * SQUARE..][..SQUARE]),
            };
            let mixed = &mut mixed[h * dim..];
            attention::attend(w.attention(), &head, &mut layer.head, mixed, width);
        }
        return;
    }
    size(&mut layer.attention, layer.qkv.len() / (TOKENS * 3 * width) * heads * SQUARE);
    weigh(layout, w, places, layer, p, mixed);
}

/// Gradient of [`weigh`]: from `s.dmixed`, `[rows, width]`, to `s.dout`, `[rows, 3 * width]`, the biases and
/// `s.dscores`.
pub(super) fn backward(
    layout: &Layout,
    g: &mut Gradient<'_>,
    places: &Block,
    layer: &LayerActivations,
    s: &mut Scratch,
) {
    let (width, heads, arithmetic) = (layout.config.width, layout.config.heads, g.w.arithmetic());
    let (dim, stride) = (width / heads, 3 * width);
    let scale = (dim as f32).sqrt().recip();
    let positions = s.dmixed.len() / (TOKENS * width);
    size(&mut s.dqkv, TOKENS * stride);
    size(&mut s.dscores, positions * heads * SQUARE);
    s.dout.shape(arithmetic, positions * TOKENS, stride);
    for p in 0..positions {
        let qkv = &layer.qkv[p * TOKENS * stride..][..TOKENS * stride];
        for h in 0..heads {
            let at = |i| head_start(layout, h, i);
            let part = |i| Mat::new(&qkv[at(i)..], TOKENS, dim, stride);
            let place = (p * heads + h) * SQUARE;
            let weights = &layer.attention[place..][..SQUARE];
            let dscores = &mut s.dscores[place..][..SQUARE];
            let square = |x| Mat::new(x, TOKENS, TOKENS, TOKENS);
            let dmixed = Mat::new(&s.dmixed[p * TOKENS * width + h * dim..], TOKENS, dim, width);
            let multiply = |out: &mut [f32], scale, a, b| {
                matmul(arithmetic, out, stride, Into::Replace, scale, a, b);
            };
            multiply(&mut s.dqkv[at(2)..], 1.0, square(weights).t(), dmixed);
            matmul(arithmetic, dscores, TOKENS, Into::Replace, 1.0, dmixed, part(2).t());
            ops::softmax64_backward(dscores, weights);
            let dbias = &mut g.grads[places.attention_bias.clone()][h * SQUARE..][..SQUARE];
            ops::add_scaled(dbias, 1.0, dscores);
            multiply(&mut s.dqkv[at(0)..], scale, square(dscores), part(1));
            multiply(&mut s.dqkv[at(1)..], scale, square(dscores).t(), part(0));
        }
        put_gradient(g.grads, &places.qkv, &s.dqkv, &mut s.dout, p * TOKENS);
    }
}

//! Multi-head attention, position by position: for training, which keeps the weights, for play, which does not,
//! and the gradient.

use super::activations::{AttentionBuffers, FloatLayer, Scratch, size};
use super::dynamic_bias;
use super::layers::{Gradient, put_gradient};
#[cfg(target_arch = "x86_64")]
use super::profile::{Stage, Stages};
use super::relations::Relations;
#[cfg(target_arch = "x86_64")]
use super::weights;
use super::weights::Weights;
#[cfg(target_arch = "x86_64")]
use crate::kernels::amx::{attention as amx, gradient as amx_gradient};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::kernels::attention;
use crate::kernels::gemm::{Accumulate, Mat, matmul};
use crate::kernels::{norm, ops};
use crate::net::TOKENS;
use crate::net::layout::{BlockLayout, Layout};
#[cfg(target_arch = "x86_64")]
use crate::precision::Arithmetic;

const SQUARE: usize = TOKENS * TOKENS;

/// Writes the position-dependent part of the attention bias (mixed patterns, attacks on the board) to
/// `buffers.weights`, where the scores are added later.
pub(super) fn position_bias(
    layout: &Layout,
    w: &Weights,
    places: &BlockLayout,
    relations: &Relations,
    positions: usize,
    buffers: &mut AttentionBuffers,
) {
    if places.dynamic_bias.is_some() {
        dynamic_bias::mix(layout, w, positions, buffers);
    }
    if let Some(table) = &places.relations {
        if places.dynamic_bias.is_none() {
            buffers.weights.clear();
        }
        relations.add_to(&mut buffers.weights, &w[table.clone()]);
    }
}

/// Offset of head `h` in `[64, 3 * width]`: `part` 0 queries, 1 keys, 2 values.
fn head_start(layout: &Layout, h: usize, part: usize) -> usize {
    let (width, heads) = (layout.config.width, layout.config.heads);
    part * width + h * (width / heads)
}

/// The differences of attention by AMX between float and int8 weights.
#[cfg(target_arch = "x86_64")]
pub(super) trait ByTiles {
    /// Multiplies and packs queries, keys and values of position `p`; false if the weights fill no blocks.
    fn pack(
        &mut self,
        p: usize,
        board: &amx::Board<'_>,
        packed: &mut amx::AttentionScratch,
    ) -> bool;

    /// Attention of position `p`, packed, into the next product's input.
    fn attend(&mut self, p: usize, board: &amx::Board<'_>, packed: &mut amx::AttentionScratch);
}

/// Attention of all positions by AMX; false if it does not apply, and nothing is done.
#[cfg(target_arch = "x86_64")]
pub(super) fn by_tiles(
    layout: &Layout,
    w: &Weights,
    places: &BlockLayout,
    buffers: &mut AttentionBuffers,
    positions: usize,
    work: &mut impl ByTiles,
    stages: &mut Stages,
) -> bool {
    let AttentionBuffers { bias_mix, board: packed, .. } = buffers;
    for p in 0..positions {
        let Some(board) = board(layout, w, places, bias_mix, (p, positions)) else { return false };
        stages.begin(Stage::Qkv);
        if !work.pack(p, &board, packed) {
            return false;
        }
        stages.begin(Stage::Attention);
        work.attend(p, &board, packed);
    }
    true
}

/// Position `p` of `positions`, for attention of all heads by AMX; None: use the per-head path.
#[cfg(target_arch = "x86_64")]
fn board<'a>(
    layout: &Layout,
    w: &'a Weights,
    places: &BlockLayout,
    bias_mix: &'a [f32],
    (p, positions): (usize, usize),
) -> Option<amx::Board<'a>> {
    let (heads, dim) = (layout.config.heads, layout.config.width / layout.config.heads);
    if w.attention().arithmetic != Arithmetic::Bf16 || !weights::attends_by_tiles(w.isa(), layout) {
        return None;
    }
    let dynamic = match &places.dynamic_bias {
        None => None,
        Some(_) => {
            let each = bias_mix.len() / positions;
            let shares = &bias_mix[p * each..][..each];
            Some(amx::Mixture { shares, patterns: w.basis()? })
        }
    };
    Some(amx::Board { heads, dim, bias: &w[places.attention_bias.clone()], dynamic })
}

/// Attention of position `p`: the concatenated head outputs go to `mixed`, `[64, width]`, the weights to
/// `buffers.weights`.
pub(super) fn weigh(
    layout: &Layout,
    w: &Weights,
    places: &BlockLayout,
    buffers: &mut AttentionBuffers,
    p: usize,
    mixed: &mut [f32],
) {
    let bias = &w[places.attention_bias.clone()];
    let into = if places.has_position_bias() { Accumulate::Add } else { Accumulate::Replace };
    let (width, heads) = (layout.config.width, layout.config.heads);
    let (dim, stride) = (width / heads, 3 * width);
    let qkv = &buffers.qkv[p * TOKENS * stride..][..TOKENS * stride];
    let scale = (dim as f32).sqrt().recip();
    for h in 0..heads {
        let part = |i| Mat::new(&qkv[head_start(layout, h, i)..], TOKENS, dim, stride);
        let scores = &mut buffers.weights[(p * heads + h) * SQUARE..][..SQUARE];
        matmul(w.attention(), scores, TOKENS, into, scale, part(0), part(1).t());
        norm::attention_softmax(w.isa(), scores, &bias[h * SQUARE..][..SQUARE]);
        let weights = Mat::new(scores, TOKENS, TOKENS, TOKENS);
        matmul(
            w.attention(),
            &mut mixed[h * dim..],
            width,
            Accumulate::Replace,
            1.0,
            weights,
            part(2),
        );
    }
}

/// [`weigh`] for play, which needs no weights: one fused pass per head where a kernel supports it.
pub(super) fn attend(
    layout: &Layout,
    w: &Weights,
    places: &BlockLayout,
    buffers: &mut AttentionBuffers,
    p: usize,
    mixed: &mut [f32],
) {
    let (width, heads) = (layout.config.width, layout.config.heads);
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if attention::supports(w.attention(), width / heads) {
        let (bias, dim, stride) = (&w[places.attention_bias.clone()], width / heads, 3 * width);
        let qkv = &buffers.qkv[p * TOKENS * stride..][..TOKENS * stride];
        for h in 0..heads {
            let dynamic = &buffers.weights;
            let head = attention::Head {
                qkv: [0, 1, 2].map(|part| &qkv[head_start(layout, h, part)..]),
                stride,
                dim,
                bias: &bias[h * SQUARE..][..SQUARE],
                dynamic: (places.has_position_bias())
                    .then(|| &dynamic[(p * heads + h) * SQUARE..][..SQUARE]),
            };
            let mixed = &mut mixed[h * dim..];
            attention::attend(w.attention(), &head, &mut buffers.head, mixed, width);
        }
        return;
    }
    size(&mut buffers.weights, buffers.qkv.len() / (TOKENS * 3 * width) * heads * SQUARE);
    weigh(layout, w, places, buffers, p, mixed);
}

/// Gradient of [`weigh`], or of the AMX path: from `s.dmixed`, `[rows, width]`, to `s.dout`, `[rows, 3 *
/// width]`, the biases and `s.dscores`.
pub(super) fn backward(
    layout: &Layout,
    g: &mut Gradient<'_>,
    places: &BlockLayout,
    layer: &FloatLayer,
    s: &mut Scratch,
) {
    let (width, heads) = (layout.config.width, layout.config.heads);
    let positions = s.dmixed.rows() / TOKENS;
    s.dscores.shape(g.w.arithmetic(), positions * heads, SQUARE);
    s.dout.shape(g.w.arithmetic(), positions * TOKENS, 3 * width);
    for p in 0..positions {
        if !position_by_tiles(layout, g, places, layer, s, p) {
            head_by_head(layout, g, places, layer, s, p);
        }
    }
    let dbias = &mut g.grads[places.attention_bias.clone()];
    for (h, dbias) in dbias.chunks_exact_mut(SQUARE).enumerate() {
        s.dscores.add_every(g.w.isa(), heads, h, dbias);
    }
}

/// The gradient of position `p` by AMX; false if its attention took the other path.
fn position_by_tiles(
    layout: &Layout,
    g: &mut Gradient<'_>,
    places: &BlockLayout,
    layer: &FloatLayer,
    s: &mut Scratch,
    p: usize,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let heads = layout.config.heads;
        let dmixed = s.dmixed.lanes(p * TOKENS..(p + 1) * TOKENS);
        let scores = s.dscores.lanes_mut(p * heads..(p + 1) * heads);
        let rows = s.dout.lanes_mut(p * TOKENS..(p + 1) * TOKENS);
        let (Some(kept), Some(dmixed)) = (&layer.kept, dmixed) else { return false };
        let (Some(dscores), Some(dqkv)) = (scores, rows) else { return false };
        let sums = &mut g.grads[places.qkv.bias.clone()];
        let mut to = amx_gradient::Gradients { dscores, dqkv, sums };
        amx_gradient::backward(kept, p, dmixed, &mut s.head, &mut to);
        true
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (layout, g, places, layer, s, p);
        false
    }
}

fn head_by_head(
    layout: &Layout,
    g: &mut Gradient<'_>,
    places: &BlockLayout,
    layer: &FloatLayer,
    s: &mut Scratch,
    p: usize,
) {
    let (width, heads, method) = (layout.config.width, layout.config.heads, g.w.method());
    let (dim, stride) = (width / heads, 3 * width);
    let scale = (dim as f32).sqrt().recip();
    let qkv = &layer.attention.qkv[p * TOKENS * stride..][..TOKENS * stride];
    let [scratch, dscores] = &mut s.scratch;
    size(scratch, TOKENS * (stride + width));
    size(dscores, SQUARE);
    let (dqkv, dmixed) = scratch.split_at_mut(TOKENS * stride);
    s.dmixed.get(p * TOKENS, dmixed);
    for h in 0..heads {
        let at = |i| head_start(layout, h, i);
        let part = |i| Mat::new(&qkv[at(i)..], TOKENS, dim, stride);
        let weights = &layer.attention.weights[(p * heads + h) * SQUARE..][..SQUARE];
        let square = |x| Mat::new(x, TOKENS, TOKENS, TOKENS);
        let dmixed = Mat::new(&dmixed[h * dim..], TOKENS, dim, width);
        let multiply = |out: &mut [f32], scale, a, b| {
            matmul(method, out, stride, Accumulate::Replace, scale, a, b);
        };
        multiply(&mut dqkv[at(2)..], 1.0, square(weights).t(), dmixed);
        matmul(method, dscores, TOKENS, Accumulate::Replace, 1.0, dmixed, part(2).t());
        ops::softmax64_backward(method.isa, dscores, weights);
        multiply(&mut dqkv[at(0)..], scale, square(dscores), part(1));
        multiply(&mut dqkv[at(1)..], scale, square(dscores).t(), part(0));
        s.dscores.put(p * heads + h, dscores);
    }
    put_gradient(g, &places.qkv, dqkv, &mut s.dout, p * TOKENS);
}

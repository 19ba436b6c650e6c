//! The gradient of [`super::forward()`], layer by layer from the heads down, added into one flat
//! vector laid out as the parameters are.

use super::dynamic_bias;
use super::forward::{Activations, LayerActivations, head_start, size};
use super::matmul::{Into, Mat, matmul};
use super::ops;
use super::relations::Relations;
use super::weights::Weights;
use crate::encode::Item;
use crate::net::TOKENS;
use crate::net::layout::{Block, Layout, Linear, Norm};
use crate::precision::Arithmetic;
use std::ops::Range;

/// dL/d(logits) of every head, shaped as [`Activations`]'s answers.
#[derive(Default)]
pub struct HeadGradients {
    /// `[m]`.
    pub policy: Vec<f32>,
    /// `[m, 64]`.
    pub actions: Vec<f32>,
    /// `[n, 64]`.
    pub value: Vec<f32>,
    /// `[n, 3]`.
    pub result: Vec<f32>,
    /// `[n, 3]`.
    pub terminal: Vec<f32>,
    /// `[n, 64, 64]`.
    pub legality: Vec<f32>,
    /// `[n, 64]`.
    pub promotes: Vec<f32>,
    /// `[n, 64, 16]`.
    pub transition: Vec<f32>,
}

impl HeadGradients {
    /// All zero, for `n` positions and `m` moves.
    pub fn reset(&mut self, n: usize, m: usize) {
        for (buffer, len) in [
            (&mut self.policy, m),
            (&mut self.actions, m * 64),
            (&mut self.value, n * 64),
            (&mut self.result, n * 3),
            (&mut self.terminal, n * 3),
            (&mut self.legality, n * TOKENS * TOKENS),
            (&mut self.promotes, n * TOKENS),
            (&mut self.transition, n * TOKENS * 16),
        ] {
            buffer.clear();
            buffer.resize(len, 0.0);
        }
    }
}

/// Scratch of a backward pass, reused.
#[derive(Default)]
pub struct Scratch {
    pub(super) dbias_tokens: Vec<f32>,
    pub(super) dbias_hidden: Vec<f32>,
    pub(super) dbias_mix: Vec<f32>,
    dx: Vec<f32>,
    dtokens: Vec<f32>,
    dboard: Vec<f32>,
    dflat: Vec<f32>,
    dcontext: Vec<f32>,
    dhidden: Vec<f32>,
    pub(super) dnormed: Vec<f32>,
    dwide: Vec<f32>,
    dmixed: Vec<f32>,
    dqkv: Vec<f32>,
    /// `[positions, heads, 64, 64]`.
    pub(super) dscores: Vec<f32>,
    dgamma: Vec<f32>,
    dbeta: Vec<f32>,
}

fn zeroed(buffer: &mut Vec<f32>, len: usize) {
    buffer.clear();
    buffer.resize(len, 0.0);
}

/// Gradient of `out = x * weight + bias`: weight and bias into `grads`; `dx` is added to, or replaced.
/// Here and below `w` is [`Weights::turned`].
pub(super) fn linear(
    (w, grads): (&Weights, &mut [f32]),
    places: &Linear,
    x: &[f32],
    dout: &[f32],
    dx: Option<(&mut [f32], Into<'_>)>,
) {
    let outputs = places.bias.len();
    let (inputs, rows) = (places.weight.len() / outputs, dout.len() / outputs);
    if rows == 0 {
        return;
    }
    let dout_view = Mat::new(dout, rows, outputs, outputs);
    ops::add_rows(dout, &mut grads[places.bias.clone()]);
    let x = Mat::new(x, rows, inputs, inputs).t();
    let dweight = &mut grads[places.weight.clone()];
    matmul(w.arithmetic(), dweight, outputs, Into::Add, 1.0, x, dout_view);
    if let Some((dx, into)) = dx {
        w.product(dx, inputs, into, dout_view, &places.weight);
    }
}

/// Zeroes `grad` where the ReLU's output is zero.
pub(super) fn relu(grad: &mut [f32], out: &[f32]) {
    for (grad, out) in grad.iter_mut().zip(out) {
        *grad = if *out > 0.0 { *grad } else { 0.0 };
    }
}

/// Adds dL/d(parameters) for one forward pass that kept its layers and computed all heads; `w` is
/// [`Weights::turned`].
pub fn backward(
    layout: &Layout,
    w: &Weights,
    items: &[Item<'_>],
    activations: &Activations,
    heads: &HeadGradients,
    s: &mut Scratch,
    grads: &mut [f32],
) {
    let (n, width) = (items.len(), layout.config.width);
    let rows = n * TOKENS;
    zeroed(&mut s.dtokens, rows * activations.columns);
    zeroed(&mut s.dboard, n * layout.config.value_hidden);
    move_heads(layout, (w, grads), items, activations, heads, s);
    board_heads(layout, (w, grads), n, activations, heads, s);
    token_heads(layout, (w.arithmetic(), grads), n, activations, heads, s);

    size(&mut s.dnormed, rows * width);
    let dnormed = Some((&mut s.dnormed[..], Into::Replace));
    linear((w, grads), &layout.heads, &activations.normed, &s.dtokens, dnormed);
    zeroed(&mut s.dx, rows * width);
    norm((w, grads), &layout.norm, (&activations.unit, &activations.scale), s);
    for (places, layer) in layout.blocks.iter().zip(&activations.layers).rev() {
        block(layout, (w, grads), places, &activations.relations, layer, s);
    }
    embed(layout, items, &s.dx, grads);
}

/// Gradient through a normalisation: from `s.dnormed`, added to `s.dx`.
fn norm(
    (w, grads): (&Weights, &mut [f32]),
    places: &Norm,
    (unit, scale): (&[f32], &[f32]),
    s: &mut Scratch,
) {
    zeroed(&mut s.dgamma, places.gamma.len());
    zeroed(&mut s.dbeta, places.beta.len());
    let gamma = &w[places.gamma.clone()];
    ops::layer_norm_backward(
        &s.dnormed,
        gamma,
        unit,
        scale,
        &mut s.dx,
        &mut s.dgamma,
        &mut s.dbeta,
    );
    ops::add_rows(&s.dgamma, &mut grads[places.gamma.clone()]);
    ops::add_rows(&s.dbeta, &mut grads[places.beta.clone()]);
}

fn block(
    layout: &Layout,
    (w, grads): (&Weights, &mut [f32]),
    places: &Block,
    relations: &Relations,
    layer: &LayerActivations,
    s: &mut Scratch,
) {
    let n = layer.qkv.len() / (3 * layout.config.width * TOKENS);
    size(&mut s.dwide, layer.up.len());
    linear((w, grads), &places.down, &layer.squared, &s.dx, Some((&mut s.dwide, Into::Replace)));
    ops::squared_relu_backward(&mut s.dwide, &layer.up);
    let dnormed = Some((&mut s.dnormed[..], Into::Replace));
    linear((w, grads), &places.up, &layer.normed2, &s.dwide, dnormed);
    norm((w, grads), &places.norm2, (&layer.unit2, &layer.scale2), s);

    size(&mut s.dmixed, layer.mixed.len());
    linear((w, grads), &places.out, &layer.mixed, &s.dx, Some((&mut s.dmixed, Into::Replace)));
    attention(layout, &places.attention_bias, layer, n, s, (w.arithmetic(), grads));
    let dnormed = Some((&mut s.dnormed[..], Into::Replace));
    linear((w, grads), &places.qkv, &layer.normed1, &s.dqkv, dnormed);
    if let Some(bias) = &places.dynamic_bias {
        dynamic_bias::backward(layout, (w, grads), bias, layer, s);
    }
    if let Some(table) = &places.relations {
        relations.backward(&s.dscores, &mut grads[table.clone()]);
    }
    norm((w, grads), &places.norm1, (&layer.unit1, &layer.scale1), s);
}

fn attention(
    layout: &Layout,
    bias: &Range<usize>,
    layer: &LayerActivations,
    n: usize,
    s: &mut Scratch,
    (arithmetic, grads): (Arithmetic, &mut [f32]),
) {
    let (width, heads) = (layout.config.width, layout.config.heads);
    let (dim, square) = (width / heads, TOKENS * TOKENS);
    let scale = (dim as f32).sqrt().recip();
    size(&mut s.dqkv, layer.qkv.len());
    size(&mut s.dscores, n * heads * square);
    for p in 0..n {
        for h in 0..heads {
            let at = |i| head_start(layout, p, h, i);
            let part = |i| Mat::new(&layer.qkv[at(i)..], TOKENS, dim, 3 * width);
            let place = (p * heads + h) * square;
            let weights = &layer.attention[place..][..square];
            let dscores = &mut s.dscores[place..][..square];
            let weights_view = Mat::new(weights, TOKENS, TOKENS, TOKENS);
            let dmixed = Mat::new(&s.dmixed[p * TOKENS * width + h * dim..], TOKENS, dim, width);
            matmul(
                arithmetic,
                &mut s.dqkv[at(2)..],
                3 * width,
                Into::Replace,
                1.0,
                weights_view.t(),
                dmixed,
            );
            matmul(arithmetic, dscores, TOKENS, Into::Replace, 1.0, dmixed, part(2).t());
            ops::softmax64_backward(dscores, weights);
            ops::add_scaled(&mut grads[bias.clone()][h * square..][..square], 1.0, dscores);
            let dscores = Mat::new(dscores, TOKENS, TOKENS, TOKENS);
            matmul(
                arithmetic,
                &mut s.dqkv[at(0)..],
                3 * width,
                Into::Replace,
                scale,
                dscores,
                part(1),
            );
            matmul(
                arithmetic,
                &mut s.dqkv[at(1)..],
                3 * width,
                Into::Replace,
                scale,
                dscores.t(),
                part(0),
            );
        }
    }
}

fn embed(layout: &Layout, items: &[Item<'_>], dx: &[f32], grads: &mut [f32]) {
    let width = layout.config.width;
    ops::add_rows(dx, &mut grads[layout.position.clone()]);
    for (item, dx) in items.iter().zip(dx.chunks_exact(TOKENS * width)) {
        for (t, dx) in dx.chunks_exact(width).enumerate() {
            item.features.embedding_rows(t, |row, factor| {
                let grad = &mut grads[layout.embed.start + row * width..][..width];
                ops::add_scaled(grad, factor, dx);
            });
        }
    }
}

/// Policy and action values, down to `dtokens`, `dcontext` and, through it, `dboard`.
fn move_heads(
    layout: &Layout,
    (w, grads): (&Weights, &mut [f32]),
    items: &[Item<'_>],
    activations: &Activations,
    heads: &HeadGradients,
    s: &mut Scratch,
) {
    let (c, dim) = (&layout.columns, layout.config.action_dim);
    size(&mut s.dhidden, activations.hidden.len());
    let dhidden = Some((&mut s.dhidden[..], Into::Replace));
    linear((w, grads), &layout.action_buckets, &activations.hidden, &heads.actions, dhidden);
    relu(&mut s.dhidden, &activations.hidden);
    zeroed(&mut s.dcontext, activations.context.len());
    let scale = (layout.config.policy_dim as f32).sqrt().recip();
    let mut rows = s.dhidden.chunks_exact(dim).zip(&heads.policy);
    for (p, item) in items.iter().enumerate() {
        let dcontext = &mut s.dcontext[p * dim..][..dim];
        for m in item.moves {
            let Some((dhidden, &dlogit)) = rows.next() else { return };
            let start = |t: u8| (p * TOKENS + usize::from(t)) * activations.columns;
            let (from, to) = (start(m.from), start(m.to));
            let columns =
                |start: usize, range: &Range<usize>| start + range.start..start + range.end;
            ops::add_scaled(dcontext, 1.0, dhidden);
            ops::add_scaled(&mut s.dtokens[columns(from, &c.action_from)], 1.0, dhidden);
            ops::add_scaled(&mut s.dtokens[columns(to, &c.action_to)], 1.0, dhidden);
            let kind = layout.action_promotion.start + usize::from(m.promotion) * dim;
            ops::add_scaled(&mut grads[kind..][..dim], 1.0, dhidden);

            let (query, key) = (columns(from, &c.policy_from), columns(to, &c.policy_to));
            if let Some(share) = &layout.action_policy {
                for i in 0..dim {
                    let (q, k) = (query.start + i, key.start + i);
                    let product = activations.tokens[q] * activations.tokens[k];
                    grads[share.start + i] += dhidden[i] * product;
                    let slope = dhidden[i] * w[share.start + i];
                    s.dtokens[q] += slope * activations.tokens[k];
                    s.dtokens[k] += slope * activations.tokens[q];
                }
            }
            ops::add_scaled(
                &mut s.dtokens[query.clone()],
                scale * dlogit,
                &activations.tokens[key.clone()],
            );
            ops::add_scaled(&mut s.dtokens[key], scale * dlogit, &activations.tokens[query]);
            if m.promotion > 0 {
                s.dtokens[to + c.promotion.start + usize::from(m.promotion) - 1] += dlogit;
            }
        }
    }
    let dboard = Some((&mut s.dboard[..], Into::Add));
    linear((w, grads), &layout.action_context, &activations.board, &s.dcontext, dboard);
}

/// Value, result and terminal, and what the moves asked of the board, down to `dtokens`.
fn board_heads(
    layout: &Layout,
    (w, grads): (&Weights, &mut [f32]),
    n: usize,
    activations: &Activations,
    heads: &HeadGradients,
    s: &mut Scratch,
) {
    for (places, dout) in [
        (&layout.value_buckets, &heads.value),
        (&layout.value_result, &heads.result),
        (&layout.value_terminal, &heads.terminal),
    ] {
        linear((w, grads), places, &activations.board, dout, Some((&mut s.dboard, Into::Add)));
    }
    relu(&mut s.dboard, &activations.board);
    let channels = layout.config.value_channels;
    size(&mut s.dflat, n * TOKENS * channels);
    let dflat = Some((&mut s.dflat[..], Into::Replace));
    linear((w, grads), &layout.value_hidden, &activations.flat, &s.dboard, dflat);
    relu(&mut s.dflat, &activations.flat);
    let rows = s.dtokens.chunks_exact_mut(activations.columns);
    for (row, dflat) in rows.zip(s.dflat.chunks_exact(channels)) {
        row[layout.columns.value.clone()].copy_from_slice(dflat);
    }
}

/// Legality and transition, down to `dtokens`.
fn token_heads(
    layout: &Layout,
    (arithmetic, grads): (Arithmetic, &mut [f32]),
    n: usize,
    activations: &Activations,
    heads: &HeadGradients,
    s: &mut Scratch,
) {
    let (c, dim) = (&layout.columns, layout.config.legality_dim);
    let square = TOKENS * TOKENS;
    ops::add_rows(&heads.legality, &mut grads[layout.legality_bias.clone()]);
    let scale = (dim as f32).sqrt().recip();
    for p in 0..n {
        let start = p * TOKENS * activations.columns;
        let side = |columns: &Range<usize>| {
            Mat::new(&activations.tokens[start + columns.start..], TOKENS, dim, activations.columns)
        };
        let dlogits = Mat::new(&heads.legality[p * square..], TOKENS, TOKENS, TOKENS);
        let from = &mut s.dtokens[start + c.legality_from.start..];
        matmul(
            arithmetic,
            from,
            activations.columns,
            Into::Replace,
            scale,
            dlogits,
            side(&c.legality_to),
        );
        let to = &mut s.dtokens[start + c.legality_to.start..];
        matmul(
            arithmetic,
            to,
            activations.columns,
            Into::Replace,
            scale,
            dlogits.t(),
            side(&c.legality_from),
        );
    }
    let rows = s.dtokens.chunks_exact_mut(activations.columns);
    let gradients = heads.transition.chunks_exact(c.transition.len()).zip(&heads.promotes);
    for (row, (transition, promotes)) in rows.zip(gradients) {
        row[c.transition.clone()].copy_from_slice(transition);
        row[c.promotes.start] = *promotes;
    }
}

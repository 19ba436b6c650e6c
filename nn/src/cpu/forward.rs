//! The forward pass, a few positions at a time, in scratch that stays in the cache.
//!
//! The same code serves play and training: training keeps one set of buffers per layer for the
//! gradient, play uses one set for all layers.

#[cfg(target_arch = "x86_64")]
use super::attention;
use super::dynamic_bias;
use super::int8::Rows;
use super::matmul::{Into, Mat, matmul};
use super::relations::Relations;
use super::stages::{Stage, Stages};
use super::weights::Weights;
use super::{ops, rows};
use crate::encode::Item;
use crate::net::layout::{Block, Layout, Linear, Norm, RESULTS, TERMINALS};
use crate::net::{BUCKETS, TOKENS};
use crate::precision::Arithmetic;
use std::ops::Range;

/// Which heads to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heads {
    /// Values, action values and policy: all a search by the rules needs.
    Play,
    /// Legality and next state too.
    All,
}

impl Heads {
    /// Columns of the per-token projection that they need.
    pub(super) fn columns(self, layout: &Layout) -> usize {
        match self {
            Heads::All => layout.columns.all(),
            Heads::Play => layout.columns.play(),
        }
    }
}

/// One layer's intermediate values; rows = 64 × positions.
#[derive(Default)]
pub(super) struct LayerActivations {
    pub unit1: Vec<f32>,
    pub scale1: Vec<f32>,
    /// `[rows, width]`: input of qkv.
    pub normed1: Vec<f32>,
    /// `[rows, 3 * width]`.
    pub qkv: Vec<f32>,
    /// `[rows, channels]`, `[positions, hidden]` after ReLU and `[positions * heads, rank]`: the
    /// dynamic attention bias on its way.
    pub bias_tokens: Vec<f32>,
    pub bias_hidden: Vec<f32>,
    pub bias_mix: Vec<f32>,
    /// `[positions, heads, 64, 64]`: attention weights.
    pub attention: Vec<f32>,
    /// `[rows, width]`: the heads' outputs side by side.
    pub mixed: Vec<f32>,
    pub unit2: Vec<f32>,
    pub scale2: Vec<f32>,
    pub normed2: Vec<f32>,
    /// `[rows, ffn]`: before and after the squared ReLU.
    pub up: Vec<f32>,
    pub squared: Vec<f32>,
    /// The input of a product of bytes.
    pub bytes: Rows,
    /// A head's keys on their way.
    #[cfg(target_arch = "x86_64")]
    pub keys: attention::Keys,
}

/// Everything a forward pass computes; reused from call to call. After [`forward`] the public fields
/// hold the heads' answers, `n` positions and `m` moves long.
#[derive(Default)]
pub struct Activations {
    pub(super) layers: Vec<LayerActivations>,
    pub(super) relations: Relations,
    pub(super) x: Vec<f32>,
    pub(super) unit: Vec<f32>,
    pub(super) scale: Vec<f32>,
    pub(super) normed: Vec<f32>,
    /// `[rows, columns]`: the per-token head projection.
    pub(super) tokens: Vec<f32>,
    /// Columns of `tokens` in this pass.
    pub(super) columns: usize,
    /// `[n, 64 * value_channels]`, after ReLU.
    pub(super) flat: Vec<f32>,
    /// `[n, value_hidden]`, after ReLU.
    pub(super) board: Vec<f32>,
    /// `[n, action_dim]`.
    pub(super) context: Vec<f32>,
    /// `[m, action_dim]`, after ReLU.
    pub(super) hidden: Vec<f32>,
    /// `[m]` logits.
    pub policy: Vec<f32>,
    /// `[m, 64]` logits over win-probability buckets.
    pub actions: Vec<f32>,
    /// `[n, 64]` logits over win-probability buckets.
    pub value: Vec<f32>,
    /// `[n, 3]` logits: lost, drawn, won.
    pub result: Vec<f32>,
    /// `[n, 3]` logits: ongoing, lost, drawn.
    pub terminal: Vec<f32>,
    /// `[n, 64, 64]` logits (from, to); only with [`Heads::All`].
    pub legality: Vec<f32>,
    /// Where the time goes; off unless somebody starts it.
    pub stages: Stages,
}

impl Activations {
    /// Logits of the transition head for token `token` of position `p`, 16 of them, and of "moves from
    /// here promote". Only after [`Heads::All`].
    #[must_use]
    pub fn transition(&self, layout: &Layout, p: usize, token: usize) -> (&[f32], f32) {
        let row = &self.tokens[(p * TOKENS + token) * self.columns..];
        (&row[layout.columns.transition.clone()], row[layout.columns.promotes.start])
    }
}

pub(super) fn size(buffer: &mut Vec<f32>, len: usize) {
    // Content need not be cleared: every pass writes all it reads.
    buffer.resize(len, 0.0);
}

/// `out = x * weight + bias`, `[rows, in] -> [rows, out]`.
pub(super) fn linear(w: &Weights, places: &Linear, x: &[f32], rows: usize, out: &mut Vec<f32>) {
    let (inputs, outputs) = (places.weight.len() / places.bias.len(), places.bias.len());
    size(out, rows * outputs);
    if rows == 0 {
        return;
    }
    let bias = Into::Bias(&w[places.bias.clone()]);
    w.product(out, outputs, bias, Mat::new(x, rows, inputs, inputs), &places.weight);
}

fn norm(
    w: &Weights,
    places: &Norm,
    x: &[f32],
    unit: &mut Vec<f32>,
    scale: &mut Vec<f32>,
    out: &mut Vec<f32>,
) {
    size(unit, x.len());
    size(scale, x.len() / places.gamma.len());
    size(out, x.len());
    rows::layer_norm(x, &w[places.gamma.clone()], &w[places.beta.clone()], unit, scale, out);
}

/// Runs the network on `items`. `keep_layers` keeps every layer's buffers for the gradient, which weights of 8
/// bits have none for.
pub fn forward(
    layout: &Layout,
    w: &Weights,
    items: &[Item<'_>],
    heads: Heads,
    keep_layers: bool,
    activations: &mut Activations,
) {
    let rows = items.len() * TOKENS;
    debug_assert!(!keep_layers || w.trunk8().is_none(), "no gradient by bytes");
    let mut stages = std::mem::take(&mut activations.stages);
    activations
        .layers
        .resize_with(if keep_layers { layout.blocks.len() } else { 1 }, LayerActivations::default);
    stages.begin(Stage::Embedding);
    embed(layout, w, items, &mut activations.x);
    if layout.config.relations {
        activations.relations.read(items);
    }
    for (i, _) in layout.blocks.iter().enumerate() {
        let layer = &mut activations.layers[if keep_layers { i } else { 0 }];
        let (x, relations) = (&mut activations.x, &activations.relations);
        match w.trunk8() {
            Some(trunk) => trunk.block((layout, w), i, x, relations, layer, &mut stages),
            None => block((layout, w, keep_layers), i, x, relations, layer, &mut stages),
        }
    }
    activations.columns = heads.columns(layout);
    match w.trunk8() {
        Some(trunk) => {
            let bytes = &mut activations.layers[0].bytes;
            let to = (bytes, &mut activations.tokens);
            trunk.tokens((layout, w), &activations.x, to, heads, &mut stages);
        }
        None => tokens(layout, w, rows, activations, &mut stages),
    }
    stages.begin(Stage::Heads);
    board_heads(layout, w, items.len(), activations);
    move_heads(layout, w, items, activations);
    if heads == Heads::All {
        legality(layout, w, items.len(), activations);
    }
    stages.begin(Stage::Outside);
    activations.stages = stages;
}

/// The projection of every token for the heads.
fn tokens(
    layout: &Layout,
    w: &Weights,
    rows: usize,
    activations: &mut Activations,
    stages: &mut Stages,
) {
    let Activations { x, unit, scale, normed, tokens, columns, .. } = activations;
    stages.begin(Stage::Norm);
    norm(w, &layout.norm, x, unit, scale, normed);
    stages.begin(Stage::Tokens);
    let width = layout.config.width;
    size(tokens, rows * *columns);
    let bias = Into::Bias(&w[layout.heads.bias.clone()]);
    let normed = Mat::new(normed, rows, width, width);
    w.product(tokens, *columns, bias, normed, &layout.heads.weight);
}

fn embed(layout: &Layout, w: &Weights, items: &[Item<'_>], x: &mut Vec<f32>) {
    let width = layout.config.width;
    size(x, items.len() * TOKENS * width);
    for (item, x) in items.iter().zip(x.chunks_exact_mut(TOKENS * width)) {
        x.copy_from_slice(&w[layout.position.clone()]);
        for (t, x) in x.chunks_exact_mut(width).enumerate() {
            item.features.embedding_rows(t, |row, factor| {
                let row = &w[layout.embed.start + row * width..][..width];
                ops::add_scaled(x, factor, row);
            });
        }
    }
}

fn block(
    (layout, w, keep): (&Layout, &Weights, bool),
    i: usize,
    x: &mut [f32],
    relations: &Relations,
    layer: &mut LayerActivations,
    stages: &mut Stages,
) {
    let (places, width) = (&layout.blocks[i], layout.config.width);
    let rows = x.len() / width;
    stages.begin(Stage::Norm);
    norm(w, &places.norm1, x, &mut layer.unit1, &mut layer.scale1, &mut layer.normed1);
    stages.begin(Stage::Qkv);
    linear(w, &places.qkv, &layer.normed1, rows, &mut layer.qkv);
    if let Some(bias) = &places.dynamic_bias {
        stages.begin(Stage::Bias);
        dynamic_bias::forward(layout, w, bias, rows / TOKENS, layer);
    }
    relate(w, places, relations, layer);
    stages.begin(Stage::Attention);
    if keep || w.arithmetic() != Arithmetic::Single {
        attention(layout, w, places, rows / TOKENS, layer);
    } else {
        attend(layout, w, places, rows / TOKENS, layer);
    }
    stages.begin(Stage::Output);
    residual(w, &places.out, &layer.mixed, x);
    stages.begin(Stage::Norm);
    norm(w, &places.norm2, x, &mut layer.unit2, &mut layer.scale2, &mut layer.normed2);
    stages.begin(Stage::Up);
    linear(w, &places.up, &layer.normed2, rows, &mut layer.up);
    stages.begin(Stage::Activation);
    size(&mut layer.squared, layer.up.len());
    ops::squared_relu(&layer.up, &mut layer.squared);
    stages.begin(Stage::Down);
    residual(w, &places.down, &layer.squared, x);
}

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

/// `x += inputs * weight + bias`.
fn residual(w: &Weights, places: &Linear, inputs: &[f32], x: &mut [f32]) {
    let (outputs, width) = (places.bias.len(), places.weight.len() / places.bias.len());
    let rows = x.len() / outputs;
    ops::add_bias(&w[places.bias.clone()], x);
    w.product(x, outputs, Into::Add, Mat::new(inputs, rows, width, width), &places.weight);
}

/// Views of position `p`, head `h` in `[rows, 3 * width]`: `part` 0 queries, 1 keys, 2 values.
pub(super) fn head_start(layout: &Layout, p: usize, h: usize, part: usize) -> usize {
    let (width, heads) = (layout.config.width, layout.config.heads);
    p * TOKENS * 3 * width + part * width + h * (width / heads)
}

fn attention(
    layout: &Layout,
    w: &Weights,
    places: &Block,
    positions: usize,
    layer: &mut LayerActivations,
) {
    let bias = &w[places.attention_bias.clone()];
    let into = if places.has_position_bias() { Into::Add } else { Into::Replace };
    let (width, heads) = (layout.config.width, layout.config.heads);
    let (dim, square) = (width / heads, TOKENS * TOKENS);
    size(&mut layer.attention, positions * heads * square);
    size(&mut layer.mixed, positions * TOKENS * width);
    for p in 0..positions {
        for h in 0..heads {
            let part =
                |i| Mat::new(&layer.qkv[head_start(layout, p, h, i)..], TOKENS, dim, 3 * width);
            let scores = &mut layer.attention[(p * heads + h) * square..][..square];
            let scale = (dim as f32).sqrt().recip();
            matmul(w.arithmetic(), scores, TOKENS, into, scale, part(0), part(1).t());
            rows::attention_softmax(scores, &bias[h * square..][..square]);
            let mixed = &mut layer.mixed[p * TOKENS * width + h * dim..];
            let weights = Mat::new(scores, TOKENS, TOKENS, TOKENS);
            matmul(w.arithmetic(), mixed, width, Into::Replace, 1.0, weights, part(2));
        }
    }
}

/// The same for play, which does not look at the weights again: a head in one pass where there is a kernel.
pub(super) fn attend(
    layout: &Layout,
    w: &Weights,
    places: &Block,
    positions: usize,
    layer: &mut LayerActivations,
) {
    #[cfg(target_arch = "x86_64")]
    if attention::takes(layout.config.width / layout.config.heads) {
        let bias = &w[places.attention_bias.clone()];
        let (width, heads) = (layout.config.width, layout.config.heads);
        let (dim, square) = (width / heads, TOKENS * TOKENS);
        size(&mut layer.mixed, positions * TOKENS * width);
        for (p, h) in (0..positions).flat_map(|p| (0..heads).map(move |h| (p, h))) {
            let dynamic = &layer.attention;
            let head = attention::Head {
                qkv: [0, 1, 2].map(|part| &layer.qkv[head_start(layout, p, h, part)..]),
                stride: 3 * width,
                dim,
                bias: &bias[h * square..][..square],
                dynamic: (places.has_position_bias())
                    .then(|| &dynamic[(p * heads + h) * square..][..square]),
            };
            let out = &mut layer.mixed[p * TOKENS * width + h * dim..];
            attention::attend(&head, &mut layer.keys, out, width);
        }
        return;
    }
    attention(layout, w, places, positions, layer);
}

pub(super) fn relu(x: &mut [f32]) {
    for x in x {
        *x = x.max(0.0);
    }
}

fn board_heads(layout: &Layout, w: &Weights, n: usize, activations: &mut Activations) {
    let channels = layout.config.value_channels;
    size(&mut activations.flat, n * TOKENS * channels);
    let rows = activations.tokens.chunks_exact(activations.columns);
    for (row, flat) in rows.zip(activations.flat.chunks_exact_mut(channels)) {
        flat.copy_from_slice(&row[layout.columns.value.clone()]);
    }
    relu(&mut activations.flat);
    linear(w, &layout.value_hidden, &activations.flat, n, &mut activations.board);
    relu(&mut activations.board);
    linear(w, &layout.value_buckets, &activations.board, n, &mut activations.value);
    linear(w, &layout.value_result, &activations.board, n, &mut activations.result);
    linear(w, &layout.value_terminal, &activations.board, n, &mut activations.terminal);
    linear(w, &layout.action_context, &activations.board, n, &mut activations.context);
    debug_assert!(
        activations.result.len() == n * RESULTS && activations.terminal.len() == n * TERMINALS
    );
}

/// The part of token `t` of position `p` that lies in `columns`.
pub(super) fn token<'a>(
    activations: &'a Activations,
    p: usize,
    t: u8,
    columns: &Range<usize>,
) -> &'a [f32] {
    let start = (p * TOKENS + usize::from(t)) * activations.columns;
    &activations.tokens[start + columns.start..start + columns.end]
}

/// Policy and action values of `items`' moves, from what a pass over the same positions left in `activations`:
/// for moves that were not known before that pass.
pub fn move_heads(layout: &Layout, w: &Weights, items: &[Item<'_>], activations: &mut Activations) {
    let (c, dim) = (&layout.columns, layout.config.action_dim);
    let count: usize = items.iter().map(|item| item.moves.len()).sum();
    let mut hidden = std::mem::take(&mut activations.hidden);
    let mut policy = std::mem::take(&mut activations.policy);
    size(&mut hidden, count * dim);
    policy.clear();
    let scale = (layout.config.policy_dim as f32).sqrt().recip();
    let mut outputs = hidden.chunks_exact_mut(dim);
    for (p, item) in items.iter().enumerate() {
        let context = &activations.context[p * dim..][..dim];
        for m in item.moves {
            let query = token(activations, p, m.from, &c.policy_from);
            let key = token(activations, p, m.to, &c.policy_to);
            let mut logit = scale * ops::dot(query, key);
            if m.promotion > 0 {
                logit += token(activations, p, m.to, &c.promotion)[usize::from(m.promotion) - 1];
            }
            policy.push(logit);
            let from = token(activations, p, m.from, &c.action_from);
            let to = token(activations, p, m.to, &c.action_to);
            let kind = &w[layout.action_promotion.start + usize::from(m.promotion) * dim..][..dim];
            if let Some(hidden) = outputs.next() {
                for i in 0..dim {
                    hidden[i] = from[i] + to[i] + context[i] + kind[i];
                }
                if let Some(share) = &layout.action_policy {
                    let shares = w[share.clone()].iter().zip(query).zip(key);
                    for (hidden, ((share, query), key)) in hidden.iter_mut().zip(shares) {
                        *hidden += share * query * key;
                    }
                }
                relu(hidden);
            }
        }
    }
    (activations.hidden, activations.policy) = (hidden, policy);
    linear(w, &layout.action_buckets, &activations.hidden, count, &mut activations.actions);
    debug_assert_eq!(activations.actions.len(), count * BUCKETS);
}

fn legality(layout: &Layout, w: &Weights, n: usize, activations: &mut Activations) {
    let (c, dim) = (&layout.columns, layout.config.legality_dim);
    let square = TOKENS * TOKENS;
    size(&mut activations.legality, n * square);
    for p in 0..n {
        let start = p * TOKENS * activations.columns;
        let side = |columns: &Range<usize>| {
            Mat::new(&activations.tokens[start + columns.start..], TOKENS, dim, activations.columns)
        };
        let out = &mut activations.legality[p * square..][..square];
        out.copy_from_slice(&w[layout.legality_bias.clone()]);
        let scale = (dim as f32).sqrt().recip();
        matmul(
            w.arithmetic(),
            out,
            TOKENS,
            Into::Add,
            scale,
            side(&c.legality_from),
            side(&c.legality_to).t(),
        );
    }
}

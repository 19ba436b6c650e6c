//! The forward pass, a few positions at a time, in scratch buffers that stay in the cache.
//!
//! Play and training share the code: training keeps one set of buffers per layer for the gradient, play reuses
//! one set for all layers.

use super::activations::{Activations, Heads, LayerActivations, size};
use super::dynamic_bias;
use super::int8_trunk;
use super::int8_trunk::Trunk8;
#[cfg(target_arch = "x86_64")]
use super::layers::map;
use super::layers::{Unit, linear, norm, project, project_onto, project_squared, relu};
#[cfg(target_arch = "x86_64")]
use super::multihead::board;
use super::multihead::{attend, position_bias, weigh};
use super::pieces::Pieces;
use super::profile::{Stage, Stages};
use super::relations::Relations;
use super::weights::Weights;
use crate::encode::Item;
use crate::encode::board::MARKS;
#[cfg(target_arch = "x86_64")]
use crate::kernels::amx::attention as amx;
#[cfg(target_arch = "x86_64")]
use crate::kernels::amx::epilogues;
use crate::kernels::gemm::{Accumulate, Mat, matmul};
use crate::kernels::ops;
use crate::net::layout::{Block, Layout, RESULTS, TERMINALS, TRANSITION_OUTPUTS};
use crate::net::{BUCKETS, TOKENS};
use std::ops::Range;

/// Runs the network on `items`. `keep_layers` keeps every layer's buffers for the gradient; int8 weights have
/// no gradient.
pub fn forward(
    layout: &Layout,
    w: &Weights,
    items: &[Item<'_>],
    heads: Heads,
    keep_layers: bool,
    activations: &mut Activations,
) {
    debug_assert!(!keep_layers || w.weights8().is_none(), "no gradient by bytes");
    debug_assert!(!keep_layers || layout.config.piece_blocks == 0, "no gradient of piece blocks");
    let mut stages = std::mem::take(&mut activations.stages);
    activations
        .layers
        .resize_with(if keep_layers { layout.blocks.len() } else { 1 }, LayerActivations::default);
    stages.begin(Stage::Embedding);
    embed(layout, w, items, &mut activations.x);
    if layout.config.relations {
        activations.relations.read(items);
    }
    let piece_blocks = layout.config.piece_blocks;
    if piece_blocks > 0 {
        activations.pieces.gather(layout, w, items, &activations.x);
    }
    for (i, _) in layout.blocks.iter().enumerate() {
        let Activations { layers, x, relations, pieces, .. } = &mut *activations;
        let layer = &mut layers[if keep_layers { i } else { 0 }];
        if i == piece_blocks && i > 0 {
            pieces.scatter(x, layout.config.width);
        }
        let mut rows = std::mem::take(if i < piece_blocks { &mut pieces.x } else { &mut *x });
        let among = (i < piece_blocks).then_some(&mut *pieces);
        match w.weights8() {
            Some(maps) => {
                let trunk = Trunk8 { layout, w, maps };
                int8_trunk::block(trunk, i, &mut rows, among, relations, layer, &mut stages);
            }
            None => {
                let trunk = Trunk { layout, w, keep: keep_layers };
                block(trunk, i, &mut rows, among, relations, layer, &mut stages);
            }
        }
        *(if i < piece_blocks { &mut pieces.x } else { x }) = rows;
    }
    activations.columns = heads.columns(layout);
    match w.weights8() {
        Some(maps) => {
            let Activations { layers, x, tokens, .. } = activations;
            let (trunk, bytes) = (Trunk8 { layout, w, maps }, &mut layers[0].bytes);
            int8_trunk::tokens(trunk, x, bytes, tokens, heads, &mut stages);
        }
        None => tokens(layout, w, activations, &mut stages),
    }
    stages.begin(Stage::Heads);
    board_heads(layout, w, items.len(), activations);
    move_heads(layout, w, items, activations);
    if heads == Heads::All {
        marks(layout, w, items, activations);
        legality(layout, w, items.len(), activations);
    }
    stages.begin(Stage::Outside);
    activations.stages = stages;
}

/// Projects each token for the heads.
fn tokens(layout: &Layout, w: &Weights, activations: &mut Activations, stages: &mut Stages) {
    let Activations { x, unit, scale, normed, scratch, tokens, columns, .. } = activations;
    stages.begin(Stage::Norm);
    norm(w, &layout.norm, x, Unit { unit, scale }, normed, scratch);
    stages.begin(Stage::Tokens);
    size(tokens, normed.rows() * *columns);
    let bias = Accumulate::Bias(&w[layout.heads.bias.clone()]);
    w.product_of_rows(tokens, *columns, bias, normed, 0..normed.rows(), &layout.heads.weight);
}

fn embed(layout: &Layout, w: &Weights, items: &[Item<'_>], x: &mut Vec<f32>) {
    let width = layout.config.width;
    size(x, items.len() * TOKENS * width);
    for (item, x) in items.iter().zip(x.chunks_exact_mut(TOKENS * width)) {
        x.copy_from_slice(&w[layout.position.clone()]);
        for (t, x) in x.chunks_exact_mut(width).enumerate() {
            item.features.embedding_rows(t, |row, factor| {
                let row = &w[layout.embed.start + row * width..][..width];
                ops::add_scaled(w.isa(), x, factor, row);
            });
        }
    }
}

/// Shared by all blocks.
#[derive(Clone, Copy)]
struct Trunk<'a> {
    /// Parameter offsets.
    layout: &'a Layout,
    w: &'a Weights,
    /// Whether attention weights are kept for the gradient.
    keep: bool,
}

fn block(
    trunk: Trunk<'_>,
    i: usize,
    x: &mut [f32],
    mut pieces: Option<&mut Pieces>,
    relations: &Relations,
    layer: &mut LayerActivations,
    stages: &mut Stages,
) {
    let Trunk { layout, w, keep } = trunk;
    let (places, width) = (&layout.blocks[i], layout.config.width);
    let rows = x.len() / width;
    stages.begin(Stage::Norm);
    let unit = Unit { unit: &mut layer.normalized1, scale: &mut layer.scale1 };
    norm(w, &places.norm1, x, unit, &mut layer.normed1, &mut layer.scratch);
    if let Some(bias) = &places.dynamic_bias {
        stages.begin(Stage::Bias);
        project(w, &bias.compress, &layer.normed1, &mut layer.bias_tokens);
        dynamic_bias::shares(w, bias, pieces.as_deref(), layer);
    }
    layer.mixed.shape(w.arithmetic(), rows, width);
    if let Some(pieces) = &mut pieces {
        stages.begin(Stage::Qkv);
        project(w, &places.qkv, &layer.normed1, &mut layer.qkv);
        stages.begin(Stage::Attention);
        let mut scratch = std::mem::take(&mut layer.scratch);
        size(&mut scratch, rows * width);
        let from = (&layer.qkv[..], &layer.bias_mix[..]);
        pieces.attend(layout, w, places, relations, from, &mut scratch);
        layer.mixed.put(0, &scratch);
        layer.scratch = scratch;
    } else if !by_tiles(trunk, places, layer, stages) {
        stages.begin(Stage::Qkv);
        project(w, &places.qkv, &layer.normed1, &mut layer.qkv);
        stages.begin(Stage::Bias);
        position_bias(layout, w, places, relations, rows / TOKENS, layer);
        stages.begin(Stage::Attention);
        let mut scratch = std::mem::take(&mut layer.scratch);
        size(&mut scratch, TOKENS * width);
        size(&mut layer.attention, rows * layout.config.heads * TOKENS);
        for p in 0..rows / TOKENS {
            if keep {
                weigh(layout, w, places, layer, p, &mut scratch);
            } else {
                attend(layout, w, places, layer, p, &mut scratch);
            }
            layer.mixed.put(p * TOKENS, &scratch);
        }
        layer.scratch = scratch;
    }
    stages.begin(Stage::Output);
    project_onto(w, &places.out, &layer.mixed, 0..rows, x);
    stages.begin(Stage::Norm);
    let unit = Unit { unit: &mut layer.normalized2, scale: &mut layer.scale2 };
    norm(w, &places.norm2, x, unit, &mut layer.normed2, &mut layer.scratch);

    let ffn = places.up.bias.len();
    layer.squared.shape(w.arithmetic(), rows, ffn);
    for (p, x) in x.chunks_mut(TOKENS * width).enumerate() {
        let rows = p * TOKENS..p * TOKENS + x.len() / width;
        let (normed, squared, wide_scratch) =
            (&layer.normed2, &mut layer.squared, &mut layer.wide_scratch);
        project_squared(w, &places.up, normed, rows.clone(), squared, wide_scratch, stages);
        stages.begin(Stage::Down);
        project_onto(w, &places.down, &layer.squared, rows, x);
    }
}

/// Attention of all positions by AMX, from `layer.normed1` to `layer.mixed`; false without AMX.
fn by_tiles(
    trunk: Trunk<'_>,
    places: &Block,
    layer: &mut LayerActivations,
    stages: &mut Stages,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let Trunk { layout, w, keep } = trunk;
        let positions = layer.normed1.rows() / TOKENS;
        // Put back only when it is filled completely.
        let mut kept = layer.kept.take().unwrap_or_default();
        for p in 0..positions {
            let at = (p, positions);
            let Some(board) = board(layout, w, places, &layer.bias_mix, at) else { return false };
            stages.begin(Stage::Qkv);
            kept.hold(board.heads, board.dim, positions);
            let (scale, parts) = kept.parts(p);
            let rows = p * TOKENS..(p + 1) * TOKENS;
            if !epilogues::heads(map(w, &places.qkv), &layer.normed1, rows, scale, parts) {
                return false;
            }
            layer.board.pack(kept.heads(p));
            let weights = keep.then(|| kept.weights(p));
            stages.begin(Stage::Attention);
            let mixed = &mut layer.mixed;
            amx::attend(&board, &mut layer.board, weights, &mut |first, rows| {
                mixed.put(p * TOKENS + first, rows);
            });
        }
        layer.kept = Some(kept);
        true
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (trunk, places, layer, stages);
        false
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

/// `columns` of token `t` of position `p`.
pub(super) fn token<'a>(
    activations: &'a Activations,
    p: usize,
    t: u8,
    columns: &Range<usize>,
) -> &'a [f32] {
    let start = (p * TOKENS + usize::from(t)) * activations.columns;
    &activations.tokens[start + columns.start..start + columns.end]
}

/// Policy and action values of `items`' moves from the activations of a pass over the same positions, for moves
/// that were unknown before that pass.
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
            let mut logit = scale * ops::dot(w.isa(), query, key);
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

/// Adds the square marks' contribution to the transition logits.
fn marks(layout: &Layout, w: &Weights, items: &[Item<'_>], activations: &mut Activations) {
    let Some(table) = &layout.transition_marks else { return };
    let (columns, table) = (activations.columns, &w[table.clone()]);
    for (item, rows) in items.iter().zip(activations.tokens.chunks_exact_mut(TOKENS * columns)) {
        for (t, row) in rows.chunks_exact_mut(columns).enumerate() {
            if let Some(mark) = item.features.mark(t) {
                let added = &table[(t * MARKS + mark) * TRANSITION_OUTPUTS..][..TRANSITION_OUTPUTS];
                ops::add_scaled(w.isa(), &mut row[layout.columns.transition.clone()], 1.0, added);
            }
        }
    }
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
            w.method(),
            out,
            TOKENS,
            Accumulate::Add,
            scale,
            side(&c.legality_from),
            side(&c.legality_to).t(),
        );
    }
}

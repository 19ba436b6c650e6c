//! The forward pass, a few positions at a time, in scratch buffers that stay in the cache.
//!
//! Play and training share the code: training keeps one set of buffers per layer for the gradient, play reuses
//! one set for all layers.

use super::activations::{Activations, FloatLayer, HeadBuffers, Heads, Normalized, Tokens, size};
use super::dynamic_bias;
use super::int8_trunk;
use super::int8_trunk::Trunk8;
#[cfg(target_arch = "x86_64")]
use super::layers::map;
use super::layers::{linear, norm, project, project_onto, project_squared, relu};
#[cfg(target_arch = "x86_64")]
use super::multihead;
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
use crate::kernels::amx::{epilogues, gradient};
#[cfg(target_arch = "x86_64")]
use crate::kernels::gemm::Operand;
use crate::kernels::gemm::{Accumulate, Mat, matmul};
use crate::kernels::ops;
use crate::net::layout::{BlockLayout, Layout, RESULTS, TERMINALS, TRANSITION_OUTPUTS};
use crate::net::{BUCKETS, TOKENS};
use std::ops::Range;

/// Computes one block: its number, its rows, and the pieces if they alone have rows.
type BlockPass<'a> = dyn FnMut(usize, &mut [f32], Option<&mut Pieces>) + 'a;

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
    debug_assert!(!keep_layers || layout.config.piece_blocks == 0, "no gradient of piece blocks");
    let Activations {
        layers,
        int8,
        relations,
        pieces,
        x,
        piece_rows,
        norm,
        scratch,
        tokens,
        stages,
        ..
    } = &mut *activations;
    stages.begin(Stage::Embedding);
    embed(layout, w, items, x);
    if layout.config.relations {
        relations.read(items);
    }
    let piece_blocks = layout.config.piece_blocks;
    if piece_blocks > 0 {
        pieces.gather(layout, w, items, x, piece_rows);
    }
    tokens.columns = heads.columns(layout);
    // Each block's number and rows, and the pieces if they alone have rows.
    let mut each = |block: &mut BlockPass<'_>| {
        for i in 0..piece_blocks {
            block(i, piece_rows, Some(pieces));
        }
        if piece_blocks > 0 {
            pieces.scatter(piece_rows, x, layout.config.width);
        }
        for i in piece_blocks..layout.blocks.len() {
            block(i, x, None);
        }
    };
    match w.weights8() {
        Some(maps) => {
            debug_assert!(!keep_layers, "no gradient by bytes");
            let trunk = Trunk8 { layout, w, maps };
            each(&mut |i, rows, pieces| {
                int8_trunk::block(trunk, i, rows, pieces, relations, int8, stages);
            });
            int8_trunk::tokens(trunk, x, &mut int8.normed, tokens, stages);
        }
        None => {
            let count = if keep_layers { layout.blocks.len() } else { 1 };
            layers.resize_with(count, FloatLayer::default);
            let trunk = BlockContext { layout, w, keep: keep_layers };
            each(&mut |i, rows, pieces| {
                let layer = &mut layers[if keep_layers { i } else { 0 }];
                block(trunk, i, rows, pieces, relations, layer, stages);
            });
            project_tokens(layout, w, x, norm, scratch, tokens, stages);
        }
    }
    stages.begin(Stage::Heads);
    board_heads(layout, w, items.len(), activations);
    move_heads(layout, w, items, activations);
    if heads == Heads::All {
        marks(layout, w, items, &mut activations.tokens);
        legality(layout, w, items.len(), activations);
    }
    activations.stages.begin(Stage::Outside);
}

/// Projects each token for the heads.
fn project_tokens(
    layout: &Layout,
    w: &Weights,
    x: &[f32],
    normed: &mut Normalized,
    scratch: &mut Vec<f32>,
    tokens: &mut Tokens,
    stages: &mut Stages,
) {
    stages.begin(Stage::Norm);
    norm(w, &layout.norm, x, normed, scratch);
    stages.begin(Stage::Tokens);
    let (Tokens { rows, columns }, normed) = (tokens, &normed.out);
    size(rows, normed.rows() * *columns);
    let bias = Accumulate::Bias(&w[layout.heads.bias.clone()]);
    w.product_of_rows(rows, *columns, bias, normed, 0..normed.rows(), &layout.heads.weight);
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
struct BlockContext<'a> {
    /// Parameter offsets.
    layout: &'a Layout,
    w: &'a Weights,
    /// Whether attention weights are kept for the gradient.
    keep: bool,
}

fn block(
    trunk: BlockContext<'_>,
    i: usize,
    x: &mut [f32],
    mut pieces: Option<&mut Pieces>,
    relations: &Relations,
    layer: &mut FloatLayer,
    stages: &mut Stages,
) {
    let BlockContext { layout, w, keep } = trunk;
    let (places, width) = (&layout.blocks[i], layout.config.width);
    let rows = x.len() / width;
    stages.begin(Stage::Norm);
    norm(w, &places.norm1, x, &mut layer.norm1, &mut layer.scratch);
    if let Some(bias) = &places.dynamic_bias {
        stages.begin(Stage::Bias);
        project(w, &bias.compress, &layer.norm1.out, &mut layer.attention.bias_tokens);
        dynamic_bias::shares(w, bias, pieces.as_deref(), &mut layer.attention);
    }
    layer.mixed.shape(w.arithmetic(), rows, width);
    if pieces.is_some() || !by_tiles(trunk, places, layer, stages) {
        let FloatLayer { norm1, attention, mixed, scratch, .. } = &mut *layer;
        stages.begin(Stage::Qkv);
        project(w, &places.qkv, &norm1.out, &mut attention.qkv);
        if let Some(pieces) = &mut pieces {
            stages.begin(Stage::Attention);
            size(scratch, rows * width);
            let from = (&attention.qkv[..], &attention.bias_mix[..]);
            pieces.attend(layout, w, places, relations, from, scratch);
            mixed.put(0, scratch);
        } else {
            stages.begin(Stage::Bias);
            position_bias(layout, w, places, relations, rows / TOKENS, attention);
            stages.begin(Stage::Attention);
            size(scratch, TOKENS * width);
            size(&mut attention.weights, rows * layout.config.heads * TOKENS);
            for p in 0..rows / TOKENS {
                if keep {
                    weigh(layout, w, places, attention, p, scratch);
                } else {
                    attend(layout, w, places, attention, p, scratch);
                }
                mixed.put(p * TOKENS, scratch);
            }
        }
    }
    stages.begin(Stage::Output);
    project_onto(w, &places.out, &layer.mixed, 0..rows, x);
    stages.begin(Stage::Norm);
    norm(w, &places.norm2, x, &mut layer.norm2, &mut layer.scratch);

    let FloatLayer { norm2, squared, wide_scratch, .. } = layer;
    squared.shape(w.arithmetic(), rows, places.up.bias.len());
    for (p, x) in x.chunks_mut(TOKENS * width).enumerate() {
        let rows = p * TOKENS..p * TOKENS + x.len() / width;
        project_squared(w, &places.up, &norm2.out, rows.clone(), squared, wide_scratch, stages);
        stages.begin(Stage::Down);
        project_onto(w, &places.down, squared, rows, x);
    }
}

/// Attention of all positions by AMX, from `layer.norm1` to `layer.mixed`; false without AMX.
fn by_tiles(
    trunk: BlockContext<'_>,
    places: &BlockLayout,
    layer: &mut FloatLayer,
    stages: &mut Stages,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let BlockContext { layout, w, keep } = trunk;
        let FloatLayer { norm1, attention, mixed, kept, .. } = layer;
        let positions = norm1.out.rows() / TOKENS;
        // Put back only when it is filled completely.
        let held = kept.take().unwrap_or_default();
        let qkv = map(w, &places.qkv);
        let mut work = Tiles { qkv, normed: &norm1.out, positions, kept: held, keep, mixed };
        if !multihead::by_tiles(layout, w, places, attention, positions, &mut work, stages) {
            return false;
        }
        *kept = Some(work.kept);
        true
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (trunk, places, layer, stages);
        false
    }
}

/// Attention by AMX in bf16.
#[cfg(target_arch = "x86_64")]
struct Tiles<'a> {
    qkv: epilogues::Map<'a>,
    normed: &'a Operand,
    positions: usize,
    kept: gradient::KeptOperands,
    /// Whether the weights are kept, too.
    keep: bool,
    mixed: &'a mut Operand,
}

#[cfg(target_arch = "x86_64")]
impl multihead::ByTiles for Tiles<'_> {
    fn pack(
        &mut self,
        p: usize,
        board: &amx::Board<'_>,
        packed: &mut amx::AttentionScratch,
    ) -> bool {
        self.kept.hold(board.heads, board.dim, self.positions);
        let (scale, parts) = self.kept.parts(p);
        let rows = p * TOKENS..(p + 1) * TOKENS;
        if !epilogues::heads(self.qkv, self.normed, rows, scale, parts) {
            return false;
        }
        packed.pack(self.kept.heads(p));
        true
    }

    fn attend(&mut self, p: usize, board: &amx::Board<'_>, packed: &mut amx::AttentionScratch) {
        let weights = self.keep.then(|| self.kept.weights(p));
        amx::attend(board, packed, weights, &mut |first, rows| {
            self.mixed.put(p * TOKENS + first, rows);
        });
    }
}

fn board_heads(layout: &Layout, w: &Weights, n: usize, activations: &mut Activations) {
    let Activations { tokens, heads, logits, .. } = activations;
    let channels = layout.config.value_channels;
    size(&mut heads.flat, n * TOKENS * channels);
    let rows = tokens.rows.chunks_exact(tokens.columns);
    for (row, flat) in rows.zip(heads.flat.chunks_exact_mut(channels)) {
        flat.copy_from_slice(&row[layout.columns.value.clone()]);
    }
    relu(&mut heads.flat);
    linear(w, &layout.value_hidden, &heads.flat, n, &mut heads.board);
    relu(&mut heads.board);
    linear(w, &layout.value_buckets, &heads.board, n, &mut logits.value);
    linear(w, &layout.value_result, &heads.board, n, &mut logits.result);
    linear(w, &layout.value_terminal, &heads.board, n, &mut logits.terminal);
    linear(w, &layout.action_context, &heads.board, n, &mut heads.context);
    debug_assert!(logits.result.len() == n * RESULTS && logits.terminal.len() == n * TERMINALS);
}

/// Policy and action values of `items`' moves from the activations of a pass over the same positions, for moves
/// that were unknown before that pass.
pub fn move_heads(layout: &Layout, w: &Weights, items: &[Item<'_>], activations: &mut Activations) {
    let Activations { tokens, heads: HeadBuffers { context, hidden, .. }, logits, .. } =
        activations;
    let (c, dim) = (&layout.columns, layout.config.action_dim);
    let count: usize = items.iter().map(|item| item.moves.len()).sum();
    size(hidden, count * dim);
    logits.policy.clear();
    let scale = (layout.config.policy_dim as f32).sqrt().recip();
    let mut outputs = hidden.chunks_exact_mut(dim);
    for (p, item) in items.iter().enumerate() {
        let context = &context[p * dim..][..dim];
        for m in item.moves {
            let query = tokens.of(p, m.from, &c.policy_from);
            let key = tokens.of(p, m.to, &c.policy_to);
            let mut logit = scale * ops::dot(w.isa(), query, key);
            if m.promotion > 0 {
                logit += tokens.of(p, m.to, &c.promotion)[usize::from(m.promotion) - 1];
            }
            logits.policy.push(logit);
            let from = tokens.of(p, m.from, &c.action_from);
            let to = tokens.of(p, m.to, &c.action_to);
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
    linear(w, &layout.action_buckets, hidden, count, &mut logits.actions);
    debug_assert_eq!(logits.actions.len(), count * BUCKETS);
}

/// Adds the square marks' contribution to the transition logits.
fn marks(layout: &Layout, w: &Weights, items: &[Item<'_>], tokens: &mut Tokens) {
    let Some(table) = &layout.transition_marks else { return };
    let (Tokens { rows, columns }, table) = (tokens, &w[table.clone()]);
    for (item, rows) in items.iter().zip(rows.chunks_exact_mut(TOKENS * *columns)) {
        for (t, row) in rows.chunks_exact_mut(*columns).enumerate() {
            if let Some(mark) = item.features.mark(t) {
                let added = &table[(t * MARKS + mark) * TRANSITION_OUTPUTS..][..TRANSITION_OUTPUTS];
                ops::add_scaled(w.isa(), &mut row[layout.columns.transition.clone()], 1.0, added);
            }
        }
    }
}

fn legality(layout: &Layout, w: &Weights, n: usize, activations: &mut Activations) {
    let (c, dim) = (&layout.columns, layout.config.legality_dim);
    let Activations { tokens: Tokens { rows, columns: stride }, logits, .. } = activations;
    let square = TOKENS * TOKENS;
    size(&mut logits.legality, n * square);
    for p in 0..n {
        let start = p * TOKENS * *stride;
        let side =
            |columns: &Range<usize>| Mat::new(&rows[start + columns.start..], TOKENS, dim, *stride);
        let out = &mut logits.legality[p * square..][..square];
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

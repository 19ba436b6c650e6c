//! The blocks of the network with int8 weights, for play only: nothing is kept for a gradient.
//!
//! Products with weights are in int8; attention and the dynamic bias use the fastest arithmetic; residual sums
//! and normalisation are in single precision. The producer of a product's input quantizes it in the same pass.

use super::activations::{Heads, LayerActivations, size};
use super::dynamic_bias;
use super::int8_weights::Weights8;
#[cfg(target_arch = "x86_64")]
use super::multihead::board;
use super::multihead::{attend, position_bias};
use super::pieces::Pieces;
use super::profile::{Stage, Stages};
use super::relations::Relations;
use super::weights::Weights;
#[cfg(target_arch = "x86_64")]
use crate::kernels::amx::attention as amx;
use crate::kernels::gemm::int8::{Finish, Kernel, Linear8, Rows, Sign};
use crate::net::TOKENS;
use crate::net::layout::Layout;
use crate::net::params::Norm;

/// Rows per pass through the FFN: they stay in L1 and L2.
const ROWS_PER_PASS: usize = 64;

/// Shared by all blocks.
#[derive(Clone, Copy)]
pub(super) struct Trunk8<'a> {
    /// Parameter offsets.
    pub layout: &'a Layout,
    /// Parameters that are not in int8.
    pub w: &'a Weights,
    /// Weights in int8.
    pub maps: &'a Weights8,
}

/// Block `i`, in place on `x`, `[rows, width]`: the rows of all squares, or of `pieces`.
pub(super) fn block(
    trunk: Trunk8<'_>,
    i: usize,
    x: &mut [f32],
    mut pieces: Option<&mut Pieces>,
    relations: &Relations,
    layer: &mut LayerActivations,
    stages: &mut Stages,
) {
    let Trunk8 { layout, w, maps } = trunk;
    let (places, width) = (&layout.blocks[i], layout.config.width);
    let (kernel, maps) = (maps.kernel, &maps.blocks[i]);
    let rows = x.len() / width;
    let mut bytes = std::mem::take(&mut layer.bytes);

    stages.begin(Stage::Norm);
    norm(kernel, w, &places.norm1, x, &mut bytes);
    if let (Some(bias), Some(compress)) = (&places.dynamic_bias, &maps.compress) {
        stages.begin(Stage::Bias);
        let channels = bias.compress.bias.len();
        size(&mut layer.bias_tokens, rows * channels);
        compress.apply(&bytes, &mut layer.bias_tokens, channels, channels, Finish::Replace);
        dynamic_bias::shares(w, bias, pieces.as_deref(), layer);
    }
    if pieces.is_some() || !by_tiles(trunk, i, &bytes, rows, layer, stages) {
        stages.begin(Stage::Qkv);
        size(&mut layer.qkv, rows * 3 * width);
        maps.qkv.apply(&bytes, &mut layer.qkv, 3 * width, 3 * width, Finish::Replace);
        let mut scratch = std::mem::take(&mut layer.scratch);
        size(&mut scratch, rows * width);
        if let Some(pieces) = &mut pieces {
            stages.begin(Stage::Attention);
            let from = (&layer.qkv[..], &layer.bias_mix[..]);
            pieces.attend(layout, w, places, relations, from, &mut scratch);
        } else {
            stages.begin(Stage::Bias);
            position_bias(layout, w, places, relations, rows / TOKENS, layer);
            stages.begin(Stage::Attention);
            for (p, mixed) in scratch.chunks_exact_mut(TOKENS * width).enumerate() {
                attend(layout, w, places, layer, p, mixed);
            }
        }
        stages.begin(Stage::Output);
        layer.mixed8.round(kernel, Sign::Either, &scratch, width);
        layer.scratch = scratch;
    }
    let mixed = std::mem::take(&mut layer.mixed8);
    for (i, x) in x.chunks_mut(ROWS_PER_PASS * width).enumerate() {
        let rows = x.len() / width;
        stages.begin(Stage::Output);
        maps.out.apply_to(
            &mixed,
            i * ROWS_PER_PASS..i * ROWS_PER_PASS + rows,
            x,
            width,
            width,
            Finish::Add,
        );
        stages.begin(Stage::Norm);
        norm(kernel, w, &places.norm2, x, &mut bytes);
        squares(&maps.up, kernel, &bytes, rows, layer, stages);
        stages.begin(Stage::Down);
        maps.down.apply(&layer.squared8, x, width, width, Finish::Add);
    }
    (layer.bytes, layer.mixed8) = (bytes, mixed);
}

/// Squared ReLU of a product, quantized as the next product's input.
fn squares(
    map: &Linear8,
    kernel: Kernel,
    bytes: &Rows,
    rows: usize,
    layer: &mut LayerActivations,
    stages: &mut Stages,
) {
    stages.begin(Stage::Up);
    let ffn = map.outputs();
    #[cfg(target_arch = "x86_64")]
    if map.by_blocks() && ffn.is_multiple_of(64) {
        map.squared(bytes, &mut layer.halves);
        stages.begin(Stage::Activation);
        return layer.squared8.round_halves(kernel, &layer.halves, rows, ffn);
    }
    size(&mut layer.wide_scratch, rows * ffn);
    map.apply(bytes, &mut layer.wide_scratch, ffn, ffn, Finish::SquaredRelu);
    stages.begin(Stage::Activation);
    layer.squared8.round(kernel, Sign::Positive, &layer.wide_scratch, ffn);
}

/// Attention of all positions by AMX, from `bytes`, normalised, to the quantized input of the next product;
/// false without AMX.
fn by_tiles(
    trunk: Trunk8<'_>,
    i: usize,
    bytes: &Rows,
    rows: usize,
    layer: &mut LayerActivations,
    stages: &mut Stages,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let Trunk8 { layout, w, maps } = trunk;
        let (places, width) = (&layout.blocks[i], layout.config.width);
        let (kernel, qkv) = (maps.kernel, &maps.blocks[i].qkv);
        let positions = rows / TOKENS;
        if !qkv.by_blocks() {
            return false;
        }
        layer.mixed8.hold(kernel, Sign::Either, rows, width);
        for p in 0..positions {
            let at = (p, positions);
            let Some(board) = board(layout, w, places, &layer.bias_mix, at) else { return false };
            stages.begin(Stage::Qkv);
            qkv.heads(bytes, p, layer.board.heads(board.heads));
            stages.begin(Stage::Attention);
            let next = &mut layer.mixed8;
            amx::attend(&board, &mut layer.board, None, &mut |first, mixed| {
                next.put(kernel, p * TOKENS + first, mixed, width);
            });
        }
        true
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (trunk, i, bytes, rows, layer, stages);
        false
    }
}

fn norm(kernel: Kernel, w: &Weights, places: &Norm, x: &[f32], bytes: &mut Rows) {
    bytes.normalise(kernel, x, &w[places.gamma.clone()], &w[places.beta.clone()]);
}

/// Projects each token for the heads, `columns` wide.
pub(super) fn tokens(
    trunk: Trunk8<'_>,
    x: &[f32],
    bytes: &mut Rows,
    tokens: &mut Vec<f32>,
    heads: Heads,
    stages: &mut Stages,
) {
    let Trunk8 { layout, w, maps } = trunk;
    stages.begin(Stage::Norm);
    norm(maps.kernel, w, &layout.norm, x, bytes);
    stages.begin(Stage::Tokens);
    let columns = heads.columns(layout);
    size(tokens, x.len() / layout.config.width * columns);
    maps.heads.apply(bytes, tokens, columns, columns, Finish::Replace);
}

//! The blocks of the network with int8 weights, for play only: nothing is kept for a gradient.
//!
//! Products with weights are in int8; attention and the dynamic bias use the fastest arithmetic; residual sums
//! and normalisation are in single precision. The producer of a product's input quantizes it in the same pass.

use super::activations::{Int8Layer, Int8Squares, Tokens, size};
use super::dynamic_bias;
use super::int8_weights::Weights8;
#[cfg(target_arch = "x86_64")]
use super::multihead;
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
    layer: &mut Int8Layer,
    stages: &mut Stages,
) {
    let Trunk8 { layout, w, maps } = trunk;
    let (places, width) = (&layout.blocks[i], layout.config.width);
    let (kernel, maps) = (maps.kernel, &maps.blocks[i]);
    let rows = x.len() / width;

    stages.begin(Stage::Norm);
    norm(kernel, w, &places.norm1, x, &mut layer.normed);
    if let (Some(bias), Some(compress)) = (&places.dynamic_bias, &maps.compress) {
        stages.begin(Stage::Bias);
        let (channels, tokens) = (bias.compress.bias.len(), &mut layer.attention.bias_tokens);
        size(tokens, rows * channels);
        compress.apply(&layer.normed, tokens, channels, channels, Finish::Replace);
        dynamic_bias::shares(w, bias, pieces.as_deref(), &mut layer.attention);
    }
    if pieces.is_some() || !by_tiles(trunk, i, rows, layer, stages) {
        let Int8Layer { normed, attention, mixed, scratch, .. } = &mut *layer;
        stages.begin(Stage::Qkv);
        size(&mut attention.qkv, rows * 3 * width);
        maps.qkv.apply(normed, &mut attention.qkv, 3 * width, 3 * width, Finish::Replace);
        size(scratch, rows * width);
        if let Some(pieces) = &mut pieces {
            stages.begin(Stage::Attention);
            let from = (&attention.qkv[..], &attention.bias_mix[..]);
            pieces.attend(layout, w, places, relations, from, scratch);
        } else {
            stages.begin(Stage::Bias);
            position_bias(layout, w, places, relations, rows / TOKENS, attention);
            stages.begin(Stage::Attention);
            for (p, mixed) in scratch.chunks_exact_mut(TOKENS * width).enumerate() {
                attend(layout, w, places, attention, p, mixed);
            }
        }
        stages.begin(Stage::Output);
        mixed.round(kernel, Sign::Either, scratch, width);
    }
    let Int8Layer { normed, mixed, squares, .. } = layer;
    for (i, x) in x.chunks_mut(ROWS_PER_PASS * width).enumerate() {
        let rows = x.len() / width;
        stages.begin(Stage::Output);
        maps.out.apply_to(
            mixed,
            i * ROWS_PER_PASS..i * ROWS_PER_PASS + rows,
            x,
            width,
            width,
            Finish::Add,
        );
        stages.begin(Stage::Norm);
        norm(kernel, w, &places.norm2, x, normed);
        square(&maps.up, kernel, normed, rows, squares, stages);
        stages.begin(Stage::Down);
        maps.down.apply(&squares.bytes, x, width, width, Finish::Add);
    }
}

/// Squared ReLU of a product, quantized as the next product's input.
fn square(
    map: &Linear8,
    kernel: Kernel,
    normed: &Rows,
    rows: usize,
    squares: &mut Int8Squares,
    stages: &mut Stages,
) {
    stages.begin(Stage::Up);
    let ffn = map.outputs();
    #[cfg(target_arch = "x86_64")]
    if map.by_blocks() && ffn.is_multiple_of(64) {
        map.squared(normed, &mut squares.halves);
        stages.begin(Stage::Activation);
        return squares.bytes.round_halves(kernel, &squares.halves, rows, ffn);
    }
    size(&mut squares.floats, rows * ffn);
    map.apply(normed, &mut squares.floats, ffn, ffn, Finish::SquaredRelu);
    stages.begin(Stage::Activation);
    squares.bytes.round(kernel, Sign::Positive, &squares.floats, ffn);
}

/// Attention of all positions by AMX, from `layer.normed` to `layer.mixed`; false without AMX.
fn by_tiles(
    trunk: Trunk8<'_>,
    i: usize,
    rows: usize,
    layer: &mut Int8Layer,
    stages: &mut Stages,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let Trunk8 { layout, w, maps } = trunk;
        let (kernel, qkv) = (maps.kernel, &maps.blocks[i].qkv);
        let Int8Layer { normed, attention, mixed, .. } = layer;
        if !qkv.by_blocks() {
            return false;
        }
        mixed.hold(kernel, Sign::Either, rows, layout.config.width);
        let mut work = Tiles8 { kernel, qkv, normed, mixed };
        let places = &layout.blocks[i];
        multihead::by_tiles(layout, w, places, attention, rows / TOKENS, &mut work, stages)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (trunk, i, rows, layer, stages);
        false
    }
}

/// Attention by AMX from bytes to bytes.
#[cfg(target_arch = "x86_64")]
struct Tiles8<'a> {
    kernel: Kernel,
    qkv: &'a Linear8,
    normed: &'a Rows,
    mixed: &'a mut Rows,
}

#[cfg(target_arch = "x86_64")]
impl multihead::ByTiles for Tiles8<'_> {
    fn pack(
        &mut self,
        p: usize,
        board: &amx::Board<'_>,
        packed: &mut amx::AttentionScratch,
    ) -> bool {
        self.qkv.heads(self.normed, p, packed.heads(board.heads));
        true
    }

    fn attend(&mut self, p: usize, board: &amx::Board<'_>, packed: &mut amx::AttentionScratch) {
        let width = board.heads * board.dim;
        amx::attend(board, packed, None, &mut |first, rows| {
            self.mixed.put(self.kernel, p * TOKENS + first, rows, width);
        });
    }
}

fn norm(kernel: Kernel, w: &Weights, places: &Norm, x: &[f32], to: &mut Rows) {
    to.normalise(kernel, x, &w[places.gamma.clone()], &w[places.beta.clone()]);
}

/// Projects each token for the heads.
pub(super) fn tokens(
    trunk: Trunk8<'_>,
    x: &[f32],
    normed: &mut Rows,
    tokens: &mut Tokens,
    stages: &mut Stages,
) {
    let Trunk8 { layout, w, maps } = trunk;
    stages.begin(Stage::Norm);
    norm(maps.kernel, w, &layout.norm, x, normed);
    stages.begin(Stage::Tokens);
    let Tokens { rows, columns } = tokens;
    size(rows, x.len() / layout.config.width * *columns);
    maps.heads.apply(normed, rows, *columns, *columns, Finish::Replace);
}

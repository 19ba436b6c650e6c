//! The trunk: squares become tokens, and blocks of attention and FFN refine them, in single precision. A GPU may
//! multiply in tf32. bf16 was slower there: the casts are kernels of their own, and starting kernels is what takes
//! the time (`docs/src/speed.md`).

use super::config::TOKENS;
use super::inputs::Inputs;
use super::layout::{self, Layout};
use super::loader::Loader;
use crate::encode::relations::ATTACKS;
use burn::module::{Module, Param};
use burn::nn::{LayerNorm, Linear};
use burn::tensor::{Tensor, activation};

/// From embedding rows to normalised tokens.
#[derive(Module, Debug)]
pub struct Trunk {
    /// `[EMBEDDING_ROWS, width]`.
    embed: Param<Tensor<2>>,
    /// `[64, width]`.
    position: Param<Tensor<2>>,
    /// `[rank, 4096]`: patterns of the dynamic attention bias.
    bias_basis: Option<Param<Tensor<2>>>,
    blocks: Vec<Block>,
    norm: LayerNorm,
    /// The first blocks, which only occupied and flagged squares enter.
    #[module(skip)]
    pub(super) piece_blocks: usize,
}

/// One pre-norm block: attention, then FFN, each with a residual.
#[derive(Module, Debug)]
struct Block {
    norm1: LayerNorm,
    /// Queries of all heads, then keys, then values.
    qkv: Linear,
    /// `[heads, 64, 64]`: static bias by query and key square.
    attention_bias: Param<Tensor<3>>,
    dynamic_bias: Option<DynamicBias>,
    /// `[heads, 2, ATTACKS]`: bias of an attack, from the attacker's square and from the attacked one.
    relations: Option<Param<Tensor<3>>>,
    out: Linear,
    norm2: LayerNorm,
    up: Linear,
    down: Linear,
}

/// Inputs of all blocks beside the tokens.
struct Board {
    /// `[rank, 4096]`.
    basis: Option<Tensor<2>>,
    /// `[n, 4096, ATTACKS]`: one-hot (attacker, attacked).
    attacks: Option<Tensor<3>>,
    /// `[n, 64, 1]`: 1 for a token that takes part, else 0. None: all do.
    present: Option<Tensor<3>>,
}

/// Attention bias of a token that does not take part.
const ABSENT: f32 = -1e4;

/// Position-dependent part of a block's attention bias.
#[derive(Module, Debug)]
struct DynamicBias {
    compress: Linear,
    hidden: Linear,
    mix: Linear,
}

impl Trunk {
    pub(super) fn load(layout: &Layout, from: &Loader) -> Trunk {
        let width = layout.config.width;
        Trunk {
            embed: from.param(&layout.embed, [layout.embed.len() / width, width]),
            position: from.param(&layout.position, [TOKENS, width]),
            bias_basis: layout
                .config
                .dynamic_bias
                .map(|sizes| from.param(&layout.bias_basis, [sizes.rank, TOKENS * TOKENS])),
            blocks: layout
                .blocks
                .iter()
                .map(|b| Block::load(b, layout.config.heads, from))
                .collect(),
            norm: from.norm(&layout.norm),
            piece_blocks: layout.config.piece_blocks,
        }
    }

    /// Whether the blocks use attack relations.
    pub(super) fn reads_attacks(&self) -> bool {
        self.blocks.iter().any(|block| block.relations.is_some())
    }

    /// Tokens, `[n, 64, width]`.
    #[must_use]
    pub fn forward(&self, inputs: &Inputs) -> Tensor<3> {
        let squares = inputs.squares.clone().matmul(self.embed.val().unsqueeze());
        let x = squares + self.position.val().unsqueeze();
        let basis = self.bias_basis.as_ref().map(Param::val);
        let mut board = Board { basis, attacks: inputs.attacks(), present: None };
        let (first, last) = self.blocks.split_at(self.piece_blocks);
        let run = |blocks: &[Block], x: Tensor<3>, board: &Board| {
            blocks.iter().fold(x, |x, block| block.forward(x, board))
        };
        let x = match inputs.occupied.clone().filter(|_| !first.is_empty()) {
            None => x,
            // All 64 tokens are computed: this is the reference, `cpu` leaves the absent ones out.
            Some(present) => {
                board.present = Some(present.clone());
                let pieces = run(first, x.clone(), &board);
                board.present = None;
                x.clone() + (pieces - x) * present
            }
        };
        self.norm.forward(run(last, x, &board))
    }
}

impl Block {
    fn load(places: &layout::BlockLayout, heads: usize, from: &Loader) -> Block {
        Block {
            norm1: from.norm(&places.norm1),
            qkv: from.linear(&places.qkv),
            attention_bias: from.param(&places.attention_bias, [heads, TOKENS, TOKENS]),
            dynamic_bias: places.dynamic_bias.as_ref().map(|bias| DynamicBias {
                compress: from.linear(&bias.compress),
                hidden: from.linear(&bias.hidden),
                mix: from.linear(&bias.mix),
            }),
            relations: (places.relations.as_ref())
                .map(|range| from.param(range, [heads, 2, ATTACKS])),
            out: from.linear(&places.out),
            norm2: from.norm(&places.norm2),
            up: from.linear(&places.up),
            down: from.linear(&places.down),
        }
    }

    /// `[n, 64, width]` to the same.
    fn forward(&self, x: Tensor<3>, board: &Board) -> Tensor<3> {
        let attended = self.attention(self.norm1.forward(x.clone()), board);
        let x = x + self.out.forward(attended);
        let up = activation::relu(self.up.forward(self.norm2.forward(x.clone())));
        // Squared ReLU (So et al. 2021, "Primer"); its gradient needs no power function.
        x + self.down.forward(up.clone() * up)
    }

    /// `[n, 64, width]` to the concatenated head outputs, `[n, 64, width]`.
    ///
    /// Unfused: burn's fused attention is slower on the CPU and its gradient is unfused anyway.
    fn attention(&self, x: Tensor<3>, board: &Board) -> Tensor<3> {
        let [n, tokens, width] = x.dims();
        let [heads, _, _] = self.attention_bias.dims();
        let dim = width / heads;
        let bias = self.attention_bias.val().unsqueeze();
        let bias = match (&self.dynamic_bias, &board.basis) {
            (Some(dynamic), Some(basis)) => {
                bias + dynamic.forward(x.clone(), heads, board.present.as_ref(), basis)
            }
            _ => bias,
        };
        let bias = match (&self.relations, &board.attacks) {
            (Some(table), Some(attacks)) => bias + related(table.val(), attacks),
            _ => bias,
        };
        let bias = match &board.present {
            // [n, 1, 1, 64], by key.
            Some(present) => {
                bias + ((present.clone() - 1.0) * -ABSENT).swap_dims(1, 2).unsqueeze_dim::<4>(1)
            }
            None => bias,
        };
        // [n, 3 * heads, 64, dim]
        let qkv = self.qkv.forward(x).reshape([n, tokens, 3 * heads, dim]).swap_dims(1, 2);
        let part = |i| qkv.clone().narrow(1, i * heads, heads);
        let scale = (dim as f32).sqrt().recip();
        // [n, heads, 64, 64]
        let scores = part(0).matmul(part(1).swap_dims(2, 3)) * scale;
        let weights = activation::softmax(scores + bias, 3);
        weights.matmul(part(2)).swap_dims(1, 2).reshape([n, tokens, width])
    }
}

/// Attention bias by attacks, `[n, heads, 64, 64]`; `table` is `[heads, 2, ATTACKS]` and `attacks` `[n, 4096,
/// ATTACKS]`.
fn related(table: Tensor<3>, attacks: &Tensor<3>) -> Tensor<4> {
    let [n, _, _] = attacks.dims();
    let [heads, _, kinds] = table.dims();
    let side = |i: usize| {
        let table: Tensor<2> = table.clone().narrow(1, i, 1).reshape([heads, kinds]);
        let sums = attacks.clone().matmul(table.transpose().unsqueeze());
        sums.swap_dims(1, 2).reshape([n, heads, TOKENS, TOKENS])
    };
    side(0) + side(1).swap_dims(2, 3)
}

impl DynamicBias {
    /// `[n, 64, width]` and `[rank, 4096]` to `[n, heads, 64, 64]`.
    fn forward(
        &self,
        x: Tensor<3>,
        heads: usize,
        present: Option<&Tensor<3>>,
        basis: &Tensor<2>,
    ) -> Tensor<4> {
        let [n, tokens, _] = x.dims();
        let compressed = self.compress.forward(x);
        let compressed = match present {
            Some(present) => compressed * present.clone(),
            None => compressed,
        };
        let flat = compressed.reshape([n as i32, -1]);
        let hidden = activation::relu(self.hidden.forward(flat));
        let rank = basis.dims()[0];
        let mixed = self.mix.forward(hidden).reshape([n * heads, rank]);
        mixed.matmul(basis.clone()).reshape([n, heads, tokens, tokens])
    }
}

//! The blocks of the network by products of 8 bits, for play alone: nothing is kept for a gradient.
//!
//! Products of weights are in bytes; attention, the mixing of the dynamic bias, residual sums and
//! normalisation stay in single precision. Whatever makes a product's input rounds it in the same pass.

use super::forward::{LayerActivations, attend, relate, size};
use super::int8::{Finish, Kernel, Linear8, Rows, Sign};
use super::relations::Relations;
use super::stages::{Stage, Stages};
use super::weights::Weights;
use super::{Heads, dynamic_bias};
use crate::net::TOKENS;
use crate::net::layout::{Layout, Linear, Norm, Param};

/// Rows of the feed-forward part that go through it together: few enough to stay near the core.
const FEW: usize = 64;

/// The weights of every product over all tokens.
pub(super) struct Trunk8 {
    kernel: Kernel,
    blocks: Vec<Block8>,
    heads: Linear8,
}

struct Block8 {
    qkv: Linear8,
    compress: Option<Linear8>,
    out: Linear8,
    up: Linear8,
    down: Linear8,
}

impl Trunk8 {
    /// Rounds the weights in `values`.
    pub(super) fn new(kernel: Kernel, layout: &Layout, values: &[f32]) -> Trunk8 {
        let round = |sign: Sign, places: &Linear| {
            Linear8::new(kernel, sign, &values[places.weight.clone()], &values[places.bias.clone()])
        };
        let blocks = layout.blocks.iter().map(|places| Block8 {
            qkv: round(Sign::Either, &places.qkv),
            compress: places.dynamic_bias.as_ref().map(|b| round(Sign::Either, &b.compress)),
            out: round(Sign::Either, &places.out),
            up: round(Sign::Either, &places.up),
            down: round(Sign::Positive, &places.down),
        });
        Trunk8 { kernel, blocks: blocks.collect(), heads: round(Sign::Either, &layout.heads) }
    }

    /// Whether the matrix is one of these, so that nobody else need keep it.
    pub(super) fn holds(param: &Param) -> bool {
        let name = param.name.strip_suffix(".weight").unwrap_or_default();
        let last = name.rsplit('.').next().unwrap_or_default();
        name == "heads"
            || name.starts_with("block") && ["qkv", "compress", "out", "up", "down"].contains(&last)
    }

    /// Block `i`, `x` `[rows, width]` in place.
    pub(super) fn block(
        &self,
        (layout, w): (&Layout, &Weights),
        i: usize,
        x: &mut [f32],
        relations: &Relations,
        layer: &mut LayerActivations,
        stages: &mut Stages,
    ) {
        let (places, maps, width) = (&layout.blocks[i], &self.blocks[i], layout.config.width);
        let rows = x.len() / width;
        let mut bytes = std::mem::take(&mut layer.bytes);

        stages.begin(Stage::Norm);
        self.norm(w, &places.norm1, x, &mut bytes);
        stages.begin(Stage::Qkv);
        size(&mut layer.qkv, rows * 3 * width);
        maps.qkv.apply(&bytes, &mut layer.qkv, 3 * width, 3 * width, Finish::Replace);
        if let (Some(bias), Some(compress)) = (&places.dynamic_bias, &maps.compress) {
            stages.begin(Stage::Bias);
            let channels = bias.compress.bias.len();
            size(&mut layer.bias_tokens, rows * channels);
            compress.apply(&bytes, &mut layer.bias_tokens, channels, channels, Finish::Replace);
            dynamic_bias::mix(layout, w, bias, rows / TOKENS, layer);
        }
        relate(w, places, relations, layer);
        stages.begin(Stage::Attention);
        attend(layout, w, places, rows / TOKENS, layer);
        stages.begin(Stage::Output);
        bytes.round(self.kernel, Sign::Either, &layer.mixed, width);
        maps.out.apply(&bytes, x, width, width, Finish::Add);

        let ffn = places.up.bias.len();
        for x in x.chunks_mut(FEW * width) {
            let rows = x.len() / width;
            stages.begin(Stage::Norm);
            self.norm(w, &places.norm2, x, &mut bytes);
            stages.begin(Stage::Up);
            size(&mut layer.squared, rows * ffn);
            maps.up.apply(&bytes, &mut layer.squared, ffn, ffn, Finish::SquaredRelu);
            stages.begin(Stage::Activation);
            bytes.round(self.kernel, Sign::Positive, &layer.squared, ffn);
            stages.begin(Stage::Down);
            maps.down.apply(&bytes, x, width, width, Finish::Add);
        }
        layer.bytes = bytes;
    }

    fn norm(&self, w: &Weights, places: &Norm, x: &[f32], bytes: &mut Rows) {
        bytes.normalise(self.kernel, x, &w[places.gamma.clone()], &w[places.beta.clone()]);
    }

    /// The projection of every token for the heads, `columns` wide.
    pub(super) fn tokens(
        &self,
        (layout, w): (&Layout, &Weights),
        x: &[f32],
        (bytes, tokens): (&mut Rows, &mut Vec<f32>),
        heads: Heads,
        stages: &mut Stages,
    ) {
        stages.begin(Stage::Norm);
        self.norm(w, &layout.norm, x, bytes);
        stages.begin(Stage::Tokens);
        let columns = heads.columns(layout);
        size(tokens, x.len() / layout.config.width * columns);
        self.heads.apply(bytes, tokens, columns, columns, Finish::Replace);
    }
}

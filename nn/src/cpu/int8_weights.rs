//! int8 weights of products over all tokens, quantized when a network is loaded.

use crate::kernels::gemm::int8::{Kernel, Linear8, Sign};
use crate::net::layout::Layout;
use crate::net::params::{Linear, Param};

/// The weights of every product over all tokens.
pub(super) struct Weights8 {
    pub kernel: Kernel,
    pub blocks: Vec<Block8>,
    pub heads: Linear8,
}

/// The weights of one block.
pub(super) struct Block8 {
    pub qkv: Linear8,
    pub compress: Option<Linear8>,
    pub out: Linear8,
    pub up: Linear8,
    pub down: Linear8,
}

impl Weights8 {
    /// Quantizes the weights in `values`.
    pub(super) fn new(kernel: Kernel, layout: &Layout, values: &[f32]) -> Weights8 {
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
        Weights8 { kernel, blocks: blocks.collect(), heads: round(Sign::Either, &layout.heads) }
    }

    /// Whether the matrix is one of these, so that no other copy is needed.
    pub(super) fn holds(param: &Param) -> bool {
        let name = param.name.strip_suffix(".weight").unwrap_or_default();
        let last = name.rsplit('.').next().unwrap_or_default();
        name == "heads"
            || name.starts_with("block") && ["qkv", "compress", "out", "up", "down"].contains(&last)
    }
}

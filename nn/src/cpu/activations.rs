//! Buffers of a forward pass (activations by layer, logits of the heads) and of a backward pass. No arithmetic.

use super::pieces::Pieces;
use super::profile::Stages;
use super::relations::Relations;
#[cfg(target_arch = "x86_64")]
use crate::kernels::amx;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::kernels::attention;
#[cfg(target_arch = "x86_64")]
use crate::kernels::attention::bias_mixture::QuantizedShares;
#[cfg(target_arch = "x86_64")]
use crate::kernels::gemm::Buffer;
use crate::kernels::gemm::Operand;
use crate::kernels::gemm::int8::Rows;
use crate::net::TOKENS;
use crate::net::layout::Layout;
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

/// Attention of one layer and the dynamic bias before it; rows = 64 × positions.
#[derive(Default)]
pub(super) struct AttentionBuffers {
    /// `[rows, 3 * width]`.
    pub qkv: Vec<f32>,
    /// Dynamic attention bias, stage by stage: `[rows, channels]`; `[positions, hidden]` after ReLU;
    /// `[positions * heads, rank]`.
    pub bias_tokens: Vec<f32>,
    pub bias_hidden: Vec<f32>,
    pub bias_mix: Vec<f32>,
    /// `[positions, heads, 64, 64]`: attention weights.
    pub weights: Vec<f32>,
    /// Scratch: one packed head.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub head: attention::Operands,
    /// Scratch: quantized shares of the dynamic bias patterns.
    #[cfg(target_arch = "x86_64")]
    pub four: QuantizedShares,
    /// Scratch: all packed heads of one position (AMX).
    #[cfg(target_arch = "x86_64")]
    pub board: amx::attention::AttentionScratch,
}

/// A layer normalisation's result; rows = 64 × positions.
#[derive(Default)]
pub(super) struct Normalized {
    /// `[rows, width]`: normalised rows (mean 0, variance 1).
    pub unit: Operand,
    /// `[rows]`: 1 / standard deviation of each row.
    pub scale: Vec<f32>,
    /// `[rows, width]`: scaled and shifted, the next product's input.
    pub out: Operand,
}

/// One layer in single precision or bf16; rows = 64 × positions.
#[derive(Default)]
pub(super) struct FloatLayer {
    pub norm1: Normalized,
    pub attention: AttentionBuffers,
    /// `[rows, width]`: concatenated head outputs.
    pub mixed: Operand,
    pub norm2: Normalized,
    /// `[rows, ffn]`: after the squared ReLU.
    pub squared: Operand,
    /// Scratch rows on the way into an operand: `width` and `ffn` columns wide.
    pub scratch: Vec<f32>,
    pub wide_scratch: Vec<f32>,
    /// Operands that attention by AMX keeps for the gradient; None if another kernel ran.
    #[cfg(target_arch = "x86_64")]
    pub kept: Option<amx::gradient::KeptOperands>,
}

/// One layer with int8 weights, reused by all of them; rows = 64 × positions.
#[derive(Default)]
pub(super) struct Int8Layer {
    /// `[rows, width]`: normalised rows.
    pub normed: Rows,
    pub attention: AttentionBuffers,
    /// `[rows, width]`: concatenated head outputs.
    pub mixed: Rows,
    pub squares: Int8Squares,
    /// Scratch: `[rows, width]`.
    pub scratch: Vec<f32>,
}

/// Squared ReLUs on the way into bytes.
#[derive(Default)]
pub(super) struct Int8Squares {
    /// `[rows, ffn]`.
    pub bytes: Rows,
    /// Scratch: the same in single precision, or in bf16.
    pub floats: Vec<f32>,
    #[cfg(target_arch = "x86_64")]
    pub halves: Buffer,
}

/// The logits of the heads, for `n` positions and `m` moves.
#[derive(Default)]
pub struct Logits {
    /// `[m]`.
    pub policy: Vec<f32>,
    /// `[m, 64]` over win-probability buckets.
    pub actions: Vec<f32>,
    /// `[n, 64]` over win-probability buckets.
    pub value: Vec<f32>,
    /// `[n, 3]`: lost, drawn, won.
    pub result: Vec<f32>,
    /// `[n, 3]`: ongoing, lost, drawn.
    pub terminal: Vec<f32>,
    /// `[n, 64, 64]` (from, to); only with [`Heads::All`].
    pub legality: Vec<f32>,
}

/// The input of the heads.
#[derive(Default)]
pub(super) struct HeadBuffers {
    /// `[n, 64 * value_channels]`, after ReLU.
    pub flat: Vec<f32>,
    /// `[n, value_hidden]`, after ReLU.
    pub board: Vec<f32>,
    /// `[n, action_dim]`.
    pub context: Vec<f32>,
    /// `[m, action_dim]`, after ReLU.
    pub hidden: Vec<f32>,
}

/// The projection of each token for the heads.
#[derive(Default)]
pub(super) struct Tokens {
    /// `[rows, columns]`.
    pub rows: Vec<f32>,
    /// Columns of this pass.
    pub columns: usize,
}

impl Tokens {
    /// `columns` of token `t` of position `p`.
    pub(super) fn of(&self, p: usize, t: u8, columns: &Range<usize>) -> &[f32] {
        let start = (p * TOKENS + usize::from(t)) * self.columns;
        &self.rows[start + columns.start..start + columns.end]
    }
}

/// All intermediate results of a forward pass; reused from call to call.
#[derive(Default)]
pub struct Activations {
    /// By layer if they are kept for a gradient, else one for all.
    pub(super) layers: Vec<FloatLayer>,
    pub(super) int8: Int8Layer,
    pub(super) relations: Relations,
    pub(super) pieces: Pieces,
    /// `[rows, width]`: the residual stream, of all squares and of the pieces alone.
    pub(super) x: Vec<f32>,
    pub(super) piece_rows: Vec<f32>,
    pub(super) norm: Normalized,
    pub(super) scratch: Vec<f32>,
    pub(super) tokens: Tokens,
    pub(super) heads: HeadBuffers,
    /// After `forward` those of its positions and moves.
    pub logits: Logits,
    /// Time by stage; off unless started.
    pub stages: Stages,
}

impl Activations {
    /// The 16 logits of the transition head for token `token` of position `p`, and the logit of "moves from
    /// here promote". Valid only after [`Heads::All`].
    #[must_use]
    pub fn transition(&self, layout: &Layout, p: usize, token: usize) -> (&[f32], f32) {
        let row = &self.tokens.rows[(p * TOKENS + token) * self.tokens.columns..];
        (&row[layout.columns.transition.clone()], row[layout.columns.promotes.start])
    }
}

pub(super) fn size(buffer: &mut Vec<f32>, len: usize) {
    // Not cleared: every pass writes each element before it reads it.
    buffer.resize(len, 0.0);
}

/// dL/d(logits) of every head, shaped as [`Logits`].
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

/// Scratch buffers of a backward pass; reused from call to call.
#[derive(Default)]
pub struct Scratch {
    pub(super) dbias_tokens: Vec<f32>,
    pub(super) dbias_hidden: Vec<f32>,
    pub(super) dbias_mix: Vec<f32>,
    pub(super) dx: Vec<f32>,
    pub(super) dtokens: Vec<f32>,
    pub(super) dboard: Vec<f32>,
    pub(super) dflat: Vec<f32>,
    pub(super) dcontext: Vec<f32>,
    pub(super) dhidden: Vec<f32>,
    pub(super) dnormed: Vec<f32>,
    /// `[rows, width]`.
    pub(super) dmixed: Operand,
    /// `[positions * heads, 64 * 64]`.
    pub(super) dscores: Operand,
    /// `[positions * heads, rank]`: shares of the patterns of dynamic biases.
    pub(super) bias_mix: Operand,
    /// Scratch: one packed head.
    #[cfg(target_arch = "x86_64")]
    pub(super) head: amx::gradient::GradientScratch,
    /// `[rows, outputs]`: gradient of a linear map's output.
    pub(super) dout: Operand,
    /// `[rows, ffn]`.
    pub(super) dwide: Operand,
    /// Scratch rows on the way into or out of an operand.
    pub(super) scratch: [Vec<f32>; 2],
    /// Time by stage; off unless started.
    pub stages: Stages,
}

pub(super) fn zeroed(buffer: &mut Vec<f32>, len: usize) {
    buffer.clear();
    buffer.resize(len, 0.0);
}

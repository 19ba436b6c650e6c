//! What a pass over the network leaves behind: intermediate values by layer, the heads' answers, and the
//! buffers of the gradient. Nothing is computed here.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::attention;
#[cfg(target_arch = "x86_64")]
use super::fixed_basis::Four;
use super::int8::Rows;
#[cfg(target_arch = "x86_64")]
use super::matmul::Buffer;
use super::matmul::Operand;
use super::relations::Relations;
use super::stages::Stages;
use crate::net::TOKENS;
use crate::net::layout::Layout;

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
    /// `[rows, width]`: with mean 0 and variance 1, and one over the rows' deviations.
    pub unit1: Operand,
    pub scale1: Vec<f32>,
    /// `[rows, width]`: input of qkv.
    pub normed1: Operand,
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
    pub mixed: Operand,
    pub unit2: Operand,
    pub scale2: Vec<f32>,
    pub normed2: Operand,
    /// `[rows, ffn]`: after the squared ReLU.
    pub squared: Operand,
    /// A few rows on their way into an operand, of one width and of the feed-forward part's.
    pub few: Vec<f32>,
    pub wide: Vec<f32>,
    /// Inputs of products of bytes: what was normalised, the heads' outputs, and squared ReLUs.
    pub bytes: Rows,
    pub mixed8: Rows,
    pub squared8: Rows,
    /// The same on its way.
    #[cfg(target_arch = "x86_64")]
    pub halves: Buffer,
    /// A head on its way.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub head: attention::Operands,
    /// Shares of the patterns of dynamic biases.
    #[cfg(target_arch = "x86_64")]
    pub four: Four,
    /// All heads of a position on their way.
    #[cfg(target_arch = "x86_64")]
    pub board: attention::tiles::Packed,
    /// What attention by tiles has left for the gradient, if it has.
    #[cfg(target_arch = "x86_64")]
    pub kept: Option<attention::gradient::Kept>,
}

/// Everything a forward pass computes; reused from call to call. After `forward` the public fields
/// hold the heads' answers, `n` positions and `m` moves long.
#[derive(Default)]
pub struct Activations {
    pub(super) layers: Vec<LayerActivations>,
    pub(super) relations: Relations,
    pub(super) x: Vec<f32>,
    pub(super) unit: Operand,
    pub(super) scale: Vec<f32>,
    /// `[rows, width]`: input of the heads' projection.
    pub(super) normed: Operand,
    pub(super) few: Vec<f32>,
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
    /// A head on its way.
    #[cfg(target_arch = "x86_64")]
    pub(super) head: attention::gradient::Packed,
    /// The gradient of a map's output, `[rows, outputs]`.
    pub(super) dout: Operand,
    /// `[rows, ffn]`.
    pub(super) dwide: Operand,
    /// A few rows on their way into an operand or out of one.
    pub(super) few: [Vec<f32>; 2],
    /// Where the time goes; off unless somebody starts it.
    pub stages: Stages,
}

pub(super) fn zeroed(buffer: &mut Vec<f32>, len: usize) {
    buffer.clear();
    buffer.resize(len, 0.0);
}

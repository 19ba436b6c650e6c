//! The heads, which read the trunk's tokens. Every head reads its own columns of one projection, `[n, 64,
//! columns]`, named by [`HeadColumns`].

use super::config::TOKENS;
use super::inputs::Inputs;
use super::layout::{HeadColumns, Layout, TRANSITION_OUTPUTS};
use super::loader::Loader;
use crate::encode::board::MARKS;
use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Tensor, activation};
use std::ops::Range;

/// Columns of `[n, 64, columns]`.
pub(super) fn columns_of(tokens: &Tensor<3>, columns: &Range<usize>) -> Tensor<3> {
    tokens.clone().narrow(2, columns.start, columns.len())
}

/// Policy logits of the listed moves, `[n, k]`, from head columns `[n, 64, columns]`: dot product of the
/// from-square's query and the to-square's key. The head has no other parameters.
#[must_use]
pub fn policy(tokens: &Tensor<3>, columns: &HeadColumns, inputs: &Inputs) -> Tensor<2> {
    let scale = (columns.policy_from.len() as f32).sqrt().recip();
    let (from, to) = policy_pairs(tokens, columns, inputs);
    // [n, k, 4]: class 0, no promotion, has no column.
    let kind = inputs.promotion.clone().narrow(2, 1, columns.promotion.len());
    let promotion = inputs.to.clone().matmul(columns_of(tokens, &columns.promotion)) * kind;
    ((from * to).sum_dim(2) * scale + promotion.sum_dim(2)).squeeze_dim(2)
}

/// The policy's from- and to-vectors of each move, `[n, k, policy_dim]` each.
fn policy_pairs(
    tokens: &Tensor<3>,
    columns: &HeadColumns,
    inputs: &Inputs,
) -> (Tensor<3>, Tensor<3>) {
    (
        inputs.from.clone().matmul(columns_of(tokens, &columns.policy_from)),
        inputs.to.clone().matmul(columns_of(tokens, &columns.policy_to)),
    )
}

/// Win probability after each move, from its two squares, its promotion and the whole board. One hidden row per
/// move.
#[derive(Module, Debug)]
pub struct ActionValueHead {
    context: Linear,
    /// `[5, action_dim]`, by promotion class.
    promotion: Param<Tensor<2>>,
    /// `[action_dim]`: weight of each policy channel product in a move's hidden row.
    policy: Option<Param<Tensor<1>>>,
    buckets: Linear,
}

impl ActionValueHead {
    pub(super) fn load(layout: &Layout, from: &Loader) -> ActionValueHead {
        ActionValueHead {
            context: from.linear(&layout.action_context),
            promotion: from.param(&layout.action_promotion, [5, layout.config.action_dim]),
            policy: (layout.action_policy.as_ref())
                .map(|range| from.param(range, [layout.config.action_dim])),
            buckets: from.linear(&layout.action_buckets),
        }
    }

    /// Logits over win-probability buckets, `[n, k, 64]`, from head columns `[n, 64, columns]` and the
    /// board `[n, value_hidden]`.
    #[must_use]
    pub fn forward(
        &self,
        tokens: &Tensor<3>,
        columns: &HeadColumns,
        board: Tensor<2>,
        inputs: &Inputs,
    ) -> Tensor<3> {
        // All [n, k, action_dim], except the context [n, 1, action_dim].
        let from = inputs.from.clone().matmul(columns_of(tokens, &columns.action_from));
        let to = inputs.to.clone().matmul(columns_of(tokens, &columns.action_to));
        let context: Tensor<3> = self.context.forward(board).unsqueeze_dim(1);
        let kind = inputs.promotion.clone().matmul(self.promotion.val().unsqueeze());
        let hidden = from + to + context + kind;
        let hidden = match &self.policy {
            Some(share) => {
                let (query, key) = policy_pairs(tokens, columns, inputs);
                hidden + query * key * share.val().unsqueeze()
            }
            None => hidden,
        };
        self.buckets.forward(activation::relu(hidden))
    }
}

/// Win probability, result and game end from a few channels of every token; and the hidden row that the
/// action-value head reads.
#[derive(Module, Debug)]
pub struct ValueHead {
    hidden: Linear,
    buckets: Linear,
    result: Linear,
    terminal: Linear,
}

/// Logits of the value head.
#[derive(Clone, Debug)]
pub struct Values {
    /// `[n, value_hidden]`, after ReLU: board context.
    pub board: Tensor<2>,
    /// `[n, 64]` over win-probability buckets.
    pub buckets: Tensor<2>,
    /// `[n, 3]`: lost, drawn, won.
    pub result: Tensor<2>,
    /// `[n, 3]`: ongoing, lost, drawn.
    pub terminal: Tensor<2>,
}

impl ValueHead {
    pub(super) fn load(layout: &Layout, from: &Loader) -> ValueHead {
        ValueHead {
            hidden: from.linear(&layout.value_hidden),
            buckets: from.linear(&layout.value_buckets),
            result: from.linear(&layout.value_result),
            terminal: from.linear(&layout.value_terminal),
        }
    }

    /// From the tokens' value columns, `[n, 64, value_channels]`.
    #[must_use]
    pub fn forward(&self, channels: Tensor<3>) -> Values {
        let flat: Tensor<2> = activation::relu(channels).flatten(1, 2);
        let board = activation::relu(self.hidden.forward(flat));
        Values {
            buckets: self.buckets.forward(board.clone()),
            result: self.result.forward(board.clone()),
            terminal: self.terminal.forward(board.clone()),
            board,
        }
    }
}

/// Legal (from, to) pairs, and squares whose moves promote. Beside its columns it has a bias per pair: what
/// geometry alone implies.
#[derive(Module, Debug)]
pub struct LegalityHead {
    /// `[64, 64]` (from, to), added to the logits.
    bias: Param<Tensor<2>>,
}

impl LegalityHead {
    pub(super) fn load(layout: &Layout, from: &Loader) -> LegalityHead {
        LegalityHead { bias: from.param(&layout.legality_bias, [64, 64]) }
    }

    /// Logits of "from, to is legal", `[n, 64, 64]`, from head columns `[n, 64, columns]`.
    #[must_use]
    pub fn pairs(&self, tokens: &Tensor<3>, columns: &HeadColumns) -> Tensor<3> {
        let scale = (columns.legality_from.len() as f32).sqrt().recip();
        let from = columns_of(tokens, &columns.legality_from);
        let to = columns_of(tokens, &columns.legality_to);
        from.matmul(to.swap_dims(1, 2)) * scale + self.bias.val().unsqueeze()
    }

    /// Logits of "moves from here promote", `[n, 64]`.
    #[must_use]
    pub fn promotes(&self, tokens: &Tensor<3>, columns: &HeadColumns) -> Tensor<2> {
        columns_of(tokens, &columns.promotes).squeeze_dim(2)
    }
}

/// The board after the marked action: 13 piece classes, our castling rook, theirs, en passant. Beside its
/// columns it may have a bias table by each square's mark.
#[derive(Module, Debug)]
pub struct TransitionHead {
    /// `[64, MARKS, 16]`.
    marks: Option<Param<Tensor<3>>>,
}

impl TransitionHead {
    pub(super) fn load(layout: &Layout, from: &Loader) -> TransitionHead {
        let shape = [TOKENS, MARKS, TRANSITION_OUTPUTS];
        let marks = layout.transition_marks.as_ref().map(|range| from.param(range, shape));
        TransitionHead { marks }
    }

    /// Whether it uses the squares' marks.
    pub(super) fn reads_marks(&self) -> bool {
        self.marks.is_some()
    }

    /// Logits per token, `[n, 64, 16]`, from head columns `[n, 64, columns]`.
    #[must_use]
    pub fn forward(&self, tokens: &Tensor<3>, columns: &HeadColumns, inputs: &Inputs) -> Tensor<3> {
        let logits = columns_of(tokens, &columns.transition);
        match (&self.marks, inputs.marks()) {
            (Some(table), Some(marks)) => {
                // Per square: [64, n, MARKS] times [64, MARKS, 16].
                logits + marks.swap_dims(0, 1).matmul(table.val()).swap_dims(0, 1)
            }
            _ => logits,
        }
    }
}

//! The action-value head: the win probability after each move, from the two squares it touches, its
//! promotion and the board as a whole.

use super::inputs::Inputs;
use super::layout::{HeadColumns, Layout};
use super::module::{Loader, columns_of};
use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Tensor, activation};

/// One hidden row per move.
#[derive(Module, Debug)]
pub struct ActionValueHead {
    context: Linear,
    /// `[5, action_dim]`, by promotion class.
    promotion: Param<Tensor<2>>,
    buckets: Linear,
}

impl ActionValueHead {
    pub(super) fn load(layout: &Layout, from: &Loader) -> ActionValueHead {
        ActionValueHead {
            context: from.linear(&layout.action_context),
            promotion: from.param(&layout.action_promotion, [5, layout.config.action_dim]),
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
        // All [n, k, action_dim], but the context [n, 1, action_dim].
        let from = inputs.from.clone().matmul(columns_of(tokens, &columns.action_from));
        let to = inputs.to.clone().matmul(columns_of(tokens, &columns.action_to));
        let context: Tensor<3> = self.context.forward(board).unsqueeze_dim(1);
        let kind = inputs.promotion.clone().matmul(self.promotion.val().unsqueeze());
        self.buckets.forward(activation::relu(from + to + context + kind))
    }
}

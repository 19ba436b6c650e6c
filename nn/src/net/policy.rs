//! The policy head: how much the square a move leaves asks for the square it goes to. It has no
//! parameters but its columns of the head projection.

use super::inputs::Inputs;
use super::layout::HeadColumns;
use super::module::columns_of;
use burn::tensor::Tensor;

/// Logits of the listed moves, `[n, k]`, from head columns `[n, 64, columns]`.
#[must_use]
pub fn policy(tokens: &Tensor<3>, columns: &HeadColumns, inputs: &Inputs) -> Tensor<2> {
    let scale = (columns.policy_from.len() as f32).sqrt().recip();
    // [n, k, policy_dim]
    let from = inputs.from.clone().matmul(columns_of(tokens, &columns.policy_from));
    let to = inputs.to.clone().matmul(columns_of(tokens, &columns.policy_to));
    // [n, k, 4]: class 0, no promotion, has no column.
    let kind = inputs.promotion.clone().narrow(2, 1, columns.promotion.len());
    let promotion = inputs.to.clone().matmul(columns_of(tokens, &columns.promotion)) * kind;
    ((from * to).sum_dim(2) * scale + promotion.sum_dim(2)).squeeze_dim(2)
}

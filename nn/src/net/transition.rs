//! The transition head: the board after the marked action, square by square. It has no parameters
//! but its columns of the head projection.

use super::layout::HeadColumns;
use super::module::columns_of;
use burn::tensor::Tensor;

/// Logits per token, `[n, 64, 16]`, from head columns `[n, 64, columns]`: 13 piece classes, our
/// castling rook, theirs, en passant.
#[must_use]
pub fn transition(tokens: &Tensor<3>, columns: &HeadColumns) -> Tensor<3> {
    columns_of(tokens, &columns.transition)
}

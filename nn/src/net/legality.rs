//! The legality head: which pairs of squares are moves, and which of them promote.

use super::layout::{HeadColumns, Layout};
use super::module::{Loader, columns_of};
use burn::module::{Module, Param};
use burn::tensor::Tensor;

/// What geometry alone says of each pair, beside its columns of the head projection.
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

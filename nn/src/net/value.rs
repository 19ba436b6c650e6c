//! The value head: the whole board's win probability, result and end, and what it tells each move.

use super::layout::Layout;
use super::module::Loader;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Tensor, activation};

/// Reads a few channels of every token at once.
#[derive(Module, Debug)]
pub struct ValueHead {
    hidden: Linear,
    buckets: Linear,
    result: Linear,
    terminal: Linear,
}

/// What the value head answers, as logits.
#[derive(Clone, Debug)]
pub struct Values {
    /// `[n, value_hidden]`, after ReLU: the board as a whole.
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

//! The network as a burn module, on any burn device: the reference definition.
//!
//! Play and training on the CPU use `cpu` instead, which is several times faster there; tests compare both.

use super::heads::{
    ActionValueHead, LegalityHead, TransitionHead, ValueHead, Values, columns_of, policy,
};
use super::inputs::Inputs;
use super::layout::{HeadColumns, Layout};
use super::loader::Loader;
use super::trunk::Trunk;
use crate::encode::Item;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use std::fmt;

/// Trunk and heads. Field order is that of the flat vector: a gradient is collected in it.
#[derive(Module, Debug)]
pub struct Net {
    trunk: Trunk,
    /// `[width, columns]`: projection of a token for all heads.
    heads: Linear,
    transition: TransitionHead,
    legality: LegalityHead,
    value: ValueHead,
    action_value: ActionValueHead,
    #[module(skip)]
    columns: HeadColumns,
}

/// Logits for play: `n` positions, `k` moves each, padding included.
#[derive(Clone, Debug)]
pub struct Play {
    /// `[n, k]`.
    pub policy: Tensor<2>,
    /// `[n, k, 64]` over win-probability buckets.
    pub actions: Tensor<3>,
    /// Outputs of the value head.
    pub values: Values,
}

/// Logits of the world model.
#[derive(Clone, Debug)]
pub struct World {
    /// `[n, 64, 64]` (from, to).
    pub legality: Tensor<3>,
    /// `[n, 64]`: moves from here promote.
    pub promotes: Tensor<2>,
    /// `[n, 64, 16]`.
    pub transition: Tensor<3>,
}

/// The flat vector does not have the layout's length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthError {
    /// The layout's length.
    pub expected: usize,
    /// The vector's length.
    pub found: usize,
}

impl fmt::Display for LengthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} parameters, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for LengthError {}

impl Net {
    /// Builds the module from the flat vector; on an autodiff device every parameter is a leaf.
    ///
    /// # Errors
    /// `values` does not have the layout's length.
    ///
    /// # Panics
    /// Where burn does: the device is gone or out of memory.
    pub fn from_values(
        layout: &Layout,
        values: &[f32],
        device: &Device,
    ) -> Result<Net, LengthError> {
        if values.len() != layout.len {
            return Err(LengthError { expected: layout.len, found: values.len() });
        }
        let from = Loader::new(values, device);
        Ok(Net {
            trunk: Trunk::load(layout, &from),
            heads: from.linear(&layout.heads),
            transition: TransitionHead::load(layout, &from),
            legality: LegalityHead::load(layout, &from),
            value: ValueHead::load(layout, &from),
            action_value: ActionValueHead::load(layout, &from),
            columns: layout.columns.clone(),
        })
    }

    /// Uploads this network's inputs for `items` to `device`, padded to at least `positions` positions with at
    /// least `moves` moves each.
    ///
    /// # Panics
    /// Where burn does: the device is gone or out of memory.
    #[must_use]
    pub fn inputs(
        &self,
        items: &[Item<'_>],
        positions: usize,
        moves: usize,
        device: &Device,
    ) -> Inputs {
        let inputs = Inputs::new(items, positions, moves, device);
        let inputs =
            if self.trunk.piece_blocks > 0 { inputs.with_occupied(items, device) } else { inputs };
        let inputs =
            if self.trunk.reads_attacks() { inputs.with_attacks(items, device) } else { inputs };
        if self.transition.reads_marks() { inputs.with_marks(items, device) } else { inputs }
    }

    /// The play heads.
    #[must_use]
    pub fn play(&self, inputs: &Inputs) -> Play {
        let tokens = self.project(inputs, self.columns.play());
        self.play_heads(&tokens, inputs)
    }

    /// All heads.
    #[must_use]
    pub fn forward(&self, inputs: &Inputs) -> (Play, World) {
        let tokens = self.project(inputs, self.columns.all());
        let world = World {
            legality: self.legality.pairs(&tokens, &self.columns),
            promotes: self.legality.promotes(&tokens, &self.columns),
            transition: self.transition.forward(&tokens, &self.columns, inputs),
        };
        (self.play_heads(&tokens, inputs), world)
    }

    /// The first `columns` head columns of every token, `[n, 64, columns]`.
    fn project(&self, inputs: &Inputs, columns: usize) -> Tensor<3> {
        let tokens = self.trunk.forward(inputs);
        let weight = self.heads.weight.val().narrow(1, 0, columns);
        let bias = self.heads.bias.as_ref().map(|bias| bias.val().narrow(0, 0, columns));
        burn::tensor::module::linear(tokens, weight, bias)
    }

    fn play_heads(&self, tokens: &Tensor<3>, inputs: &Inputs) -> Play {
        let values = self.value.forward(columns_of(tokens, &self.columns.value));
        let board = values.board.clone();
        Play {
            policy: policy(tokens, &self.columns, inputs),
            actions: self.action_value.forward(tokens, &self.columns, board, inputs),
            values,
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod torch;

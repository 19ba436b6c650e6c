//! Losses of one group of examples, and their gradients by the heads' logits. `values`, `policy` and
//! `world_model` have the losses of those heads, `sums` accumulates them.
//!
//! The test `autodiff` computes the same sums by burn's autodiff.

pub mod buckets;
mod entropy;
mod place;
pub mod policy;
pub mod sums;
pub mod values;
pub mod world_model;

pub use buckets::Buckets;
#[cfg(test)]
pub use sums::LOSSES;
pub use sums::{Loss, LossConfig, LossSums};

use crate::data::Example;
use nn::cpu::{Activations, HeadGradients};
use nn::net::Layout;
use place::PositionMoves;

/// Computes the losses of a batch, group by group.
pub struct Losses<'a> {
    /// The network's layout.
    pub layout: &'a Layout,
    /// Weights of the losses.
    pub config: &'a LossConfig,
    /// Targets of win probabilities.
    pub buckets: &'a Buckets,
    /// Examples of the whole batch: the gradient is that of [`LossSums::total`] over all of them.
    pub batch: usize,
}

impl Losses<'_> {
    /// Losses of `examples` after a pass over all heads; overwrites `grads` with their gradient.
    pub fn of(
        &self,
        examples: &[Example],
        activations: &Activations,
        grads: &mut HeadGradients,
    ) -> LossSums {
        let moves = examples.iter().map(|e| e.moves.len()).sum();
        grads.reset(examples.len(), moves);
        let weights = self.config.weights().map(|weight| weight / self.batch as f32);
        let weight = |loss: Loss| weights[loss as usize];
        let mut sums = LossSums { examples: examples.len() as f64, ..LossSums::default() };
        let mut first = 0;
        for (p, example) in examples.iter().enumerate() {
            let moves = first..first + example.moves.len();
            first = moves.end;
            let layout = self.layout;
            let at = &mut PositionMoves { example, layout, p, moves, activations, grads };
            let share = self.config.action_share(example);
            let actions =
                values::action_values(at, self.buckets, self.config, share * weight(Loss::Actions));
            sums.count_share(Loss::Actions, actions, share);
            let mut count = |loss: Loss, value: Option<f64>| sums.count(loss, value);
            count(Loss::Policy, policy::policy(at, self.config, weight(Loss::Policy)));
            // After the policy loss, to whose gradient it adds.
            count(Loss::Regret, policy::regret(at, weight(Loss::Regret)));
            // After the action-value loss, to whose gradient it adds.
            count(Loss::Choice, values::choice(at, self.config, weight(Loss::Choice)));
            count(Loss::Value, values::value(at, self.buckets, self.config, weight(Loss::Value)));
            count(Loss::Result, values::result(at, weight(Loss::Result)));
            count(Loss::Terminal, Some(world_model::terminal(at, weight(Loss::Terminal))));
            count(Loss::Legality, Some(world_model::legality(at, weight(Loss::Legality))));
            count(Loss::Transition, world_model::transition(at, weight(Loss::Transition)));
        }
        sums
    }
}

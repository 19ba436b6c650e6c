//! The losses by name, their weights, and their sums over examples.

use crate::data::Example;
use serde::{Deserialize, Serialize};

/// Weights of the losses and shapes of their targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LossConfig {
    /// Weight of [`Loss::Policy`]; the others alike.
    pub policy: f32,
    /// Weight of [`Loss::Regret`].
    pub regret: f32,
    /// Weight of [`Loss::Actions`].
    pub actions: f32,
    /// Weight of [`Loss::Choice`].
    pub choice: f32,
    /// Weight of [`Loss::Value`].
    pub value: f32,
    /// Weight of [`Loss::Result`].
    pub result: f32,
    /// Weight of [`Loss::Terminal`].
    pub terminal: f32,
    /// Weight of [`Loss::Legality`].
    pub legality: f32,
    /// Weight of [`Loss::Transition`].
    pub transition: f32,
    /// Weight of the action loss where only the best move's value is known (PVGR1), relative to 1 where all
    /// are: such labels teach the value of a move given that it is best.
    pub best_action_alone: f32,
    /// Share of the labelled best move in the policy target; the rest follows a softmax of the action values
    /// where all are known.
    pub best_share: f32,
    /// Temperature of that softmax, in win probability.
    pub policy_temperature: f32,
    /// Temperature of the choice by action values, in win probability.
    pub choice_temperature: f32,
    /// HL-Gauss deviation in buckets; 0 = one-hot.
    pub bucket_deviation: f32,
    /// A teacher's share in the targets of policy, moves and value; 1 where there is no label.
    pub trust: f32,
}

impl Default for LossConfig {
    fn default() -> Self {
        LossConfig {
            policy: 1.0,
            regret: 0.0,
            actions: 0.5,
            choice: 0.0,
            value: 0.5,
            result: 0.1,
            terminal: 0.1,
            legality: 1.5,
            transition: 0.5,
            best_action_alone: 1.0,
            best_share: 0.7,
            policy_temperature: 0.02,
            choice_temperature: 0.02,
            bucket_deviation: 0.75,
            trust: 0.7,
        }
    }
}

/// The losses; indices of `LossSums::parts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Cross-entropy with the best and nearly best moves (`policy.rs`).
    Policy,
    /// Expected regret of the policy.
    Regret,
    /// Win probability after each move.
    Actions,
    /// Win probability of the state.
    Value,
    /// Result of the game.
    Result,
    /// Whether the game is over.
    Terminal,
    /// Which moves are legal.
    Legality,
    /// The next board.
    Transition,
    /// Cross-entropy of the policy's target with a softmax over action values.
    Choice,
}

/// Number of losses.
pub const LOSSES: usize = 9;

impl Loss {
    /// Column names in a run's CSV.
    pub const NAMES: [&str; LOSSES] = [
        "policy",
        "regret",
        "actions",
        "value",
        "result",
        "terminal",
        "legality",
        "transition",
        "choice",
    ];
}

impl LossConfig {
    /// Weight of an example in the action loss: [`LossConfig::best_action_alone`] if one of several moves'
    /// values is known and no teacher supplies the others, else 1.
    #[must_use]
    pub fn action_share(&self, example: &Example) -> f32 {
        let alone = example.known_actions() == 1 && example.moves.len() > 1;
        if alone { self.best_action_alone } else { 1.0 }
    }

    /// The weights, in the order of [`Loss`].
    #[must_use]
    pub fn weights(&self) -> [f32; LOSSES] {
        let c = self;
        [
            c.policy,
            c.regret,
            c.actions,
            c.value,
            c.result,
            c.terminal,
            c.legality,
            c.transition,
            c.choice,
        ]
    }
}

/// A loss summed over the examples that have its label.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Sum over those examples.
    pub sum: f64,
    /// Number of those examples.
    pub count: f64,
}

impl Sum {
    /// Mean over the examples with the label; 0 if there were none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum / self.count.max(1.0)
    }
}

/// Unweighted sums over examples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossSums {
    /// All examples, labelled or not.
    pub examples: f64,
    /// In the order of [`Loss`].
    pub parts: [Sum; LOSSES],
}

impl LossSums {
    /// One loss's sum.
    #[must_use]
    pub fn part(&self, loss: Loss) -> Sum {
        self.parts[loss as usize]
    }

    /// Adds one example's loss, if it has the label.
    pub(super) fn count(&mut self, loss: Loss, value: Option<f64>) {
        self.count_share(loss, value, 1.0);
    }

    /// Adds the loss of an example with weight `share`.
    pub(super) fn count_share(&mut self, loss: Loss, value: Option<f64>, share: f32) {
        if let Some(value) = value {
            let part = &mut self.parts[loss as usize];
            part.sum += value * f64::from(share);
            part.count += f64::from(share);
        }
    }

    /// Adds another group's sums.
    pub fn add(&mut self, other: &LossSums) {
        self.examples += other.examples;
        for (mine, theirs) in self.parts.iter_mut().zip(&other.parts) {
            mine.sum += theirs.sum;
            mine.count += theirs.count;
        }
    }

    /// Weighted loss per example, the function that the gradient belongs to.
    #[must_use]
    pub fn total(&self, config: &LossConfig) -> f64 {
        let parts = self.parts.iter().zip(config.weights());
        parts.map(|(part, weight)| part.sum * f64::from(weight)).sum::<f64>()
            / self.examples.max(1.0)
    }
}

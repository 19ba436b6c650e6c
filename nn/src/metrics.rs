//! How good the answers are: pure functions over numbers, and [`Metrics`], which adds them up over
//! examples. Knows no tensors and no device. A metric that has no answer (no label, a division by
//! nothing) is left out, never counted as zero.

mod scores;
mod sums;

pub use scores::{best_index, kendall_tau_b, rank_of, regret};
pub use sums::{BINS, Calibration, Counts, Mean};

use crate::data::{Example, Terminal};
use crate::encode::{MoveCode, NextBoard};
use std::fmt;

/// What the network answered to an example. Whatever a head was not asked for is empty or None.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer<'a> {
    /// Logit or probability of each of the example's moves.
    pub policy: &'a [f32],
    /// Win probability of each of the example's moves.
    pub action_values: &'a [f32],
    /// Win probability of the answered state.
    pub value: Option<f32>,
    /// The moves that the legality head finds legal.
    pub legal: Option<&'a [MoveCode]>,
    pub terminal: Option<Terminal>,
    /// The board after the action.
    pub next: Option<&'a NextBoard>,
}

/// Sums over examples; [`fmt::Display`] prints a table of what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The labelled best move has the largest policy.
    pub policy_top1: Mean,
    /// … is among the three largest.
    pub policy_top3: Mean,
    /// … among the five largest.
    pub policy_top5: Mean,
    /// Win probability lost by the policy's choice, where all values are known.
    pub policy_regret: Mean,
    /// The labelled best move has the largest action value.
    pub action_top1: Mean,
    /// Win probability lost by the choice of the largest action value.
    pub action_regret: Mean,
    /// Kendall's tau-b of the action values, per position where all are known.
    pub action_tau: Mean,
    /// Mean absolute error of the action values, over moves.
    pub action_error: Mean,
    /// Mean absolute error of the state's win probability.
    pub value_error: Mean,
    /// Predicted win probability against the label's.
    pub value_calibration: Calibration,
    /// Predicted win probability against the game's result, a draw being half.
    pub result_calibration: Calibration,
    /// Moves found legal, over all moves of all positions.
    pub legality: Counts,
    /// Positions whose legal moves are told without any fault.
    pub legality_exact: Mean,
    pub terminal: Mean,
    /// The whole board after the action is right: pieces, castling rights, en passant.
    pub next_exact: Mean,
    /// Tokens of the next board that are right.
    pub next_tokens: Mean,
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}

impl Metrics {
    /// Takes one example's answer in.
    pub fn add(&mut self, example: &Example, answer: &Answer<'_>) {
        let best = example.best.map(usize::from);
        if let Some(rank) = best.and_then(|best| rank_of(answer.policy, best)) {
            self.policy_top1.add(truth(rank < 1));
            self.policy_top3.add(truth(rank < 3));
            self.policy_top5.add(truth(rank < 5));
        }
        if let Some(rank) = best.and_then(|best| rank_of(answer.action_values, best)) {
            self.action_top1.add(truth(rank < 1));
        }
        let known = &example.action_values;
        if let Some(regret) = regret(answer.policy, known) {
            self.policy_regret.add(f64::from(regret));
        }
        if let Some(regret) = regret(answer.action_values, known) {
            self.action_regret.add(f64::from(regret));
            if let Some(tau) = kendall_tau_b(answer.action_values, known) {
                self.action_tau.add(tau);
            }
        }
        for (value, known) in answer.action_values.iter().zip(known) {
            self.action_error.add(f64::from((value - known).abs()));
        }
        self.add_state(example, answer);
    }

    fn add_state(&mut self, example: &Example, answer: &Answer<'_>) {
        if let Some(value) = answer.value {
            self.value_error.add(f64::from((value - example.value).abs()));
            self.value_calibration.add(value, example.value);
            if let Some(result) = example.result {
                self.result_calibration.add(value, f32::from(result) / 2.0);
            }
        }
        if let Some(legal) = answer.legal {
            let counts = Counts::of(legal, &example.moves);
            self.legality_exact.add(truth(counts.invented + counts.missed == 0));
            self.legality.merge(&counts);
        }
        if let Some(terminal) = answer.terminal {
            self.terminal.add(truth(terminal == example.terminal));
        }
        if let (Some(next), Some(right)) = (answer.next, &example.next) {
            self.next_exact.add(truth(*next == **right));
            for token in 0..64 {
                let same = next.pieces[token] == right.pieces[token]
                    && next.flags[token] == right.flags[token];
                self.next_tokens.add(truth(same));
            }
        }
    }

    /// Takes another sum in, from another thread or batch.
    pub fn merge(&mut self, other: &Metrics) {
        for ((_, mine), (_, theirs)) in self.means_mut().into_iter().zip(other.means()) {
            mine.merge(&theirs);
        }
        self.value_calibration.merge(&other.value_calibration);
        self.result_calibration.merge(&other.result_calibration);
        self.legality.merge(&other.legality);
    }

    fn means_mut(&mut self) -> [(&'static str, &mut Mean); 13] {
        [
            ("policy top 1", &mut self.policy_top1),
            ("policy top 3", &mut self.policy_top3),
            ("policy top 5", &mut self.policy_top5),
            ("policy regret", &mut self.policy_regret),
            ("action values top 1", &mut self.action_top1),
            ("action values regret", &mut self.action_regret),
            ("action values tau-b", &mut self.action_tau),
            ("action values error", &mut self.action_error),
            ("value error", &mut self.value_error),
            ("legal moves exact", &mut self.legality_exact),
            ("terminal", &mut self.terminal),
            ("next board exact", &mut self.next_exact),
            ("next board tokens", &mut self.next_tokens),
        ]
    }

    /// Names and means, in the order of the table.
    #[must_use]
    pub fn means(&self) -> [(&'static str, Mean); 13] {
        let mut copy = *self;
        copy.means_mut().map(|(name, mean)| (name, *mean))
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<24}{:>8}{:>10}", "metric", "value", "of")?;
        for (name, mean) in self.means() {
            if let Some(value) = mean.get() {
                writeln!(f, "{name:<24}{value:>8.4}{:>10}", mean.count())?;
            }
        }
        let legality = &self.legality;
        let rows = [
            ("legality precision", legality.precision(), legality.right + legality.invented),
            ("legality recall", legality.recall(), legality.right + legality.missed),
            ("legality F1", legality.f1(), legality.right + legality.invented + legality.missed),
        ];
        for (name, value, of) in rows {
            if let Some(value) = value {
                writeln!(f, "{name:<24}{value:>8.4}{of:>10}")?;
            }
        }
        for (name, calibration) in
            [("value", &self.value_calibration), ("result", &self.result_calibration)]
        {
            let Some(error) = calibration.error() else {
                continue;
            };
            writeln!(f, "calibration by {name}: error {error:.4}")?;
            for (predicted, outcome) in &calibration.bins {
                if let (Some(mean), Some(came)) = (predicted.get(), outcome.get()) {
                    writeln!(f, "  predicted {mean:.3}, came {came:.3}{:>12}", predicted.count())?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

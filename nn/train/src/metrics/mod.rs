//! Quality of answers: pure functions over numbers, and [`Metrics`], which accumulates them over examples. No
//! tensors, no device. An undefined metric (no label, division by zero) is skipped, never counted as zero.
//!
//! Every mean is over positions, so that its interval is valid: the moves of a position are correlated. Paper
//! 000 must do so too, for its F1 is below both precision and recall.

mod interval;
mod leaf_fit;
mod scores;
mod sums;

pub use interval::{Z95, wilson};
pub(crate) use leaf_fit::{Estimates, LeafFit};
pub(crate) use scores::{kendall_tau_b, mean_error, rank_of, regret};
pub use sums::Calibration;
pub(crate) use sums::{Counts, Mean};

use crate::data::{Example, Terminal};
use nn::encode::{MoveCode, NextBoard};

/// The network's answer to an example. Heads that were not computed are empty or None.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer<'a> {
    /// Logit or probability of each of the example's moves.
    pub policy: &'a [f32],
    /// Win probability of each of the example's moves.
    pub action_values: &'a [f32],
    /// Win probability of the answered state.
    pub value: Option<f32>,
    /// Moves that the legality head predicts.
    pub legal: Option<&'a [MoveCode]>,
    /// The policy's best move among `legal`; None if there is none.
    pub choice: Option<MoveCode>,
    /// Predicted state of the answered position.
    pub terminal: Option<Terminal>,
    /// The board after the action.
    pub next: Option<&'a NextBoard>,
}

/// Sums over examples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The labelled best move is first by policy, among the top three, among the top five.
    pub policy_top: [Mean; 3],
    /// The same by action value.
    pub action_top: [Mean; 3],
    /// Win probability lost by the policy's choice, if there is a choice and all values are known.
    pub policy_regret: Mean,
    /// Win probability lost by choosing the largest action value.
    pub action_regret: Mean,
    /// Kendall's tau-b of the policy and the known values, where all are known.
    pub policy_tau: Mean,
    /// Kendall's tau-b of the action values and the known ones.
    pub action_tau: Mean,
    /// Absolute error of the action values, mean over the known ones of a position.
    pub action_error: Mean,
    /// Signed error of the action value of the labelled best move: predicted minus known, if all values are
    /// known.
    pub best_move_bias: Mean,
    /// The same, mean over the other moves.
    pub other_moves_bias: Mean,
    /// Fit of a leaf's value, if all action values are known.
    pub leaf: LeafFit,
    /// The choice among the moves predicted as legal is legal: paper 000's "best action legal". Like the move
    /// lists, only for ongoing games.
    pub best_legal: Mean,
    /// Precision of the list of predicted legal moves.
    pub precision: Mean,
    /// Recall of the same list.
    pub recall: Mean,
    /// F1 of the same list.
    pub f1: Mean,
    /// The list is exact.
    pub list_exact: Mean,
    /// Ongoing, lost or drawn.
    pub terminal: Mean,
    /// The whole board after the action is right: pieces, castling rights, en passant.
    pub next_exact: Mean,
    /// Share of its 64 squares that are right.
    pub next_squares: Mean,
    /// Absolute error of the state's win probability.
    pub value_error: Mean,
    /// Predicted win probability against the label's.
    pub value_calibration: Calibration,
    /// Predicted win probability against the game's result, a draw as one half.
    pub result_calibration: Calibration,
}

/// Unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share of positions, or of something in them.
    Share,
    /// A difference of win probabilities.
    Probability,
    /// In [-1, 1].
    Correlation,
}

/// One metric, ready to print.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Name in tables.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// None without positions.
    pub value: Option<f64>,
    /// 95 %; None if unknown.
    pub interval: Option<(f64, f64)>,
    /// Number of positions.
    pub count: u64,
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}

impl Metrics {
    /// Adds one example's answer.
    pub fn add(&mut self, example: &Example, answer: &Answer<'_>) {
        let best = example.best.map(usize::from);
        for (scores, top) in
            [(answer.policy, &mut self.policy_top), (answer.action_values, &mut self.action_top)]
        {
            if let Some(rank) = best.and_then(|best| rank_of(scores, best)) {
                for (most, mean) in [1, 3, 5].into_iter().zip(top) {
                    mean.add(truth(rank < most));
                }
            }
        }
        let known = &example.action_values;
        for (scores, lost, tau) in [
            (answer.policy, &mut self.policy_regret, &mut self.policy_tau),
            (answer.action_values, &mut self.action_regret, &mut self.action_tau),
        ] {
            if let Some(regret) = regret(scores, known) {
                lost.add(f64::from(regret));
                tau.add(kendall_tau_b(scores, known).unwrap_or(f64::NAN));
            }
        }
        self.action_error.add(mean_error(answer.action_values, known).unwrap_or(f64::NAN));
        self.add_bias(example, answer);
        self.add_state(example, answer);
        self.add_imagined(example, answer);
    }

    /// Adds signed errors, if every move's value is known.
    fn add_bias(&mut self, example: &Example, answer: &Answer<'_>) {
        let (predicted, known) = (answer.action_values, example.action_values.as_slice());
        let whole = !known.is_empty()
            && known.len() == predicted.len()
            && known.iter().all(|value| value.is_finite());
        let (true, Some(best)) = (whole, example.best.map(usize::from)) else { return };
        let mut others = Mean::default();
        for (index, (predicted, known)) in predicted.iter().zip(known).enumerate() {
            let mean = if index == best { &mut self.best_move_bias } else { &mut others };
            mean.add(f64::from(predicted - known));
        }
        self.other_moves_bias.add(others.get().unwrap_or(f64::NAN));
        let estimates =
            answer.value.and_then(|value| Estimates::of(value, predicted, answer.policy));
        if let Some(estimates) = estimates {
            self.leaf.add(estimates, example.value);
        }
    }

    fn add_state(&mut self, example: &Example, answer: &Answer<'_>) {
        if let Some(value) = answer.value {
            self.value_error.add(f64::from((value - example.value).abs()));
            self.value_calibration.add(value, example.value);
            if let Some(result) = example.result {
                self.result_calibration.add(value, result.score());
            }
        }
    }

    fn add_imagined(&mut self, example: &Example, answer: &Answer<'_>) {
        if let Some(legal) = answer.legal
            && !example.moves.is_empty()
        {
            let is_legal = |choice| example.moves.contains(&choice);
            self.best_legal.add(truth(answer.choice.is_some_and(is_legal)));
            let counts = Counts::of(legal, &example.moves);
            self.list_exact.add(truth(counts.invented + counts.missed == 0));
            for (mean, value) in [
                (&mut self.precision, counts.precision()),
                (&mut self.recall, counts.recall()),
                (&mut self.f1, counts.f1()),
            ] {
                mean.add(value.unwrap_or(f64::NAN));
            }
        }
        if let Some(terminal) = answer.terminal {
            self.terminal.add(truth(terminal == example.terminal));
        }
        if let (Some(next), Some(right)) = (answer.next, &example.next) {
            self.next_exact.add(truth(*next == **right));
            let same = (0..64).filter(|&token| {
                next.pieces[token] == right.pieces[token] && next.flags[token] == right.flags[token]
            });
            self.next_squares.add(same.count() as f64 / 64.0);
        }
    }

    /// Adds another sum, from another thread or batch.
    pub fn merge(&mut self, other: &Metrics) {
        let mut other = *other;
        for ((_, _, mine), (_, _, theirs)) in self.means_mut().into_iter().zip(other.means_mut()) {
            mine.merge(theirs);
        }
        self.leaf.merge(&other.leaf);
        self.value_calibration.merge(&other.value_calibration);
        self.result_calibration.merge(&other.result_calibration);
    }

    /// All means in table order, those over the same positions adjacent.
    fn means_mut(&mut self) -> [(&'static str, Unit, &mut Mean); 22] {
        let [policy1, policy3, policy5] = &mut self.policy_top;
        let [action1, action3, action5] = &mut self.action_top;
        [
            ("policy top 1", Unit::Share, policy1),
            ("policy top 3", Unit::Share, policy3),
            ("policy top 5", Unit::Share, policy5),
            ("action value top 1", Unit::Share, action1),
            ("action value top 3", Unit::Share, action3),
            ("action value top 5", Unit::Share, action5),
            ("policy regret", Unit::Probability, &mut self.policy_regret),
            ("action value regret", Unit::Probability, &mut self.action_regret),
            ("policy tau-b", Unit::Correlation, &mut self.policy_tau),
            ("action value tau-b", Unit::Correlation, &mut self.action_tau),
            ("action value error", Unit::Probability, &mut self.action_error),
            ("best move bias", Unit::Probability, &mut self.best_move_bias),
            ("other moves bias", Unit::Probability, &mut self.other_moves_bias),
            ("best action legal", Unit::Share, &mut self.best_legal),
            ("move list precision", Unit::Share, &mut self.precision),
            ("move list recall", Unit::Share, &mut self.recall),
            ("move list F1", Unit::Share, &mut self.f1),
            ("move list exact", Unit::Share, &mut self.list_exact),
            ("next state exact", Unit::Share, &mut self.next_exact),
            ("next state squares", Unit::Share, &mut self.next_squares),
            ("game end", Unit::Share, &mut self.terminal),
            ("value error", Unit::Probability, &mut self.value_error),
        ]
    }

    /// Every metric in table order, empty ones too: all sums have the same rows.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut copy = *self;
        let means = copy.means_mut().map(|(name, unit, mean)| Row {
            name,
            unit,
            value: mean.get(),
            interval: match unit {
                Unit::Share => mean.share_interval(),
                Unit::Probability | Unit::Correlation => mean.interval(),
            },
            count: mean.count(),
        });
        let leaf = ["state value bias", "max Q bias", "mean Q bias"];
        let leaf = leaf.into_iter().zip(&self.leaf.bias).map(|(name, mean)| Row {
            name,
            unit: Unit::Probability,
            value: mean.get(),
            interval: mean.interval(),
            count: mean.count(),
        });
        let calibrations = [
            ("value calibration", &self.value_calibration),
            ("result calibration", &self.result_calibration),
        ];
        let calibrations = calibrations.map(|(name, calibration)| Row {
            name,
            unit: Unit::Probability,
            value: calibration.error(),
            interval: None,
            count: calibration.count(),
        });
        means.into_iter().chain(leaf).chain(calibrations).collect()
    }
}

#[cfg(test)]
mod tests;

//! Accumulators: means, reliability bins, confusion counts.

use super::interval::{Z95, wilson};
use nn::encode::MoveCode;
use std::collections::HashSet;

/// Bins of a reliability diagram over [0, 1].
pub const BINS: usize = 10;

/// A mean with its count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    sum: f64,
    squares: f64,
    count: u64,
}

impl Mean {
    /// Adds `value`; NaN is skipped.
    pub fn add(&mut self, value: f64) {
        if !value.is_nan() {
            self.sum += value;
            self.squares += value * value;
            self.count += 1;
        }
    }

    /// The mean; None if empty.
    #[must_use]
    pub fn get(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// 95 % interval by the normal approximation; None for fewer than two values.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        let margin = Z95 * (self.variance()? / self.count as f64).sqrt();
        self.get().map(|mean| (mean - margin, mean + margin))
    }

    /// 95 % interval by Wilson's formula, for values in [0, 1]. Values that are shares themselves (a precision
    /// per position) vary less than a yes-or-no outcome: the number of trials is then that of yes-or-no
    /// outcomes with the same standard error.
    #[must_use]
    pub fn share_interval(&self) -> Option<(f64, f64)> {
        let share = self.get()?.clamp(0.0, 1.0);
        let yes_or_no = share * (1.0 - share);
        let trials = match self.variance() {
            Some(variance) if variance > 0.0 && yes_or_no > variance => yes_or_no / variance,
            // No variance, or the largest possible.
            _ => 1.0,
        };
        Some(wilson(share, trials * self.count as f64))
    }

    /// Variance with Bessel's correction.
    fn variance(&self) -> Option<f64> {
        let count = self.count as f64;
        let squares = self.squares - self.sum * self.sum / count;
        (self.count > 1).then(|| squares.max(0.0) / (count - 1.0))
    }

    pub(super) fn merge(&mut self, other: &Mean) {
        self.sum += other.sum;
        self.squares += other.squares;
        self.count += other.count;
    }
}

/// Reliability: binned predictions and their outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Per bin the mean prediction and the mean outcome.
    pub bins: [(Mean, Mean); BINS],
}

impl Calibration {
    /// `predicted` and `outcome` in [0, 1]; others and NaN are skipped.
    pub fn add(&mut self, predicted: f32, outcome: f32) {
        let unit = 0.0..=1.0;
        if unit.contains(&predicted) && unit.contains(&outcome) {
            let bin = ((predicted * BINS as f32) as usize).min(BINS - 1);
            self.bins[bin].0.add(f64::from(predicted));
            self.bins[bin].1.add(f64::from(outcome));
        }
    }

    /// Expected calibration error: mean distance of prediction and outcome over the bins, weighted by
    /// their counts (Guo et al., "On calibration of modern neural networks", 2017, eq. 3).
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let gap = |(predicted, outcome): &(Mean, Mean)| (predicted.sum - outcome.sum).abs();
        let count = self.count();
        (count > 0).then(|| self.bins.iter().map(gap).sum::<f64>() / count as f64)
    }

    /// Number of predictions.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|(predicted, _)| predicted.count).sum()
    }

    pub(super) fn merge(&mut self, other: &Calibration) {
        for ((predicted, outcome), theirs) in self.bins.iter_mut().zip(&other.bins) {
            predicted.merge(&theirs.0);
            outcome.merge(&theirs.1);
        }
    }
}

/// Confusion counts of a prediction about the moves of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Predicted and true.
    pub right: u64,
    /// Predicted but not true.
    pub invented: u64,
    /// True but not predicted.
    pub missed: u64,
}

impl Counts {
    /// Compares two sets of moves.
    #[must_use]
    pub fn of(predicted: &[MoveCode], legal: &[MoveCode]) -> Counts {
        let (predicted, legal): (HashSet<_>, HashSet<_>) =
            (predicted.iter().collect(), legal.iter().collect());
        let right = predicted.intersection(&legal).count() as u64;
        Counts {
            right,
            invented: predicted.len() as u64 - right,
            missed: legal.len() as u64 - right,
        }
    }

    /// True positives among predictions; None without predictions.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        share(self.right, self.right + self.invented)
    }

    /// True positives among the true; None if nothing is true.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        share(self.right, self.right + self.missed)
    }

    /// Harmonic mean of precision and recall; None if both sets are empty.
    #[must_use]
    pub fn f1(&self) -> Option<f64> {
        share(2 * self.right, 2 * self.right + self.invented + self.missed)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

//! How good the answers are: pure functions over numbers, and [`Metrics`], which adds them up over
//! examples. Knows no tensors and no device. A metric that has no answer (no label, a division by
//! nothing) is left out, never counted as zero.

use crate::data::{Example, Terminal};
use crate::encode::{MoveCode, NextBoard};
use std::collections::HashSet;
use std::fmt;

/// Bins of a reliability diagram over [0, 1].
pub const BINS: usize = 10;

/// Index of the largest score; the first of equal ones. NaN is less than any number. None if empty.
#[must_use]
pub fn best_index(scores: &[f32]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (index, score) in scores.iter().enumerate() {
        if best
            .is_none_or(|best| *score > scores[best] || (scores[best].is_nan() && !score.is_nan()))
        {
            best = Some(index);
        }
    }
    best
}

/// How many scores are larger than that of `target`, or equal to it and before it; NaN counts as the
/// smallest. The rank of the best is 0. None if there is no such index.
#[must_use]
pub fn rank_of(scores: &[f32], target: usize) -> Option<usize> {
    let own = *scores.get(target)?;
    let ahead = |(index, &score): (usize, &f32)| {
        score > own
            || (own.is_nan() && !score.is_nan())
            || (index < target && (score == own || own.is_nan()))
    };
    Some(
        scores
            .iter()
            .enumerate()
            .filter(|&each| ahead(each))
            .count(),
    )
}

/// Win probability lost by playing the move with the best score: in [0, 1]. None unless the values of
/// all moves are known.
#[must_use]
pub fn regret(scores: &[f32], values: &[f32]) -> Option<f32> {
    if scores.len() != values.len() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let chosen = best_index(scores)?;
    let best = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    Some(best - values[chosen])
}

/// Kendall's tau-b of two scorings of the same things, in [-1, 1]: agreement of the order of pairs, with
/// ties taken into account (Kendall, "The treatment of ties in ranking problems", 1945). Pairs with NaN
/// are left out. None if either side ties everything.
#[must_use]
pub fn kendall_tau_b(a: &[f32], b: &[f32]) -> Option<f64> {
    let (mut agree, mut a_differs, mut b_differs) = (0i64, 0i64, 0i64);
    for i in 0..a.len().min(b.len()) {
        for j in 0..i {
            let (Some(da), Some(db)) = (a[i].partial_cmp(&a[j]), b[i].partial_cmp(&b[j])) else {
                continue;
            };
            agree += da as i64 * db as i64;
            a_differs += i64::from(da.is_ne());
            b_differs += i64::from(db.is_ne());
        }
    }
    let scale = (a_differs as f64 * b_differs as f64).sqrt();
    (scale > 0.0).then(|| agree as f64 / scale)
}

/// A mean that knows how many numbers it is of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    /// Takes `value` in; NaN is left out.
    pub fn add(&mut self, value: f64) {
        if !value.is_nan() {
            self.sum += value;
            self.count += 1;
        }
    }

    /// None of no numbers.
    #[must_use]
    pub fn get(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// How many numbers.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    fn merge(&mut self, other: &Mean) {
        self.sum += other.sum;
        self.count += other.count;
    }
}

/// Reliability: predictions in bins beside what came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Per bin the mean prediction and the mean outcome.
    pub bins: [(Mean, Mean); BINS],
}

impl Calibration {
    /// `predicted` and `outcome` in [0, 1]; others and NaN are left out.
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
        let (mut sum, mut count) = (0.0, 0);
        for (predicted, outcome) in &self.bins {
            sum += (predicted.sum - outcome.sum).abs();
            count += predicted.count;
        }
        (count > 0).then(|| sum / count as f64)
    }

    fn merge(&mut self, other: &Calibration) {
        for ((predicted, outcome), theirs) in self.bins.iter_mut().zip(&other.bins) {
            predicted.merge(&theirs.0);
            outcome.merge(&theirs.1);
        }
    }
}

/// Counts of a yes-or-no prediction, summed over positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub right: u64,
    /// Predicted but not true.
    pub invented: u64,
    /// True but not predicted.
    pub missed: u64,
}

impl Counts {
    /// Of two sets of moves.
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

    /// Share of the predicted that are true; None if nothing was predicted.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        share(self.right, self.right + self.invented)
    }

    /// Share of the true that were predicted; None if nothing is true.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        share(self.right, self.right + self.missed)
    }

    /// Harmonic mean of precision and recall; None if there was nothing to tell.
    #[must_use]
    pub fn f1(&self) -> Option<f64> {
        share(2 * self.right, 2 * self.right + self.invented + self.missed)
    }

    fn merge(&mut self, other: &Counts) {
        self.right += other.right;
        self.invented += other.invented;
        self.missed += other.missed;
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

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
            self.value_error
                .add(f64::from((value - example.value).abs()));
            self.value_calibration.add(value, example.value);
            if let Some(result) = example.result {
                self.result_calibration.add(value, f32::from(result) / 2.0);
            }
        }
        if let Some(legal) = answer.legal {
            let counts = Counts::of(legal, &example.moves);
            self.legality_exact
                .add(truth(counts.invented + counts.missed == 0));
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
            (
                "legality precision",
                legality.precision(),
                legality.right + legality.invented,
            ),
            (
                "legality recall",
                legality.recall(),
                legality.right + legality.missed,
            ),
            (
                "legality F1",
                legality.f1(),
                legality.right + legality.invented + legality.missed,
            ),
        ];
        for (name, value, of) in rows {
            if let Some(value) = value {
                writeln!(f, "{name:<24}{value:>8.4}{of:>10}")?;
            }
        }
        for (name, calibration) in [
            ("value", &self.value_calibration),
            ("result", &self.result_calibration),
        ] {
            let Some(error) = calibration.error() else {
                continue;
            };
            writeln!(f, "calibration by {name}: error {error:.4}")?;
            for (predicted, outcome) in &calibration.bins {
                if let (Some(mean), Some(came)) = (predicted.get(), outcome.get()) {
                    writeln!(
                        f,
                        "  predicted {mean:.3}, came {came:.3}{:>12}",
                        predicted.count()
                    )?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Source;
    use crate::encode::Features;
    use shakmaty::Chess;

    const NAN: f32 = f32::NAN;

    #[test]
    fn ranks_and_choices_by_hand() {
        let scores = [0.2, 0.9, NAN, 0.9, 0.1];
        assert_eq!(best_index(&scores), Some(1));
        assert_eq!(
            [0, 1, 2, 3, 4].map(|index| rank_of(&scores, index)),
            [2, 0, 4, 1, 3].map(Some)
        );
        assert_eq!((rank_of(&scores, 5), best_index(&[])), (None, None));
        assert_eq!(
            (best_index(&[NAN, 0.0]), best_index(&[NAN, NAN])),
            (Some(1), Some(0))
        );
        assert_eq!(
            (rank_of(&[NAN, NAN], 0), rank_of(&[NAN, NAN], 1)),
            (Some(0), Some(1))
        );
    }

    #[test]
    fn regret_is_what_the_choice_costs() {
        assert_eq!(regret(&[1.0, 3.0, 2.0], &[0.75, 0.5, 0.25]), Some(0.25));
        assert_eq!(regret(&[5.0, 3.0, 2.0], &[0.75, 0.5, 0.25]), Some(0.0));
        assert_eq!(regret(&[5.0, 3.0], &[0.75, NAN]), None);
        assert_eq!(
            (regret(&[5.0], &[0.75, 0.5]), regret(&[], &[])),
            (None, None)
        );
    }

    #[test]
    fn tau_b_by_hand() {
        let tau = |a: &[f32], b: &[f32]| kendall_tau_b(a, b);
        assert_eq!(tau(&[1.0, 2.0, 3.0], &[0.1, 0.2, 0.3]), Some(1.0));
        assert_eq!(tau(&[1.0, 2.0, 3.0], &[0.3, 0.2, 0.1]), Some(-1.0));
        // Pairs: two agree, one does not.
        assert_eq!(tau(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]), Some(1.0 / 3.0));
        // b ties one pair of three: 2 / sqrt(3 * 2).
        let tied = tau(&[1.0, 2.0, 3.0], &[1.0, 2.0, 2.0]).expect("a number");
        assert!((tied - 2.0 / 6f64.sqrt()).abs() < 1e-12);
        assert_eq!(
            (tau(&[1.0, 1.0], &[1.0, 2.0]), tau(&[1.0], &[1.0])),
            (None, None)
        );
        assert_eq!(tau(&[1.0, NAN, 2.0], &[1.0, 0.0, 2.0]), Some(1.0));
    }

    #[test]
    fn calibration_by_hand() {
        let mut calibration = Calibration::default();
        for (predicted, outcome) in [
            (0.95, 1.0),
            (0.95, 0.0),
            (1.0, 1.0),
            (0.25, 0.25),
            (NAN, 1.0),
            (0.5, NAN),
            (1.5, 1.0),
        ] {
            calibration.add(predicted, outcome);
        }
        assert_eq!(calibration.bins[9].0.count(), 3);
        assert_eq!(calibration.bins[2].1.get(), Some(0.25));
        // |0.95 + 0.95 + 1 - 2| over four predictions.
        assert!((calibration.error().expect("some") - 0.9 / 4.0).abs() < 1e-6);
        assert_eq!(Calibration::default().error(), None);
    }

    #[test]
    fn legality_counts_by_hand() {
        let code = |to| MoveCode {
            from: 0,
            to,
            promotion: 0,
        };
        let counts = Counts::of(
            &[code(1), code(2), code(3), code(3)],
            &[code(2), code(3), code(4), code(5)],
        );
        assert_eq!(
            counts,
            Counts {
                right: 2,
                invented: 1,
                missed: 2
            }
        );
        assert_eq!(
            (counts.precision(), counts.recall()),
            (Some(2.0 / 3.0), Some(0.5))
        );
        assert_eq!(counts.f1(), Some(4.0 / 7.0));
        let none = Counts::default();
        assert_eq!(
            (none.precision(), none.recall(), none.f1()),
            (None, None, None)
        );
    }

    fn example() -> Example {
        let board = Chess::default();
        let code = |to| MoveCode {
            from: 12,
            to,
            promotion: 0,
        };
        Example {
            features: Features::of(&board),
            source: Source::ActionValues,
            moves: vec![code(20), code(28), code(30)],
            best: Some(1),
            action_values: vec![0.5, 0.75, 0.25],
            value: 0.75,
            result: Some(2),
            terminal: Terminal::Ongoing,
            next: Some(Box::new(NextBoard::of(&board))),
        }
    }

    #[test]
    fn sums_are_those_of_the_parts_however_they_are_merged() {
        let example = example();
        let mut wrong = NextBoard::of(&Chess::default());
        wrong.pieces[30] = 1;
        let good = Answer {
            policy: &[0.1, 0.8, 0.1],
            action_values: &[0.5, 0.75, 0.25],
            value: Some(0.75),
            legal: Some(&example.moves),
            terminal: Some(Terminal::Ongoing),
            next: example.next.as_deref(),
        };
        let bad = Answer {
            policy: &[0.8, 0.1, 0.1],
            action_values: &[0.25, 0.25, 0.75],
            value: Some(0.25),
            legal: Some(&example.moves[..1]),
            terminal: Some(Terminal::Drawn),
            next: Some(&wrong),
        };
        let mut both = Metrics::default();
        both.add(&example, &good);
        both.add(&example, &bad);
        let (mut one, mut two) = (Metrics::default(), Metrics::default());
        one.add(&example, &good);
        two.add(&example, &bad);
        one.merge(&two);
        assert_eq!(one, both);
        let means = both.means().map(|(_, mean)| mean.get().expect("a mean"));
        // tau-b of the bad answer: pairs (1,0) tied, (2,0) against, (2,1) against: -2 / sqrt(2 * 3).
        let tau = (1.0 - 2.0 / 6f64.sqrt()) / 2.0;
        let expected = [
            0.5,
            1.0,
            1.0,
            0.125,
            0.5,
            0.25,
            tau,
            (0.25 + 0.5 + 0.5) / 6.0,
            0.25,
            0.5,
            0.5,
            0.5,
            127.0 / 128.0,
        ];
        for ((mean, expected), (name, _)) in means.iter().zip(expected).zip(both.means()) {
            assert!(
                (mean - expected).abs() < 1e-9,
                "{name}: {mean} instead of {expected}"
            );
        }
        assert_eq!(
            both.legality,
            Counts {
                right: 4,
                invented: 0,
                missed: 2
            }
        );
        let table = both.to_string();
        assert!(
            table.contains("policy top 1              0.5000         2\n"),
            "{table}"
        );
        assert!(
            table.contains("calibration by result: error 0.5000\n"),
            "{table}"
        );
    }

    #[test]
    fn what_has_no_label_or_no_answer_is_left_out() {
        let mut unlabelled = example();
        (unlabelled.best, unlabelled.value, unlabelled.result) = (None, NAN, None);
        unlabelled.action_values.clear();
        let mut metrics = Metrics::default();
        metrics.add(
            &unlabelled,
            &Answer {
                policy: &[0.0; 3],
                action_values: &[0.0; 3],
                value: Some(0.5),
                ..Answer::default()
            },
        );
        metrics.add(&example(), &Answer::default());
        assert_eq!(metrics, Metrics::default());
        assert_eq!(metrics.to_string().lines().count(), 1);
    }
}

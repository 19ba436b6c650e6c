//! Least squares for a search's backed-up value from one evaluation of a leaf: value = α V + β max Q + γ ΣπQ,
//! where V is the state value, Q the action values and π the policy. All three estimate the same quantity; the
//! fit weighs them.

use super::sums::Mean;

/// The three estimates of one position's value, in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimates {
    /// Mean of the state value's distribution.
    pub state: f64,
    /// The largest action value.
    pub best_action: f64,
    /// The action values' mean under the policy.
    pub policy_mean: f64,
}

impl Estimates {
    /// None without moves, or if lengths differ.
    #[must_use]
    pub fn of(value: f32, action_values: &[f32], policy: &[f32]) -> Option<Estimates> {
        if action_values.is_empty() || action_values.len() != policy.len() {
            return None;
        }
        let best = action_values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mean: f32 = action_values.iter().zip(policy).map(|(q, p)| q * p).sum();
        let total: f32 = policy.iter().sum();
        (total > 0.0).then(|| Estimates {
            state: f64::from(value),
            best_action: f64::from(best),
            policy_mean: f64::from(mean / total),
        })
    }

    fn terms(self) -> [f64; TERMS] {
        [self.state, self.best_action, self.policy_mean]
    }
}

const TERMS: usize = 3;

/// Sums of the normal equations, and the signed error of each estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeafFit {
    products: [[f64; TERMS]; TERMS],
    targets: [f64; TERMS],
    target_squares: f64,
    /// Estimate minus label: state value, best action value, action values under the policy.
    pub bias: [Mean; TERMS],
}

impl LeafFit {
    /// Adds a position whose true value is `label`; NaN is skipped.
    pub fn add(&mut self, estimates: Estimates, label: f32) {
        if label.is_nan() {
            return;
        }
        let (terms, label) = (estimates.terms(), f64::from(label));
        for (i, term) in terms.into_iter().enumerate() {
            for (j, other) in terms.into_iter().enumerate() {
                self.products[i][j] += term * other;
            }
            self.targets[i] += term * label;
            self.bias[i].add(term - label);
        }
        self.target_squares += label * label;
    }

    pub(super) fn merge(&mut self, other: &LeafFit) {
        for i in 0..TERMS {
            for j in 0..TERMS {
                self.products[i][j] += other.products[i][j];
            }
            self.targets[i] += other.targets[i];
            self.bias[i].merge(&other.bias[i]);
        }
        self.target_squares += other.target_squares;
    }

    /// Number of positions.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.bias[0].count()
    }

    /// The least-squares weights (α, β, γ); None if the positions do not determine them.
    #[must_use]
    pub fn weights(&self) -> Option<[f64; TERMS]> {
        // Gaussian elimination with the largest pivot.
        let (mut a, mut b) = (self.products, self.targets);
        for column in 0..TERMS {
            let pivot = (column..TERMS)
                .max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()))?;
            if a[pivot][column].abs() < 1e-9 * self.count().max(1) as f64 {
                return None;
            }
            a.swap(column, pivot);
            b.swap(column, pivot);
            let (pivot_row, pivot_target) = (a[column], b[column]);
            for row in column + 1..TERMS {
                let factor = a[row][column] / pivot_row[column];
                for (mine, pivot) in a[row].iter_mut().zip(pivot_row) {
                    *mine -= factor * pivot;
                }
                b[row] -= factor * pivot_target;
            }
        }
        let mut weights = [0.0; TERMS];
        for row in (0..TERMS).rev() {
            let known: f64 = (row + 1..TERMS).map(|k| a[row][k] * weights[k]).sum();
            weights[row] = (b[row] - known) / a[row][row];
        }
        Some(weights)
    }

    /// RMS error of `weights`; None without positions.
    #[must_use]
    pub fn error(&self, weights: [f64; TERMS]) -> Option<f64> {
        let mut sum = self.target_squares;
        for i in 0..TERMS {
            sum -= 2.0 * weights[i] * self.targets[i];
            for j in 0..TERMS {
                sum += weights[i] * weights[j] * self.products[i][j];
            }
        }
        (self.count() > 0).then(|| (sum.max(0.0) / self.count() as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_that_made_the_labels_are_found() {
        let mut whole = LeafFit::default();
        let mut part = LeafFit::default();
        assert_eq!(whole.weights(), None);
        for i in 0..40_u32 {
            let number = |prime: u32| f64::from(i * prime % 41) / 41.0;
            let estimates =
                Estimates { state: number(7), best_action: number(11), policy_mean: number(23) };
            let label = 0.5 * number(7) + 0.3 * number(11) + 0.1 * number(23);
            let half = if i % 2 == 0 { &mut whole } else { &mut part };
            half.add(estimates, label as f32);
        }
        whole.merge(&part);
        let weights = whole.weights().expect("determined");
        for (weight, made) in weights.into_iter().zip([0.5, 0.3, 0.1]) {
            assert!((weight - made).abs() < 1e-5, "{weights:?}");
        }
        assert!(whole.error(weights).expect("positions") < 1e-4);
        assert!(whole.error([1.0, 0.0, 0.0]).expect("positions") > 0.01);
        assert_eq!(whole.count(), 40);
    }

    #[test]
    fn the_policy_mean_is_over_the_policys_own_mass() {
        let estimates = Estimates::of(0.4, &[0.2, 0.8], &[0.3, 0.1]).expect("moves");
        assert!((estimates.policy_mean - 0.35).abs() < 1e-6);
        assert!((estimates.best_action - 0.8).abs() < 1e-6);
        assert_eq!(Estimates::of(0.4, &[], &[]), None);
        assert_eq!(Estimates::of(0.4, &[0.2], &[]), None);
    }
}

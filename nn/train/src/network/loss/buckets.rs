//! Win probabilities as distributions over the 64 buckets.

use nn::net::BUCKETS;

/// Resolution of the table of targets: closer values share a row.
const STEPS: usize = 1024;

/// Maps a win probability to a target distribution.
pub struct Buckets {
    /// `[STEPS + 1, 64]`.
    table: Vec<[f32; BUCKETS]>,
}

impl Buckets {
    /// HL-Gauss: the mass that a normal distribution around the value, `deviation` wide in buckets, puts into
    /// each bucket, renormalised (Imani and White 2018; Farebrother et al. 2024). A deviation of 0 gives the
    /// one-hot targets of paper 000.
    #[must_use]
    pub fn new(deviation: f32) -> Buckets {
        let table = (0..=STEPS)
            .map(|i| {
                let value = i as f64 / STEPS as f64 * BUCKETS as f64;
                let mut row = [0.0; BUCKETS];
                if deviation <= 0.0 {
                    row[(value as usize).min(BUCKETS - 1)] = 1.0;
                    return row;
                }
                let cdf = |edge: usize| normal_cdf((edge as f64 - value) / f64::from(deviation));
                let total = cdf(BUCKETS) - cdf(0);
                for (b, mass) in row.iter_mut().enumerate() {
                    *mass = ((cdf(b + 1) - cdf(b)) / total) as f32;
                }
                row
            })
            .collect();
        Buckets { table }
    }

    /// The target for a win probability in [0, 1] (clamped).
    #[must_use]
    pub fn target(&self, value: f32) -> &[f32; BUCKETS] {
        &self.table[Buckets::step(value)]
    }

    /// Row of the table for a win probability in [0, 1] (clamped).
    fn step(value: f32) -> usize {
        (value.clamp(0.0, 1.0) * STEPS as f32).round() as usize
    }
}

/// Distribution function of the standard normal distribution.
fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(row: &[f32]) -> f32 {
        row.iter().enumerate().map(|(i, p)| p * (i as f32 + 0.5) / 64.0).sum()
    }

    #[test]
    fn targets_are_distributions_around_their_value() {
        let buckets = Buckets::new(0.75);
        for value in [0.0, 0.1, 0.5, 0.77, 1.0] {
            let row = buckets.target(value);
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!((mean(row) - value).abs() < 0.012, "{value}: {}", mean(row));
        }
        assert!((mean(buckets.target(0.4)) - 0.4).abs() < 1e-3);
    }

    #[test]
    fn no_deviation_is_one_hot() {
        let buckets = Buckets::new(0.0);
        assert_eq!(buckets.target(1.0)[63], 1.0);
        assert_eq!(buckets.target(0.26)[16], 1.0);
    }
}

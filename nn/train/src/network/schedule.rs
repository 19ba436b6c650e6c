//! Learning rate schedule, counted in examples so that batch size and resumption do not change it.

use serde::{Deserialize, Serialize};

/// Warm-up, plateau, decay. Raising `examples` and resuming prolongs the plateau.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Plateau rate.
    pub rate: f32,
    /// Examples of linear warm-up.
    pub warmup: u64,
    /// Examples of the whole run.
    pub examples: u64,
    /// Final share of the run in which the rate falls linearly to `final_share`.
    pub decay: f64,
    /// Final rate relative to the plateau's.
    pub final_share: f32,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule {
            rate: 2.5e-3,
            warmup: 100_000,
            examples: 4_000_000,
            decay: 0.4,
            final_share: 0.02,
        }
    }
}

impl Schedule {
    /// The rate after `seen` examples.
    #[must_use]
    pub fn rate(&self, seen: u64) -> f32 {
        let warm = if self.warmup == 0 { 1.0 } else { (seen as f32 / self.warmup as f32).min(1.0) };
        let left = 1.0 - (seen as f64 / self.examples.max(1) as f64).min(1.0);
        let fall = if left >= self.decay { 1.0 } else { (left / self.decay) as f32 };
        self.rate * warm * fall.max(self.final_share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_rises_holds_and_falls() {
        let s = Schedule { rate: 1.0, warmup: 100, examples: 1000, decay: 0.5, final_share: 0.1 };
        assert_eq!([s.rate(0), s.rate(50), s.rate(300)], [0.0, 0.5, 1.0]);
        assert!((s.rate(750) - 0.5).abs() < 1e-6);
        assert_eq!([s.rate(1000), s.rate(5000)], [0.1, 0.1]);
    }
}

//! Sequential probability ratio test (SPRT): generalised likelihood ratio over the pentanomial outcomes of game pairs,
//! exact in that it maximises the likelihood under each hypothesis instead of approximating it (Van den Bergh, "The
//! generalised sequential probability ratio test", and "Normalized Elo", both of fishtest's documentation).

use super::elo::{Moments, Pentanomial, Z95, expected_score};
use std::f64::consts::{LN_10, SQRT_2};
use std::fmt;

/// Normalised Elo per standard deviation of a game's result: 800 / ln 10.
const NORMALISED: f64 = 800.0 / LN_10;
/// Regularisation of outcomes with count 0, as in fishtest.
const MIN_COUNT: f64 = 1e-3;
/// Maximum iterations for the constrained distribution; five are usual.
const STEPS: usize = 50;

/// Unit of the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundUnit {
    /// Distance of the score from one half in standard deviations: the length of a test does not depend on the draw
    /// rate.
    Normalised,
    /// Logistic Elo.
    Logistic,
}

/// Tests `elo1` against `elo0`, both error rates 5 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprt {
    pub elo0: f64,
    pub elo1: f64,
    pub unit: BoundUnit,
}

/// Result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SprtVerdict {
    Accepted,
    Rejected,
}

impl fmt::Display for SprtVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SprtVerdict::Accepted => "better",
            SprtVerdict::Rejected => "not better",
        })
    }
}

impl Sprt {
    /// Wald's bound for error rates of 5 %: ln(0.95 / 0.05).
    pub const BOUND: f64 = 2.944_439;

    /// Log-likelihood ratio. 0 if a bound is unattainable.
    #[must_use]
    pub fn llr(&self, pairs: &Pentanomial) -> f64 {
        if pairs.iter().sum::<u64>() == 0 {
            return 0.0;
        }
        let times = pairs.map(|times| (times as f64).max(MIN_COUNT));
        let count: f64 = times.iter().sum();
        let seen = times.map(|times| times / count);
        let likely = |elo: f64| match self.unit {
            BoundUnit::Logistic => of_mean(&seen, expected_score(elo)),
            // The mean of a pair has half the variance of a game.
            BoundUnit::Normalised => of_distance(&seen, elo / NORMALISED * SQRT_2),
        };
        match (likely(self.elo0), likely(self.elo1)) {
            (Some(no), Some(yes)) => {
                let ratio = no.iter().zip(&yes).map(|(no, yes)| (yes / no).ln());
                count * ratio.zip(seen).map(|(ratio, share)| ratio * share).sum::<f64>()
            }
            _ => 0.0,
        }
    }

    #[must_use]
    pub fn verdict(&self, pairs: &Pentanomial) -> Option<SprtVerdict> {
        let llr = self.llr(pairs);
        if llr >= Sprt::BOUND {
            Some(SprtVerdict::Accepted)
        } else if llr <= -Sprt::BOUND {
            Some(SprtVerdict::Rejected)
        } else {
            None
        }
    }
}

/// Normalised Elo with the half-width of its 95 % interval. None without variance.
#[must_use]
pub fn normalised_elo(pairs: &Pentanomial) -> Option<(f64, f64)> {
    let Moments { count, mean, variance } = Moments::of_counts(*pairs)?;
    let of_game = (2.0 * variance).sqrt();
    let games = 2.0 * count;
    (variance > 0.0).then(|| (NORMALISED * (mean - 0.5) / of_game, Z95 * NORMALISED / games.sqrt()))
}

/// A pair's score, from 0 to 1.
fn score(outcome: usize) -> f64 {
    outcome as f64 / 4.0
}

/// Maximum-likelihood distribution with this mean: `p / (1 + x (a - mean))`.
fn of_mean(seen: &[f64; 5], mean: f64) -> Option<[f64; 5]> {
    tilted(seen, std::array::from_fn(|outcome| score(outcome) - mean))
}

/// Maximum-likelihood distribution whose mean is `distance` standard deviations above one half, by repeated
/// linearisation ("Normalized Elo", section 4.1).
fn of_distance(seen: &[f64; 5], distance: f64) -> Option<[f64; 5]> {
    let mut likely = [0.2; 5];
    for _ in 0..STEPS {
        let Moments { mean, variance, .. } = Moments::of_points(&likely);
        let deviation = variance.sqrt();
        let offsets = std::array::from_fn(|outcome| {
            let at = score(outcome);
            let bend = 1.0 + ((mean - at) / deviation).powi(2);
            at - 0.5 - distance * deviation * bend / 2.0
        });
        let next = tilted(seen, offsets)?;
        let change = next.iter().zip(&likely).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        likely = next;
        if change < 1e-12 {
            break;
        }
    }
    Some(likely)
}

/// `p / (1 + x a)` with `x` such that `sum p a / (1 + x a)` = 0. None if all offsets have one sign.
fn tilted(seen: &[f64; 5], offsets: [f64; 5]) -> Option<[f64; 5]> {
    let (least, most) = offsets
        .iter()
        .fold((0.0_f64, 0.0_f64), |(least, most), offset| (least.min(*offset), most.max(*offset)));
    if least >= 0.0 || most <= 0.0 {
        return None;
    }
    // Between the poles, the sum decreases from plus to minus infinity.
    let (mut low, mut high) = (-1.0 / most, -1.0 / least);
    for _ in 0..200 {
        let x = (low + high) / 2.0;
        let sum: f64 = seen.iter().zip(offsets).map(|(p, a)| p * a / (1.0 + x * a)).sum();
        if sum > 0.0 {
            low = x;
        } else {
            high = x;
        }
    }
    let x = (low + high) / 2.0;
    let mut out = *seen;
    for (share, offset) in out.iter_mut().zip(offsets) {
        *share /= 1.0 + x * offset;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llr(unit: BoundUnit, elo0: f64, elo1: f64, pairs: Pentanomial) -> f64 {
        Sprt { elo0, elo1, unit }.llr(&pairs)
    }

    #[test]
    fn published_tests_have_the_published_ratio() {
        // From fastchess's tests, including results of fishtest.
        let cases = [
            (BoundUnit::Normalised, 0.0, 2.0, [365, 16_618, 36_229, 16_974, 390], 2.25),
            (BoundUnit::Normalised, -1.75, 0.25, [127, 4883, 10_712, 5150, 104], 3.01),
            (BoundUnit::Normalised, 0.0, 5.0, [0, 0, 0, 0, 5550], 111.82),
            (BoundUnit::Logistic, 0.5, 2.5, [223, 9863, 21_279, 10_037, 246], -3.07),
            (BoundUnit::Logistic, 0.0, 2.0, [871, 26_175, 55_983, 26_678, 821], -4.98),
        ];
        for (unit, elo0, elo1, pairs, published) in cases {
            let ours = llr(unit, elo0, elo1, pairs);
            // Printed with two digits there; compared within one per cent.
            assert!(
                (ours - published).abs() < 0.005 + 0.01 * published.abs(),
                "{ours} {published}"
            );
        }
    }

    #[test]
    fn maximum_likelihood_distributions_satisfy_their_constraints() {
        let seen = [0.1, 0.2, 0.4, 0.2, 0.1];
        let mean = Moments::of_points(&of_mean(&seen, 0.56).unwrap()).mean;
        assert!((mean - 0.56).abs() < 1e-9);
        let moments = Moments::of_points(&of_distance(&seen, 0.3).unwrap());
        assert!(((moments.mean - 0.5) / moments.variance.sqrt() - 0.3).abs() < 1e-9);
        assert_eq!(of_mean(&seen, 1.5), None);
    }

    #[test]
    fn the_test_stops_on_either_side() {
        for unit in [BoundUnit::Normalised, BoundUnit::Logistic] {
            let test = Sprt { elo0: 0.0, elo1: 10.0, unit };
            assert_eq!(test.verdict(&[0, 0, 400, 100, 0]), Some(SprtVerdict::Accepted));
            assert_eq!(test.verdict(&[0, 100, 400, 0, 0]), Some(SprtVerdict::Rejected));
            assert_eq!(test.verdict(&[0, 2, 4, 2, 0]), None);
            assert_eq!(test.llr(&[0; 5]), 0.0);
            // Both hypotheses are equidistant.
            let even = Sprt { elo0: -10.0, elo1: 10.0, unit };
            assert!(even.llr(&[3, 20, 40, 20, 3]).abs() < 1e-6);
        }
    }

    #[test]
    fn normalised_elo_counts_standard_deviations() {
        // Mean 0.55, variance 0.01 a pair: 0.05 / sqrt(0.02) standard deviations of a game.
        let (elo, error) = normalised_elo(&[0, 0, 80, 20, 0]).unwrap();
        assert!((elo - 347.435_586 * 0.05 / 0.02_f64.sqrt()).abs() < 0.01, "{elo}");
        assert!((error - 1.96 * 347.435_586 / 200_f64.sqrt()).abs() < 0.01, "{error}");
        assert_eq!(normalised_elo(&[0, 0, 7, 0, 0]), None);
        assert_eq!(normalised_elo(&[0; 5]), None);
    }
}

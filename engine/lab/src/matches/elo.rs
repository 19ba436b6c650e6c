//! Elo difference of a score with error bar and likelihood of superiority (LOS). The two games of a pair share an
//! opening and are not independent: as soon as there are pairs, the variance is taken over pairs (pentanomial).

use std::fmt;

/// Pentanomial: number of pairs that scored 0, ½, 1, 1½ and 2 points.
pub type Pentanomial = [u64; 5];

/// Two-sided 95 % quantile of the normal distribution.
pub const Z95: f64 = 1.959_964;

/// Statistics of the first player's result against the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatchStatistics {
    /// Share of points, in [0, 1].
    pub score: f64,
    /// Infinite for a score of 0 or 1.
    pub elo: f64,
    /// Half-width of the 95 % interval in Elo; infinite if the interval reaches 0 or 1.
    pub error: f64,
    /// Likelihood of superiority, in [0, 1].
    pub los: f64,
}

/// Statistics of games won, drawn and lost, and of their pairs. None without games.
#[must_use]
pub fn judge(wins: u64, draws: u64, losses: u64, pairs: &Pentanomial) -> Option<MatchStatistics> {
    let score = Moments::of_counts([losses, draws, wins])?;
    // A single pair has no variance.
    let deviation = match Moments::of_counts(*pairs) {
        Some(pairs) if pairs.count > 1.0 => pairs.standard_error(),
        _ => score.standard_error(),
    };
    let half = Z95 * deviation;
    let (low, high) = (elo(score.mean - half), elo(score.mean + half));
    let error =
        if low.is_finite() && high.is_finite() { (high - low) / 2.0 } else { f64::INFINITY };
    let los = if deviation > 0.0 {
        normal_cdf((score.mean - 0.5) / deviation)
    } else if score.mean == 0.5 {
        0.5
    } else if score.mean > 0.5 {
        1.0
    } else {
        0.0
    };
    Some(MatchStatistics { score: score.mean, elo: elo(score.mean), error, los })
}

impl fmt::Display for MatchStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.1} ± {:.1}", self.elo, self.error)
    }
}

/// Logistic Elo difference of an expected score; infinite outside (0, 1).
#[must_use]
pub fn elo(score: f64) -> f64 {
    let score = score.clamp(0.0, 1.0);
    400.0 * (score / (1.0 - score)).log10()
}

/// Expected score of a logistic Elo difference.
#[must_use]
pub fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// Mean and variance of weighted values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    pub count: f64,
    pub mean: f64,
    pub variance: f64,
}

impl Moments {
    /// Moments of equidistant values from 0 to 1 with these counts.
    pub(super) fn of_points(times: &[f64]) -> Moments {
        let step = 1.0 / (times.len() - 1) as f64;
        let count: f64 = times.iter().sum();
        let mean =
            times.iter().enumerate().map(|(index, n)| index as f64 * step * n).sum::<f64>() / count;
        let square = |index: usize| (index as f64 * step - mean).powi(2);
        let variance =
            times.iter().enumerate().map(|(index, n)| square(index) * n).sum::<f64>() / count;
        Moments { count, mean, variance }
    }

    /// None if all counts are 0.
    pub(super) fn of_counts<const N: usize>(counts: [u64; N]) -> Option<Moments> {
        let any = counts.iter().any(|&count| count > 0);
        any.then(|| Moments::of_points(&counts.map(|count| count as f64)))
    }

    fn standard_error(&self) -> f64 {
        (self.variance / self.count).sqrt()
    }
}

/// Cumulative distribution function of the standard normal distribution.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, by: f64) -> bool {
        (a - b).abs() < by
    }

    #[test]
    fn elo_of_known_scores() {
        assert!(close(elo(0.5), 0.0, 1e-12));
        // 400 log10(3) and 400 log10(10/1).
        assert!(close(elo(0.75), 190.848_502, 1e-5));
        assert!(close(elo(10.0 / 11.0), 400.0, 1e-9));
        assert_eq!(elo(1.0), f64::INFINITY);
        assert_eq!(elo(0.0), f64::NEG_INFINITY);
        assert!(close(expected_score(elo(0.61)), 0.61, 1e-12));
    }

    #[test]
    fn error_bar_comes_from_the_pairs() {
        // 100 pairs: 10 of half a point, 80 even, 10 of one and a half. Variance of the pair's mean
        // score: 20 * 0.25² / 100 = 0.0125; standard error 0.011180; 95 %: 0.021913;
        // 400 log10(0.521913 / 0.478087) = 15.24.
        let judged = judge(10, 180, 10, &[0, 10, 80, 10, 0]).unwrap();
        assert!(close(judged.elo, 0.0, 1e-9));
        assert!(close(judged.error, 15.24, 0.01), "{}", judged.error);
        assert!(close(judged.los, 0.5, 1e-6));
        // The same games as independent: variance 20 * 0.25 / 200 = 0.025, over 200 games the same error. Pairs with a
        // win and a loss each show the difference.
        let biased = judge(100, 0, 100, &[0, 0, 100, 0, 0]).unwrap();
        assert_eq!(biased.error, 0.0);
        let unpaired = judge(100, 0, 100, &[0; 5]).unwrap();
        assert!(close(unpaired.error, 48.46, 0.01), "{}", unpaired.error);
    }

    #[test]
    fn superiority_of_a_clear_result() {
        // Mean 0.55, variance 0.8 * 0.05² + 0.2 * 0.2² = 0.01, standard error 0.01: five sigmas.
        let judged = judge(40, 140, 20, &[0, 0, 80, 20, 0]).unwrap();
        assert!(close(judged.score, 0.55, 1e-12));
        assert!(close(judged.elo, 34.86, 0.01), "{}", judged.elo);
        assert!(close(judged.los, 1.0, 1e-6));
        assert!(close(normal_cdf(1.959_964), 0.975, 1e-6));
        assert!(close(normal_cdf(-1.0), 0.158_655, 1e-6));
    }

    #[test]
    fn extreme_results_have_no_finite_error() {
        assert_eq!(judge(0, 0, 0, &[0; 5]), None);
        let all = judge(4, 0, 0, &[0, 0, 0, 0, 2]).unwrap();
        assert_eq!(all.elo, f64::INFINITY);
        assert_eq!(all.error, f64::INFINITY);
        assert_eq!(all.los, 1.0);
        let nearly = judge(3, 0, 1, &[0, 0, 1, 0, 1]).unwrap();
        assert_eq!(nearly.error, f64::INFINITY);
    }
}

//! Confidence intervals of shares.

/// Standard deviations that cover 95 % of a normal distribution.
pub const Z95: f64 = 1.959_964;

/// Wilson's 95 % interval of a share of `trials` (Wilson, "Probable inference, the law of succession, and
/// statistical inference", 1927); [0, 1] without trials.
///
/// ```
/// let (low, high) = train::metrics::wilson(0.8, 10.0);
/// assert!((low - 0.490).abs() < 1e-3 && (high - 0.943).abs() < 1e-3);
/// ```
#[must_use]
pub fn wilson(share: f64, trials: f64) -> (f64, f64) {
    if trials <= 0.0 {
        return (0.0, 1.0);
    }
    let z2 = Z95 * Z95;
    let centre = (share + z2 / (2.0 * trials)) / (1.0 + z2 / trials);
    let half = (z2 * (share * (1.0 - share) / trials + z2 / (4.0 * trials * trials))).sqrt()
        / (1.0 + z2 / trials);
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

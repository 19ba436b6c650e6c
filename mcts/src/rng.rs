//! Seeded randomness: SplitMix64 and the few distributions the search draws from. Own code, because a run must
//! repeat bit for bit with any version of a random-number crate. The network's crate has a SplitMix64 too; this
//! crate may not import that one.

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, passes BigCrush.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// An independent stream for each `lane` of one seed.
    pub fn lane(seed: u64, lane: u64) -> Self {
        Rng(mix(seed ^ mix(lane.wrapping_add(0x9E37_79B9_7F4A_7C15))))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Uniform in 0..n; the bias of the multiplication is below n / 2^32.
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// Uniform in the open interval (0, 1).
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Gamma(alpha, 1): Marsaglia and Tsang 2000, with their boost for alpha < 1.
    pub fn gamma(&mut self, alpha: f64) -> f64 {
        if alpha < 1.0 {
            return self.gamma(alpha + 1.0) * self.unit().powf(1.0 / alpha);
        }
        let d = alpha - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.unit().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// Symmetric Dirichlet(alpha) over n outcomes; sums to 1.
    pub fn dirichlet(&mut self, alpha: f64, n: usize) -> Vec<f32> {
        let draws: Vec<f64> = (0..n).map(|_| self.gamma(alpha)).collect();
        let total: f64 = draws.iter().sum();
        // With a tiny alpha every draw may underflow to zero.
        if total > 0.0 {
            draws.iter().map(|x| (x / total) as f32).collect()
        } else {
            vec![1.0 / n as f32; n]
        }
    }
}

/// SplitMix64's finaliser; also the hash of the toy games.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_has_its_mean_and_variance() {
        for alpha in [0.3, 1.0, 4.0] {
            let mut rng = Rng::lane(0, 7);
            let draws: Vec<f64> = (0..20_000).map(|_| rng.gamma(alpha)).collect();
            let mean = draws.iter().sum::<f64>() / 20_000.0;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
            assert!((mean / alpha - 1.0).abs() < 0.06, "alpha {alpha}: mean {mean}");
            assert!((variance / alpha - 1.0).abs() < 0.15, "alpha {alpha}: variance {variance}");
        }
    }

    #[test]
    fn dirichlet_sums_to_one_even_when_it_underflows() {
        for alpha in [0.001, 0.3, 10.0] {
            let sum: f32 = Rng::lane(0, 1).dirichlet(alpha, 35).iter().sum();
            assert!((sum - 1.0).abs() < 1e-4, "alpha {alpha}: {sum}");
        }
    }

    #[test]
    fn below_stays_below() {
        let mut rng = Rng::lane(0, 3);
        assert!((0..1000).all(|_| rng.below(3) < 3));
    }
}

//! The random generator of data, training and play (the search has its own, by lanes): small and seeded, so
//! that example streams, initial weights and games are identical for a seed on every machine and in every
//! version. Not cryptographic.
//!
//! Implemented here because streams of old seeds must not change and [`scramble`] serves as a hash too; the
//! crate `rand_xoshiro` has the generator without the hash.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct Rng(u64);

/// SplitMix64's finaliser: a bijection of 64 bits in which every input bit reaches every output bit.
#[must_use]
pub fn scramble(bits: u64) -> u64 {
    let z = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Increment of SplitMix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// First output of SplitMix64 from the state `seed`: a hash that, unlike [`scramble`], does not map 0 to 0.
#[must_use]
pub fn split_mix(seed: u64) -> u64 {
    scramble(seed.wrapping_add(GOLDEN))
}

impl Rng {
    /// A generator, deterministic for a seed.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        Rng(scramble(seed ^ 0x6d61_766b_615f_726e))
    }

    /// SplitMix64 from this state, as in the reference implementation. Neighbouring states give overlapping
    /// streams: use [`Rng::new`] for consecutive seeds.
    #[must_use]
    pub fn from_state(state: u64) -> Rng {
        Rng(state)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        scramble(self.0)
    }

    /// A number in `0..n`; 0 if `n` is 0. The bias is at most n / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A place of `weights`, in proportion to the weight there, 0 or more; None if all are 0.
    pub fn draw(&mut self, weights: &[f64]) -> Option<usize> {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        let hit = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        // Rounding can leave something behind the last of them.
        hit.or_else(|| weights.iter().rposition(|weight| *weight > 0.0))
    }

    /// Shuffles `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_numbers_stay_the_same() {
        // SplitMix64 from state 1234567: the reference sequence of the Rosetta Code task.
        let mut rng = Rng::from_state(1_234_567);
        assert_eq!(split_mix(1_234_567), rng.clone().bits());
        assert_eq!(rng.bits(), 6_457_827_717_110_365_317);
        assert_eq!(rng.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn below_reaches_every_number_and_no_other() {
        let mut rng = Rng::new(3);
        let mut seen = [0u32; 7];
        for _ in 0..7_000 {
            seen[rng.below(7)] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1_150).contains(&count)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn shuffle_keeps_the_items_and_repeats_for_a_seed() {
        let mut a: Vec<u32> = (0..50).collect();
        let mut b = a.clone();
        Rng::new(3).shuffle(&mut a);
        Rng::new(3).shuffle(&mut b);
        assert_eq!(a, b);
        assert_ne!(a, (0..50).collect::<Vec<_>>());
        a.sort_unstable();
        assert_eq!(a, (0..50).collect::<Vec<_>>());
    }
}

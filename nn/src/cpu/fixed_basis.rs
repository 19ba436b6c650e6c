//! The patterns that dynamic attention biases are mixed of, in fixed point of 16 bits (AVX2), beside weights of 8: two patterns in
//! a lane of 32 bits. `vpmaddwd` multiplies twice as many of these as of floats.
#![allow(unsafe_code)]

use super::isa::Isa;
use super::sixteen::{COLUMNS, FOUR, LANES, Line, highest, products};
use std::arch::x86_64::*;

/// Places of a pattern that are mixed together.
const PLACES: usize = COLUMNS * LANES;

/// The patterns, rounded.
pub(super) struct FixedBasis {
    /// For every sixteen places of a pattern, a line for each two patterns.
    lines: Vec<Line>,
    /// What one is worth in each pattern.
    worth: Vec<f32>,
    /// Places of a pattern.
    places: usize,
}

impl FixedBasis {
    /// Rounds `basis`, `[rank, places]`. None if the CPU has something better, or nothing, or the numbers do not go two by two.
    pub(super) fn new(basis: &[f32], rank: usize) -> Option<FixedBasis> {
        let places = basis.len().checked_div(rank)?;
        let fits = rank > 0 && rank.is_multiple_of(2) && places.is_multiple_of(PLACES);
        if Isa::used() != Isa::Avx2 || !fits {
            return None;
        }
        let patterns: Vec<&[f32]> = basis.chunks_exact(places).collect();
        let of = |pattern: &&[f32]| worth(pattern.iter().copied(), rank);
        let worth: Vec<f32> = patterns.iter().map(of).collect();
        let number = |pattern: usize, place: usize| round(patterns[pattern][place], worth[pattern]);
        let line = |at: usize, pair: usize| {
            let lane = |i| lane(number(2 * pair, at + i), number(2 * pair + 1, at + i));
            Line::new(std::array::from_fn(lane))
        };
        let starts = (0..places).step_by(PLACES);
        let lines = starts.flat_map(|at| (0..rank / 2).map(move |pair| (at, pair)));
        let lines = lines.map(|(at, pair)| line(at, pair)).collect();
        Some(FixedBasis { lines, worth, places })
    }

    /// Writes a mixture for each row of `shares`, `[rows, rank]`, to `out`, `[rows, places]`.
    ///
    /// # Panics
    /// If there is no room: a fault of the caller.
    pub(super) fn mix(&self, shares: &[f32], out: &mut [f32]) {
        let (rank, places) = (self.worth.len(), self.places);
        assert!(shares.len() / rank * places <= out.len(), "{} shares", shares.len());
        let several = shares.chunks(FOUR * rank).zip(out.chunks_mut(FOUR * places));
        for (shares, out) in several {
            // Four rows always: what there are fewer of stays zero.
            let (mut pairs, mut worths) = (vec![0; FOUR * rank / 2], [0.0; FOUR]);
            let rows = shares.chunks_exact(rank).zip(pairs.chunks_exact_mut(rank / 2));
            for ((shares, pairs), row_worth) in rows.zip(&mut worths) {
                let scaled = |at: usize| shares[at] * self.worth[at];
                *row_worth = worth((0..rank).map(scaled), rank);
                let number = |at: usize| round(scaled(at), *row_worth);
                for (i, pair) in pairs.iter_mut().enumerate() {
                    *pair = lane(number(2 * i), number(2 * i + 1));
                }
            }
            // SAFETY: the CPU has AVX2, or there were no patterns; there are four rows of lanes, one for each line.
            unsafe { self.four(&pairs, &worths, out) };
        }
    }

    /// Mixtures of four rows, written to as many rows as `out` has.
    ///
    /// # Safety
    /// The CPU has AVX2; `pairs` has a lane for each two patterns in each of four rows.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn four(&self, pairs: &[i32], worths: &[f32; FOUR], out: &mut [f32]) {
        let depth = self.worth.len() / 2;
        for (at, lines) in self.lines.chunks_exact(depth).enumerate() {
            // SAFETY: this function's contract; `depth` lines of two vectors follow each other.
            let sums =
                unsafe { products(pairs.as_ptr(), depth, lines.as_ptr().cast(), PLACES, depth) };
            let rows = out.chunks_exact_mut(self.places).zip(worths);
            for ((out, worth), sums) in rows.zip(sums) {
                let worth = _mm256_set1_ps(*worth);
                let to = out[at * PLACES..][..PLACES].as_chunks_mut::<LANES>().0;
                for (to, sum) in to.iter_mut().zip(sums) {
                    let mixed = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), worth);
                    // SAFETY: eight floats.
                    unsafe { _mm256_storeu_ps(to.as_mut_ptr(), mixed) };
                }
            }
        }
    }
}

/// What one is worth where the highest of these numbers becomes as much as sums of so many products have room for.
fn worth(numbers: impl Iterator<Item = f32>, products: usize) -> f32 {
    // Whatever is no number stays.
    let higher = |high: f32, x: f32| if high.is_nan() || x <= high { high } else { x };
    let high = numbers.map(f32::abs).fold(0.0, higher);
    high / highest(products) as f32
}

/// A number in units of `worth`; of what is no number nothing is left but its worth.
fn round(x: f32, worth: f32) -> i16 {
    if worth > 0.0 { (x / worth).round_ties_even() as i16 } else { 0 }
}

fn lane(low: i16, high: i16) -> i32 {
    i32::from(low) & 0xffff | i32::from(high) << 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn mixtures_are_those_of_plain_loops() {
        let mut random = Rng::new(7);
        let mut numbers = |count: usize, spread: f32| -> Vec<f32> {
            (0..count).map(|_| (random.unit() as f32 * 2.0 - 1.0) * spread).collect()
        };
        for (rank, rows) in [(16, 4), (16, 7), (2, 1), (6, 5)] {
            let (basis, shares) = (numbers(rank * 64, 3.0), numbers(rows * rank, 0.7));
            let Some(fixed) = FixedBasis::new(&basis, rank) else { return };
            let mut out = vec![9.0; rows * 64];
            fixed.mix(&shares, &mut out);
            for (at, got) in out.iter().enumerate() {
                let (row, place) = (at / 64, at % 64);
                let of = |r: usize| shares[row * rank + r] * basis[r * 64 + place];
                let want: f32 = (0..rank).map(of).sum();
                assert!((got - want).abs() < 1e-3, "{got} for {want}");
            }
        }
    }

    #[test]
    fn the_highest_sums_fit_and_what_is_no_number_stays_none() {
        let Some(fixed) = FixedBasis::new(&[-5.0; 16 * 64], 16) else { return };
        let (mut shares, mut out) = ([2.0; 16], [0.0; 64]);
        fixed.mix(&shares, &mut out);
        assert!(out.iter().all(|x| (x + 160.0).abs() < 1e-2), "{out:?}");
        shares[3] = f32::NAN;
        fixed.mix(&shares, &mut out);
        assert!(out.iter().all(|x| x.is_nan()));
        assert!(FixedBasis::new(&[1.0; 3 * 64], 3).is_none() && FixedBasis::new(&[], 0).is_none());
    }
}

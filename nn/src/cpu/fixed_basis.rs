//! The patterns that dynamic attention biases are mixed of, in fixed point of 16 bits, beside weights of 8: two patterns in
//! a lane of 32 bits. `vpmaddwd` (AVX2) and `vpdpwssd` (AVX512_VNNI) multiply twice as many of these as of floats.
#![allow(unsafe_code)]

use super::isa::Isa;
use super::sixteen::{COLUMNS, FOUR, LANES, Line, highest, products};
use std::arch::x86_64::*;
use std::ops::Range;

/// Places of a pattern that are mixed together: as many lanes as a line has.
const PLACES: usize = COLUMNS * LANES;
/// The same by AVX-512: vectors, and places of them.
const VECTORS: usize = 4;
const MANY: usize = VECTORS * PLACES;

/// The patterns, rounded.
pub(super) struct FixedBasis {
    /// For every sixteen places of a pattern, a line for each two patterns.
    lines: Vec<Line>,
    /// What one is worth in each pattern.
    worth: Vec<f32>,
    /// Places of a pattern.
    places: usize,
    /// The CPU had AVX512_VNNI when it was made, and [`Isa::limit`] allowed it; otherwise AVX2.
    by_vnni: bool,
}

/// How much four mixtures have of each pattern, rounded.
#[derive(Default)]
pub(super) struct Four {
    /// For each mixture, a lane for each two patterns. What there are fewer of stays zero.
    pairs: Vec<i32>,
    /// What one is worth in each mixture.
    worths: [f32; FOUR],
}

/// Where mixtures go.
pub(super) struct Mixed<'a> {
    /// The places that are mixed.
    pub places: Range<usize>,
    /// What the mixtures are added to: one after another, all places of each.
    pub base: Option<&'a [f32]>,
    /// These places of one mixture after another, so many floats apart.
    pub out: &'a mut [f32],
    pub stride: usize,
}

impl FixedBasis {
    /// Rounds `basis`, `[rank, places]`. None if the CPU has nothing for it, or the numbers do not go two by two.
    pub(super) fn new(basis: &[f32], rank: usize) -> Option<FixedBasis> {
        let places = basis.len().checked_div(rank)?;
        let fits = rank > 0 && rank.is_multiple_of(2) && places.is_multiple_of(MANY);
        let by_vnni = match Isa::used() {
            Isa::Avx2 => false,
            Isa::Avx512 | Isa::Amx if is_x86_feature_detected!("avx512vnni") => true,
            _ => return None,
        };
        if !fits {
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
        Some(FixedBasis { lines, worth, places, by_vnni })
    }

    /// Rounds `shares`, `[rows, rank]`, of at most four rows.
    pub(super) fn round(&self, shares: &[f32], four: &mut Four) {
        let rank = self.worth.len();
        four.pairs.clear();
        four.pairs.resize(FOUR * rank / 2, 0);
        four.worths = [0.0; FOUR];
        let rows = shares.chunks_exact(rank).zip(four.pairs.chunks_exact_mut(rank / 2));
        for ((shares, pairs), row_worth) in rows.zip(&mut four.worths) {
            let scaled = |at: usize| shares[at] * self.worth[at];
            *row_worth = worth((0..rank).map(scaled), rank);
            let number = |at: usize| round(scaled(at), *row_worth);
            for (i, pair) in pairs.iter_mut().enumerate() {
                *pair = lane(number(2 * i), number(2 * i + 1));
            }
        }
    }

    /// Writes a mixture for each row of `shares`, `[rows, rank]`, to `out`, `[rows, places]`.
    ///
    /// # Panics
    /// If there is no room: a fault of the caller.
    pub(super) fn mix(&self, shares: &[f32], four: &mut Four, out: &mut [f32]) {
        let (rank, places) = (self.worth.len(), self.places);
        assert!(shares.len() / rank * places <= out.len(), "{} shares", shares.len());
        let several = shares.chunks(FOUR * rank).zip(out.chunks_mut(FOUR * places));
        for (shares, out) in several {
            self.round(shares, four);
            self.four(four, Mixed { places: 0..places, base: None, out, stride: places });
        }
    }

    /// Some places of as many mixtures as there is room for, at most four.
    ///
    /// # Panics
    /// If there are no such places, or `base` has fewer rows than `out`: a fault of the caller.
    pub(super) fn four(&self, four: &Four, mixed: Mixed<'_>) {
        let Range { start, end } = mixed.places;
        assert!(start.is_multiple_of(MANY) && end.is_multiple_of(MANY), "{start} to {end}");
        assert!(start < end && end <= self.places && end - start <= mixed.stride, "to {end}");
        assert!(four.pairs.len() == FOUR * self.worth.len() / 2, "{} pairs", four.pairs.len());
        let rows = (mixed.out.len() + mixed.stride - (end - start)) / mixed.stride;
        let rows = rows.min(FOUR);
        let last = (rows.max(1) - 1) * self.places + end;
        assert!(mixed.base.is_none_or(|base| base.len() >= last), "a base of fewer than {last}");
        // SAFETY: the CPU has the instructions that the patterns were made for, whatever the limit is by now; there are four rows
        // of lanes, one for each line, and as many rows of these places.
        unsafe {
            if self.by_vnni {
                self.wide(four, rows, mixed);
            } else {
                self.narrow(four, rows, mixed);
            }
        }
    }

    /// # Safety
    /// The CPU has AVX2; `four` has four rows of lanes; there are such places in the patterns, in `rows` rows of the destination and,
    /// all places long, of the base.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn narrow(&self, four: &Four, rows: usize, mixed: Mixed<'_>) {
        let depth = self.worth.len() / 2;
        let Range { start, end } = mixed.places;
        for at in (start..end).step_by(PLACES) {
            // SAFETY: this function's contract; `depth` lines of two vectors follow each other.
            unsafe {
                let lines = self.lines.as_ptr().add(at / PLACES * depth).cast();
                let sums = products(four.pairs.as_ptr(), depth, lines, PLACES, depth);
                for (row, (worth, sums)) in four.worths.iter().zip(sums).enumerate().take(rows) {
                    let worth = _mm256_set1_ps(*worth);
                    let to = mixed.out.as_mut_ptr().add(row * mixed.stride + at - start);
                    for (i, sum) in sums.into_iter().enumerate() {
                        let place = row * self.places + at + i * LANES;
                        let base = match mixed.base {
                            Some(base) => _mm256_loadu_ps(base.as_ptr().add(place)),
                            None => _mm256_setzero_ps(),
                        };
                        let sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), worth, base);
                        _mm256_storeu_ps(to.add(i * LANES), sum);
                    }
                }
            }
        }
    }

    /// # Safety
    /// As [`FixedBasis::narrow`], of AVX512_VNNI.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn wide(&self, four: &Four, rows: usize, mixed: Mixed<'_>) {
        let depth = self.worth.len() / 2;
        let Range { start, end } = mixed.places;
        for at in (start..end).step_by(MANY) {
            // SAFETY: this function's contract; `depth` lines of a vector follow each other for every 16 places.
            unsafe {
                let lines = self.lines.as_ptr().add(at / PLACES * depth);
                let mut sums = [[_mm512_setzero_si512(); VECTORS]; FOUR];
                for pair in 0..depth {
                    let mut columns = [_mm512_setzero_si512(); VECTORS];
                    for (j, column) in columns.iter_mut().enumerate() {
                        *column = _mm512_load_si512(lines.add(j * depth + pair).cast());
                    }
                    for (i, sums) in sums.iter_mut().enumerate() {
                        let lane = _mm512_set1_epi32(*four.pairs.as_ptr().add(i * depth + pair));
                        for (sum, column) in sums.iter_mut().zip(columns) {
                            *sum = _mm512_dpwssd_epi32(*sum, lane, column);
                        }
                    }
                }
                for (row, (worth, sums)) in four.worths.iter().zip(sums).enumerate().take(rows) {
                    let worth = _mm512_set1_ps(*worth);
                    let to = mixed.out.as_mut_ptr().add(row * mixed.stride + at - start);
                    for (i, sum) in sums.into_iter().enumerate() {
                        let place = row * self.places + at + i * PLACES;
                        let base = match mixed.base {
                            Some(base) => _mm512_loadu_ps(base.as_ptr().add(place)),
                            None => _mm512_setzero_ps(),
                        };
                        let sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), worth, base);
                        _mm512_storeu_ps(to.add(i * PLACES), sum);
                    }
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
    // Adding 1.5 * 2^23 rounds to the nearest whole number in the low bits.
    if worth > 0.0 { (x / worth + 12_582_912.0).to_bits() as i16 } else { 0 }
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
            fixed.mix(&shares, &mut Four::default(), &mut out);
            for (at, got) in out.iter().enumerate() {
                let (row, place) = (at / 64, at % 64);
                let of = |r: usize| shares[row * rank + r] * basis[r * 64 + place];
                let want: f32 = (0..rank).map(of).sum();
                assert!((got - want).abs() < 1e-3, "{got} for {want}");
            }
        }
    }

    #[test]
    fn some_places_are_those_of_the_whole_and_come_on_top_of_the_base() {
        let numbers = |count: usize| -> Vec<f32> {
            (0..count).map(|i| (i * 7919 % 1013) as f32 / 506.5 - 1.0).collect()
        };
        let (basis, shares, base) = (numbers(4 * 256), numbers(3 * 4), numbers(3 * 256 + 5));
        let Some(fixed) = FixedBasis::new(&basis, 4) else { return };
        let (mut four, mut whole) = (Four::default(), vec![0.0; 3 * 256]);
        fixed.mix(&shares, &mut four, &mut whole);
        let mut some = vec![9.0; 2 * 130 + 128];
        let base = &base[5..];
        let places = 64..192;
        fixed.four(&four, Mixed { places, base: Some(base), out: &mut some, stride: 130 });
        for (row, place) in (0..3).flat_map(|row| (0..128).map(move |place| (row, place))) {
            let at = row * 256 + 64 + place;
            let want = whole[at] + base[at];
            assert!((some[row * 130 + place] - want).abs() < 1e-5, "{row}, {place}");
        }
        assert!(some[128] == 9.0 && some[129] == 9.0, "between the rows");
    }

    #[test]
    fn the_highest_sums_fit_and_what_is_no_number_stays_none() {
        let Some(fixed) = FixedBasis::new(&[-5.0; 16 * 64], 16) else { return };
        let (mut shares, mut out) = ([2.0; 16], [0.0; 64]);
        fixed.mix(&shares, &mut Four::default(), &mut out);
        assert!(out.iter().all(|x| (x + 160.0).abs() < 1e-2), "{out:?}");
        shares[3] = f32::NAN;
        fixed.mix(&shares, &mut Four::default(), &mut out);
        assert!(out.iter().all(|x| x.is_nan()));
        assert!(FixedBasis::new(&[1.0; 3 * 64], 3).is_none() && FixedBasis::new(&[], 0).is_none());
    }
}

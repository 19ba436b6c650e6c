//! The patterns of dynamic attention biases in 16-bit fixed point, used beside int8 weights: two patterns per
//! 32-bit lane. `vpmaddwd` (AVX2) and `vpdpwssd` (AVX512_VNNI) multiply twice as many of these per instruction
//! as `vfmadd` of floats.

use crate::gemm::int16::{COLUMNS, FOUR, LANES, LaneLine, highest, products};
use crate::isa::Isa;
use std::arch::x86_64::*;
use std::ops::Range;

/// Pattern entries per step of the AVX2 kernel: as many lanes as a line has.
const PLACES: usize = COLUMNS * LANES;
/// Vectors, and pattern entries, per step of the AVX-512 kernel.
const VECTORS: usize = 4;
const PLACES_512: usize = VECTORS * PLACES;

/// The quantized patterns.
pub struct FixedBasis {
    /// For every 16 entries of a pattern, one line for each pair of patterns.
    lines: Vec<LaneLine>,
    /// Quantization step of each pattern.
    scale: Vec<f32>,
    /// Entries of a pattern.
    places: usize,
    /// AVX512_VNNI was present and allowed at construction; otherwise AVX2.
    by_vnni: bool,
}

/// The quantized shares of each pattern in up to four mixtures.
#[derive(Default)]
pub struct QuantizedShares {
    /// By mixture, one lane for each pair of patterns; lanes of missing mixtures are zero.
    pairs: Vec<i32>,
    /// Quantization step of each mixture.
    scales: [f32; FOUR],
}

/// Destination of mixtures.
pub(crate) struct Mixed<'a> {
    /// The entries to mix.
    pub places: Range<usize>,
    /// Added to the mixtures: whole rows of pattern entries, one per mixture.
    pub base: Option<&'a [f32]>,
    /// These entries of each mixture, `stride` floats from one mixture to the next.
    pub out: &'a mut [f32],
    pub stride: usize,
}

impl FixedBasis {
    /// Quantizes `basis`, `[rank, places]`. None if `isa` or the CPU has no kernel, `rank` is odd or `places` is no
    /// multiple of 64.
    pub fn new(isa: Isa, basis: &[f32], rank: usize) -> Option<FixedBasis> {
        let places = basis.len().checked_div(rank)?;
        let fits = rank > 0 && rank.is_multiple_of(2) && places.is_multiple_of(PLACES_512);
        let by_vnni = match isa.available() {
            Isa::Avx2 => false,
            Isa::Avx512 | Isa::Amx if is_x86_feature_detected!("avx512vnni") => true,
            _ => return None,
        };
        if !fits {
            return None;
        }
        let patterns: Vec<&[f32]> = basis.chunks_exact(places).collect();
        let of = |pattern: &&[f32]| scale(pattern.iter().copied(), rank);
        let scale: Vec<f32> = patterns.iter().map(of).collect();
        let number = |pattern: usize, place: usize| round(patterns[pattern][place], scale[pattern]);
        let line = |at: usize, pair: usize| {
            let lane = |i| lane(number(2 * pair, at + i), number(2 * pair + 1, at + i));
            LaneLine::new(std::array::from_fn(lane))
        };
        let starts = (0..places).step_by(PLACES);
        let lines = starts.flat_map(|at| (0..rank / 2).map(move |pair| (at, pair)));
        let lines = lines.map(|(at, pair)| line(at, pair)).collect();
        Some(FixedBasis { lines, scale, places, by_vnni })
    }

    /// Quantizes `shares`, `[rows, rank]`, at most four rows.
    pub(crate) fn round(&self, shares: &[f32], four: &mut QuantizedShares) {
        let rank = self.scale.len();
        four.pairs.clear();
        four.pairs.resize(FOUR * rank / 2, 0);
        four.scales = [0.0; FOUR];
        let rows = shares.chunks_exact(rank).zip(four.pairs.chunks_exact_mut(rank / 2));
        for ((shares, pairs), row_scale) in rows.zip(&mut four.scales) {
            let scaled = |at: usize| shares[at] * self.scale[at];
            *row_scale = scale((0..rank).map(scaled), rank);
            let number = |at: usize| round(scaled(at), *row_scale);
            for (i, pair) in pairs.iter_mut().enumerate() {
                *pair = lane(number(2 * i), number(2 * i + 1));
            }
        }
    }

    /// Writes one mixture per row of `shares`, `[rows, rank]`, to `out`, `[rows, places]`.
    ///
    /// # Panics
    /// If there is no room: a fault of the caller.
    pub fn mix(&self, shares: &[f32], four: &mut QuantizedShares, out: &mut [f32]) {
        let (rank, places) = (self.scale.len(), self.places);
        assert!(shares.len() / rank * places <= out.len(), "{} shares", shares.len());
        let several = shares.chunks(FOUR * rank).zip(out.chunks_mut(FOUR * places));
        for (shares, out) in several {
            self.round(shares, four);
            self.four(four, Mixed { places: 0..places, base: None, out, stride: places });
        }
    }

    /// Mixes some entries of as many mixtures as `out` has rows, at most four.
    ///
    /// # Panics
    /// If the entries do not exist, or `base` has fewer rows than `out`: a fault of the caller.
    pub(crate) fn four(&self, four: &QuantizedShares, mixed: Mixed<'_>) {
        let Range { start, end } = mixed.places;
        assert!(
            start.is_multiple_of(PLACES_512) && end.is_multiple_of(PLACES_512),
            "{start} to {end}"
        );
        assert!(start < end && end <= self.places && end - start <= mixed.stride, "to {end}");
        assert!(four.pairs.len() == FOUR * self.scale.len() / 2, "{} pairs", four.pairs.len());
        let rows = (mixed.out.len() + mixed.stride - (end - start)) / mixed.stride;
        let rows = rows.min(FOUR);
        let last = (rows.max(1) - 1) * self.places + end;
        assert!(mixed.base.is_none_or(|base| base.len() >= last), "a base of fewer than {last}");
        // SAFETY: the CPU has AVX512_VNNI or AVX2, found at construction; the pairs
        // are four rows of one lane per line; `rows` rows of these entries lie in `out` and, full length, in
        // `base`: asserted above.
        unsafe {
            if self.by_vnni {
                self.wide(four, rows, mixed);
            } else {
                self.narrow(four, rows, mixed);
            }
        }
    }

    /// # Safety
    /// The CPU has AVX2 and FMA; the shares have four rows of lanes; the entries exist in the patterns, in
    /// `rows` rows of the destination and, full length, of the base.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn narrow(&self, four: &QuantizedShares, rows: usize, mixed: Mixed<'_>) {
        let depth = self.scale.len() / 2;
        let Range { start, end } = mixed.places;
        for at in (start..end).step_by(PLACES) {
            // SAFETY: AVX2 and FMA; 16 entries from `at` on exist in `rows` rows of `out` and `base`; `depth`
            // lines of two vectors each lie there.
            unsafe {
                let lines = self.lines.as_ptr().add(at / PLACES * depth).cast();
                let sums = products(four.pairs.as_ptr(), depth, lines, PLACES, depth);
                for (row, (scale, sums)) in four.scales.iter().zip(sums).enumerate().take(rows) {
                    let scale = _mm256_set1_ps(*scale);
                    let to = mixed.out.as_mut_ptr().add(row * mixed.stride + at - start);
                    for (i, sum) in sums.into_iter().enumerate() {
                        let place = row * self.places + at + i * LANES;
                        let base = match mixed.base {
                            Some(base) => _mm256_loadu_ps(base.as_ptr().add(place)),
                            None => _mm256_setzero_ps(),
                        };
                        let sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, base);
                        _mm256_storeu_ps(to.add(i * LANES), sum);
                    }
                }
            }
        }
    }

    /// # Safety
    /// As [`FixedBasis::narrow`], with AVX-512 F, BW and VNNI.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn wide(&self, four: &QuantizedShares, rows: usize, mixed: Mixed<'_>) {
        let depth = self.scale.len() / 2;
        let Range { start, end } = mixed.places;
        for at in (start..end).step_by(PLACES_512) {
            // SAFETY: AVX-512 F/BW/VNNI; 64 entries from `at` on exist in `rows` rows of `out` and `base`;
            // `depth` lines of one vector each lie there for every 16 entries, aligned to 64 bytes.
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
                for (row, (scale, sums)) in four.scales.iter().zip(sums).enumerate().take(rows) {
                    let scale = _mm512_set1_ps(*scale);
                    let to = mixed.out.as_mut_ptr().add(row * mixed.stride + at - start);
                    for (i, sum) in sums.into_iter().enumerate() {
                        let place = row * self.places + at + i * PLACES;
                        let base = match mixed.base {
                            Some(base) => _mm512_loadu_ps(base.as_ptr().add(place)),
                            None => _mm512_setzero_ps(),
                        };
                        let sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, base);
                        _mm512_storeu_ps(to.add(i * PLACES), sum);
                    }
                }
            }
        }
    }
}

/// Quantization step that lets a sum of `products` products of these numbers fit in 32 bits.
fn scale(numbers: impl Iterator<Item = f32>, products: usize) -> f32 {
    // NaN propagates.
    let higher = |high: f32, x: f32| if high.is_nan() || x <= high { high } else { x };
    let high = numbers.map(f32::abs).fold(0.0, higher);
    high / highest(products) as f32
}

/// Quantizes a number; a NaN becomes 0 and is carried by its scale.
fn round(x: f32, scale: f32) -> i16 {
    // Adding 1.5 * 2^23 rounds to the nearest integer in the mantissa's low bits.
    if scale > 0.0 { (x / scale + 12_582_912.0).to_bits() as i16 } else { 0 }
}

fn lane(low: i16, high: i16) -> i32 {
    i32::from(low) & 0xffff | i32::from(high) << 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn mixtures_are_those_of_plain_loops() {
        let mut random = Rng::new(7);
        let mut numbers = |count: usize, spread: f32| -> Vec<f32> {
            (0..count).map(|_| (random.unit() as f32 * 2.0 - 1.0) * spread).collect()
        };
        for (rank, rows) in [(16, 4), (16, 7), (2, 1), (6, 5)] {
            let (basis, shares) = (numbers(rank * 64, 3.0), numbers(rows * rank, 0.7));
            let Some(fixed) = FixedBasis::new(Isa::found(), &basis, rank) else {
                return crate::isa::skipped("fixed-point mixtures");
            };
            let mut out = vec![9.0; rows * 64];
            fixed.mix(&shares, &mut QuantizedShares::default(), &mut out);
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
        let Some(fixed) = FixedBasis::new(Isa::found(), &basis, 4) else {
            return crate::isa::skipped("fixed-point mixtures");
        };
        let (mut four, mut whole) = (QuantizedShares::default(), vec![0.0; 3 * 256]);
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
    fn the_highest_sums_fit_and_nan_propagates() {
        let Some(fixed) = FixedBasis::new(Isa::found(), &[-5.0; 16 * 64], 16) else {
            return crate::isa::skipped("fixed-point mixtures");
        };
        let (mut shares, mut out) = ([2.0; 16], [0.0; 64]);
        fixed.mix(&shares, &mut QuantizedShares::default(), &mut out);
        assert!(out.iter().all(|x| (x + 160.0).abs() < 1e-2), "{out:?}");
        shares[3] = f32::NAN;
        fixed.mix(&shares, &mut QuantizedShares::default(), &mut out);
        assert!(out.iter().all(|x| x.is_nan()));
        assert!(
            FixedBasis::new(Isa::found(), &[1.0; 3 * 64], 3).is_none()
                && FixedBasis::new(Isa::found(), &[], 0).is_none()
        );
    }
}

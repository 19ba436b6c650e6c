//! Element-wise and row-wise operations: layer normalisation, softmax, squared ReLU and their gradients, sums and dot
//! products. Those of `kernels::norm` and of the training steps are tested against these.
//!
//! Plain loops that vectorise: `by_isa` compiles each for AVX-512, AVX2 and the baseline and dispatches on the
//! [`Isa`](super::isa::Isa) of the call, so one binary serves every machine.

use crate::by_isa;

pub(crate) const EPSILON: f32 = 1e-5;
const LANES: usize = 16;

/// `a * b + c`, fused where the CPU has the instruction: the library fallback is far slower than the loops
/// here.
#[inline(always)]
fn fma<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// exp by range reduction and a degree-5 polynomial (Cephes `expf`): no branches, relative error below 2e-7 on
/// [-87, 88]; arguments are clamped to that range.
#[inline(always)]
fn exp<const FUSED: bool>(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    // Adding 1.5 * 2^23 rounds to the nearest integer in the mantissa's low bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = fma::<FUSED>(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fma::<FUSED>(n, -0.693_359_4, x);
    let r = fma::<FUSED>(n, 2.121_944_4e-4, r);
    let p = fma::<FUSED>(r, 1.987_569_1e-4, 1.398_199_9e-3);
    let p = fma::<FUSED>(p, r, 8.333_452e-3);
    let p = fma::<FUSED>(p, r, 4.166_579_6e-2);
    let p = fma::<FUSED>(p, r, 1.666_666_5e-1);
    let p = fma::<FUSED>(p, r, 0.5);
    let y = fma::<FUSED>(p, r * r, r) + 1.0;
    // `shifted`'s low bits hold n; moved to the exponent they multiply by 2^n.
    f32::from_bits(y.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// Reduces by halving the lanes: the compiler keeps them in vectors, which it does not in a sequential loop.
#[inline(always)]
fn reduce(lanes: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> f32 {
    let (mut eight, mut four) = ([0.0; 8], [0.0; 4]);
    for i in 0..8 {
        eight[i] = f(lanes[i], lanes[i + 8]);
    }
    for i in 0..4 {
        four[i] = f(eight[i], eight[i + 4]);
    }
    f(f(four[0], four[2]), f(four[1], four[3]))
}

#[inline(always)]
fn sum(lanes: [f32; LANES]) -> f32 {
    reduce(lanes, |a, b| a + b)
}

/// Sum over a row of `f` of the elements of `rows` at each index; all rows have one length.
#[inline(always)]
fn fold<const N: usize>(rows: [&[f32]; N], f: impl Fn([f32; N]) -> f32) -> f32 {
    let len = rows[0].len();
    let whole = len / LANES * LANES;
    let mut lanes = [0.0; LANES];
    for start in (0..whole).step_by(LANES) {
        let chunks = rows.map(|row| row[start..].first_chunk::<LANES>().unwrap_or(&[0.0; LANES]));
        for i in 0..LANES {
            lanes[i] += f(chunks.map(|chunk| chunk[i]));
        }
    }
    let mut total = sum(lanes);
    for i in whole..len {
        total += f(rows.map(|row| row[i]));
    }
    total
}

by_isa! {
    /// Layer normalisation of each row of `x` (`[rows, width]`): `unit` gets the normalised rows (mean 0,
    /// variance 1), `scale` 1 / standard deviation of each row, `out = unit * gamma + beta`.
    pub fn layer_norm(
        x: &[f32],
        gamma: &[f32],
        beta: &[f32],
        unit: &mut [f32],
        scale: &mut [f32],
        out: &mut [f32],
    ) {
        let width = gamma.len();
        let rows = x.chunks_exact(width).zip(unit.chunks_exact_mut(width));
        for (((x, unit), out), scale) in rows.zip(out.chunks_exact_mut(width)).zip(scale) {
            let mean = fold([x], |[v]| v) / width as f32;
            let variance = fold([x], |[v]| (v - mean) * (v - mean)) / width as f32;
            *scale = 1.0 / (variance + EPSILON).sqrt();
            for i in 0..width {
                unit[i] = (x[i] - mean) * *scale;
                out[i] = fma::<FUSED>(unit[i], gamma[i], beta[i]);
            }
        }
    }
}

/// Inputs of a normalisation's gradient.
#[derive(Clone, Copy)]
pub struct Normed<'a, T = f32> {
    /// `[width]`.
    pub gamma: &'a [f32],
    /// `[rows, width]`: normalised rows (mean 0, variance 1), floats or lanes of two bf16.
    pub unit: &'a [T],
    /// `[rows]`: 1 / standard deviation of each row.
    pub scale: &'a [f32],
}

by_isa! {
    /// Gradient of [`layer_norm`]: adds to `dx`, `dgamma` and `dbeta`.
    pub fn layer_norm_backward(
        dout: &[f32],
        normed: Normed<'_>,
        dx: &mut [f32],
        dgamma: &mut [f32],
        dbeta: &mut [f32],
    ) {
        let Normed { gamma, unit, scale } = normed;
        let width = gamma.len();
        let rows = dout.chunks_exact(width).zip(unit.chunks_exact(width));
        for (((dout, unit), dx), scale) in rows.zip(dx.chunks_exact_mut(width)).zip(scale) {
            let mean = fold([dout, gamma], |[d, g]| d * g) / width as f32;
            let slope = fold([dout, gamma, unit], |[d, g, u]| d * g * u) / width as f32;
            for i in 0..width {
                dgamma[i] = fma::<FUSED>(dout[i], unit[i], dgamma[i]);
                dbeta[i] += dout[i];
                dx[i] += scale * (dout[i] * gamma[i] - mean - unit[i] * slope);
            }
        }
    }
}

by_isa! {
    /// Softmax of each 64-wide row of `scores + bias`, in place; `bias` has as many rows.
    pub fn attention_softmax(scores: &mut [f32], bias: &[f32]) {
        let (rows, _) = scores.as_chunks_mut::<64>();
        let (biases, _) = bias.as_chunks::<64>();
        for (row, bias) in rows.iter_mut().zip(biases) {
            for i in 0..64 {
                row[i] += bias[i];
            }
            softmax_row::<FUSED>(row);
        }
    }
}

by_isa! {
    /// Softmax of each 64-wide row, in place.
    pub fn softmax64(logits: &mut [f32]) {
        let (rows, _) = logits.as_chunks_mut::<64>();
        for row in rows {
            softmax_row::<FUSED>(row);
        }
    }
}

#[inline(always)]
fn softmax_row<const FUSED: bool>(row: &mut [f32; 64]) {
    let mut high = [f32::MIN; LANES];
    for c in 0..4 {
        for i in 0..LANES {
            let x = row[c * LANES + i];
            high[i] = if x > high[i] { x } else { high[i] };
        }
    }
    let top = reduce(high, |a, b| if a > b { a } else { b });
    let mut lanes = [0.0; LANES];
    for c in 0..4 {
        for i in 0..LANES {
            let e = exp::<FUSED>(row[c * LANES + i] - top);
            row[c * LANES + i] = e;
            lanes[i] += e;
        }
    }
    let scale = 1.0 / sum(lanes);
    for x in row {
        *x *= scale;
    }
}

by_isa! {
    /// Gradient of a 64-wide softmax: `grad` holds dL/dp and becomes dL/dlogit; `p` the probabilities.
    pub fn softmax64_backward(grad: &mut [f32], p: &[f32]) {
        let (rows, _) = grad.as_chunks_mut::<64>();
        let (probabilities, _) = p.as_chunks::<64>();
        for (row, p) in rows.iter_mut().zip(probabilities) {
            let mut lanes = [0.0; LANES];
            for c in 0..4 {
                for i in 0..LANES {
                    lanes[i] = fma::<FUSED>(row[c * LANES + i], p[c * LANES + i], lanes[i]);
                }
            }
            let mean = sum(lanes);
            for i in 0..64 {
                row[i] = p[i] * (row[i] - mean);
            }
        }
    }
}

by_isa! {
    /// For each row of 64 probabilities: the mean of the values `of`, and the index of the highest probability,
    /// the first of equals.
    pub fn mean_and_mode64(p: &[f32], of: &[f32; 64], means: &mut [f32], modes: &mut [usize]) {
        let (rows, _) = p.as_chunks::<64>();
        for ((row, mean), mode) in rows.iter().zip(means).zip(modes) {
            let (mut sums, mut high) = ([0.0; LANES], [0.0f32; LANES]);
            for c in 0..4 {
                for i in 0..LANES {
                    let p = row[c * LANES + i];
                    sums[i] = fma::<FUSED>(p, of[c * LANES + i], sums[i]);
                    high[i] = if p > high[i] { p } else { high[i] };
                }
            }
            *mean = sum(sums);
            let top = high.into_iter().fold(0.0f32, f32::max);
            let mut first = [63; LANES];
            for c in (0..4).rev() {
                for (i, first) in first.iter_mut().enumerate() {
                    let at = c * LANES + i;
                    *first = if row[at] == top { at as u32 } else { *first };
                }
            }
            *mode = first.into_iter().fold(63, u32::min) as usize;
        }
    }
}

by_isa! {
    /// Squared ReLU, in place: `max(x, 0)^2`.
    pub fn square_positive(x: &mut [f32]) {
        for x in x {
            let r = if *x > 0.0 { *x } else { 0.0 };
            *x = r * r;
        }
    }
}

by_isa! {
    /// Gradient of [`square_positive`], in place, from its result: `grad *= 2 max(x, 0)`.
    pub fn square_positive_backward(grad: &mut [f32], squared: &[f32]) {
        for (grad, squared) in grad.iter_mut().zip(squared) {
            *grad *= 2.0 * squared.sqrt();
        }
    }
}

by_isa! {
    /// Adds `bias` to each row of `out`.
    pub fn add_bias(bias: &[f32], out: &mut [f32]) {
        for row in out.chunks_exact_mut(bias.len()) {
            for (x, b) in row.iter_mut().zip(bias) {
                *x += b;
            }
        }
    }
}

by_isa! {
    /// Column sums: adds each row of `x`, as long as `out`, to `out` (a bias gradient).
    pub fn add_rows(x: &[f32], out: &mut [f32]) {
        for row in x.chunks_exact(out.len()) {
            for (out, x) in out.iter_mut().zip(row) {
                *out += x;
            }
        }
    }
}

by_isa! {
    /// Dot product.
    pub fn dot(a: &[f32], b: &[f32]) -> f32 {
        let len = a.len().min(b.len());
        fold([&a[..len], &b[..len]], |[x, y]| x * y)
    }
}

by_isa! {
    /// `out += scale * x`.
    pub fn add_scaled(out: &mut [f32], scale: f32, x: &[f32]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = fma::<FUSED>(*x, scale, *out);
        }
    }
}

by_isa! {
    /// Binary cross-entropy of every logit with target 0: returns the sum of softplus(x) and sets `grad =
    /// weight * sigmoid(x)`. The caller corrects the few entries with target 1.
    pub fn binary_negative(logits: &[f32], weight: f32, grad: &mut [f32]) -> f32 {
        let (rows, _) = logits.as_chunks::<64>();
        let (grads, _) = grad.as_chunks_mut::<64>();
        let mut total = 0.0;
        for (row, grad) in rows.iter().zip(grads) {
            // softplus(x) = max(x, 0) + ln(1 + exp(-|x|)); a product of 64 factors of at most 2 fits a float,
            // so one logarithm serves a row.
            let (mut positive, mut product) = ([0.0; LANES], [1.0f32; LANES]);
            for c in 0..4 {
                for i in 0..LANES {
                    let x = row[c * LANES + i];
                    let e = exp::<FUSED>(-x.abs());
                    let p = 1.0 / (1.0 + e);
                    grad[c * LANES + i] = weight * if x > 0.0 { p } else { 1.0 - p };
                    positive[i] += if x > 0.0 { x } else { 0.0 };
                    product[i] *= 1.0 + e;
                }
            }
            total += sum(positive) + product.iter().product::<f32>().ln();
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    #[test]
    fn means_and_modes_are_those_of_plain_loops() {
        let of: [f32; 64] = std::array::from_fn(|i| i as f32 / 7.0 - 3.0);
        // Coarse values produce ties.
        let mut rows: Vec<f32> = (0..640).map(|i| (i * 7919 % 101 / 10) as f32 / 300.0).collect();
        rows[64..128].fill(0.0);
        rows[128..192].fill(0.5);
        let (mut means, mut modes) = ([0.0; 10], [0; 10]);
        mean_and_mode64(Isa::found(), &rows, &of, &mut means, &mut modes);
        for ((row, mean), mode) in rows.chunks_exact(64).zip(means).zip(modes) {
            let want: f32 = row.iter().zip(&of).map(|(p, x)| p * x).sum();
            assert!((mean - want).abs() < 1e-4, "{mean} for {want}");
            let top = row.iter().copied().fold(0.0, f32::max);
            assert_eq!(Some(mode), row.iter().position(|p| *p == top));
        }
    }

    #[test]
    fn binary_loss_of_a_row_is_the_sum_of_softplus() {
        let row: Vec<f32> = (0..64).map(|i| (i as f32 - 40.0) / 4.0).collect();
        let mut grad = vec![0.0; 64];
        let loss = binary_negative(Isa::found(), &row, 2.0, &mut grad);
        let want: f32 = row.iter().map(|x| (1.0 + x.exp()).ln()).sum();
        assert!((loss - want).abs() < 1e-3, "{loss} against {want}");
        assert!(row.iter().zip(&grad).all(|(x, g)| (g - 2.0 / (1.0 + (-x).exp())).abs() < 1e-5));
    }

    #[test]
    fn exp_is_close_to_the_library_over_its_whole_range() {
        for i in -8700..8800 {
            let x = i as f32 / 100.0;
            let error = (exp::<true>(x) / x.exp() - 1.0).abs();
            assert!(error < 1e-6, "exp({x}): relative error {error}");
        }
        assert!(exp::<true>(f32::MIN) < 1e-37);
    }

    #[test]
    fn softmax_rows_sum_to_one_and_keep_their_order() {
        let mut rows: Vec<f32> = (0..128).map(|i| ((i * 29) % 64) as f32 / 3.0).collect();
        let logits = rows.clone();
        softmax64(Isa::found(), &mut rows);
        for (row, logits) in rows.chunks(64).zip(logits.chunks(64)) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!(
                (row[5] / row[9] - (logits[5] - logits[9]).exp()).abs() < 1e-3 * row[5] / row[9]
            );
        }
    }

    #[test]
    fn normalised_rows_have_mean_zero_and_variance_one() {
        let x: Vec<f32> = (0..40).map(|i| (i * i % 17) as f32).collect();
        let (mut unit, mut scale, mut out) = (vec![0.0; 40], vec![0.0; 2], vec![0.0; 40]);
        layer_norm(Isa::found(), &x, &[2.0; 20], &[1.0; 20], &mut unit, &mut scale, &mut out);
        for (unit, out) in unit.chunks(20).zip(out.chunks(20)) {
            assert!(unit.iter().sum::<f32>().abs() < 1e-4);
            assert!((unit.iter().map(|x| x * x).sum::<f32>() / 20.0 - 1.0).abs() < 1e-3);
            assert!((out[3] - (2.0 * unit[3] + 1.0)).abs() < 1e-6);
        }
    }
}

//! Attention of every arithmetic and head size against reference loops.

use super::*;
use crate::norm;

/// Numbers that bf16 represents exactly.
fn numbers(count: usize, seed: u64, spread: f32) -> Vec<f32> {
    let mut random = crate::testing::Rng::new(seed);
    let mut number = || (random.unit() as f32 * 2.0 - 1.0) * spread;
    (0..count).map(|_| f32::from_bits(number().to_bits() & 0xffff_0000)).collect()
}

/// Reference by plain loops.
fn twin(head: &Head<'_>, out: &mut [f32], row: usize) {
    let at = |part: usize, i: usize, d: usize| head.qkv[part][i * head.stride + d];
    for i in 0..TOKENS {
        let mut scores: Vec<f32> = (0..TOKENS)
            .map(|j| {
                let product: f32 = (0..head.dim).map(|d| at(0, i, d) * at(1, j, d)).sum();
                let dynamic = head.dynamic.map_or(0.0, |bias| bias[i * TOKENS + j]);
                product / (head.dim as f32).sqrt() + dynamic
            })
            .collect();
        norm::attention_softmax(Isa::found(), &mut scores, &head.bias[i * TOKENS..][..TOKENS]);
        for d in 0..head.dim {
            out[i * row + d] = (0..TOKENS).map(|j| scores[j] * at(2, j, d)).sum();
        }
    }
}

#[test]
fn one_pass_equals_plain_loops() {
    for (dim, spread) in [(32, 1.0), (64, 8.0), (32, 0.0), (16, 4.0)] {
        let (stride, row) = (3 * dim + 5, dim + 3);
        let numbers3: Vec<_> = (0..3).map(|i| numbers(TOKENS * stride, i, spread)).collect();
        let bias = numbers(TOKENS * TOKENS, 4, 2.0);
        let dynamic = numbers(TOKENS * TOKENS, 5, 2.0);
        for dynamic in [None, Some(&dynamic[..])] {
            let qkv = [&numbers3[0][..], &numbers3[1][..], &numbers3[2][..]];
            let head = Head { qkv, stride, dim, bias: &bias, dynamic };
            let mut want = vec![7.0; TOKENS * row];
            let mut got = want.clone();
            twin(&head, &mut want, row);
            // bf16 rounds the weights by at most 1/512; fixed point rounds all operands, and long queries
            // and keys dominate the error.
            for (arithmetic, error) in
                [(Arithmetic::Single, 2e-5), (Arithmetic::Bf16, 2.5e-3), (Arithmetic::Int8, 3e-3)]
            {
                if !supports(Method::widest(arithmetic), dim) {
                    crate::isa::skipped(format_args!(
                        "attention of {dim} channels in {arithmetic}"
                    ));
                    continue;
                }
                attend(Method::widest(arithmetic), &head, &mut Operands::default(), &mut got, row);
                for (got, want) in got.iter().zip(&want) {
                    assert!((got - want).abs() <= error * (1.0 + spread), "{got} for {want}");
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn all_heads_in_one_call_equal_plain_loops() {
    use super::bias_mixture::FixedBasis;
    use crate::amx::attention as amx;
    use crate::gemm::{Left, Mat, Right};
    const SQUARE: usize = TOKENS * TOKENS;
    let rank = 6;
    let patterns = numbers(rank * SQUARE, 7, 1.0);
    for (dim, heads, spread) in [(32, 5, 2.0), (64, 2, 1.0), (128, 1, 0.0)] {
        let (width, stride) = (heads * dim, 3 * heads * dim);
        let qkv = numbers(TOKENS * stride, 1, spread);
        let (bias, shares) = (numbers(heads * SQUARE, 2, 2.0), numbers(heads * rank, 3, 0.5));
        let part = |h: usize, i: usize| &qkv[i * width + h * dim..];
        let basis =
            FixedBasis::new(Isa::found(), &patterns, rank).filter(|_| amx::supports(Isa::Amx, dim));
        let Some(basis) = basis else { return crate::isa::skipped(Isa::Amx) };
        let mut packed = amx::AttentionScratch::default();
        let method = amx::PANELS;
        for (h, [queries, keys, values]) in packed.heads(heads).iter_mut().enumerate() {
            let mat = |i: usize| Mat::new(part(h, i), TOKENS, dim, stride);
            let _ = Left::halves(mat(0), (dim as f32).sqrt().recip(), method.isa, queries);
            let _ = Right::packed(mat(1).t(), method, keys);
            let _ = Right::packed(mat(2), method, values);
        }
        for mixes in [false, true] {
            let mixture = amx::Mixture { shares: &shares, patterns: &basis };
            let dynamic = mixes.then_some(mixture);
            let board = amx::Board { heads, dim, bias: &bias, dynamic };
            let mut got = vec![9.0; TOKENS * width];
            let mut kept = vec![0; heads * SQUARE / 2];
            for kept in [None, Some(&mut kept[..])] {
                amx::attend(&board, &mut packed, kept, &mut |first, rows| {
                    got[first * width..][..rows.len()].copy_from_slice(rows);
                });
            }
            let mut want = vec![0.0; TOKENS * width];
            for h in 0..heads {
                let of = |r: usize, at: usize| shares[h * rank + r] * patterns[r * SQUARE + at];
                let mixed: Vec<f32> =
                    (0..SQUARE).map(|at| (0..rank).map(|r| of(r, at)).sum()).collect();
                let head = Head {
                    qkv: [0, 1, 2].map(|i| part(h, i)),
                    stride,
                    dim,
                    bias: &bias[h * SQUARE..][..SQUARE],
                    dynamic: mixes.then_some(&mixed),
                };
                twin(&head, &mut want[h * dim..], width);
            }
            for (got, want) in got.iter().zip(&want) {
                assert!((got - want).abs() <= 8e-3 * (1.0 + spread), "{got} for {want}");
            }
        }
    }
}

#[test]
fn the_highest_sums_are_right() {
    for dim in [16, 32, 64, 128] {
        let (qkv, bias) = (vec![-3.0; TOKENS * dim], vec![0.0; TOKENS * TOKENS]);
        let head = Head { qkv: [&qkv; 3], stride: dim, dim, bias: &bias, dynamic: None };
        for arithmetic in [Arithmetic::Single, Arithmetic::Bf16, Arithmetic::Int8] {
            if !supports(Method::widest(arithmetic), dim) {
                crate::isa::skipped(format_args!("attention of {dim} channels in {arithmetic}"));
                continue;
            }
            let mut out = vec![0.0; TOKENS * dim];
            attend(Method::widest(arithmetic), &head, &mut Operands::default(), &mut out, dim);
            assert!(out.iter().all(|x| (x + 3.0).abs() < 1e-3), "{dim} in {arithmetic}");
        }
    }
}

#[test]
fn nan_propagates() {
    let mut qkv = vec![0.5; TOKENS * 32];
    qkv[17] = f32::NAN;
    let bias = vec![0.0; TOKENS * TOKENS];
    let head = Head { qkv: [&qkv; 3], stride: 32, dim: 32, bias: &bias, dynamic: None };
    for arithmetic in [Arithmetic::Single, Arithmetic::Bf16, Arithmetic::Int8] {
        if !supports(Method::widest(arithmetic), 32) {
            crate::isa::skipped(format_args!("attention of 32 channels in {arithmetic}"));
            continue;
        }
        let mut out = vec![0.0; TOKENS * 32];
        attend(Method::widest(arithmetic), &head, &mut Operands::default(), &mut out, 32);
        assert!(out.iter().any(|x| x.is_nan()));
    }
}

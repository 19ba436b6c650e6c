//! The instruction set that is asked for holds for every kernel, and one that the CPU lacks is never used.

#![allow(clippy::unwrap_used)]

use nn::checkpoint::Network;
use nn::evaluator::cpu::CpuEvaluator;
use nn::kernels::gemm::{Accumulate, Mat, Method, matmul};
use nn::kernels::{Isa, ops};
use nn::net::NetConfig;
use nn::{Arithmetic, Evaluation, Evaluator, Query};
use shakmaty::{Chess, Position};

const SIDE: usize = 64;

/// The answers of the kernels of `isa` to the same numbers: a product, a softmax and a layer norm.
fn answers(isa: Isa) -> [Vec<f32>; 3] {
    let numbers: Vec<f32> = (0..SIDE * SIDE).map(|i| (i * 37 % 101) as f32 / 17.0 - 3.0).collect();
    let square = Mat::new(&numbers, SIDE, SIDE, SIDE);
    let mut product = vec![0.0; SIDE * SIDE];
    let method = Method { isa, arithmetic: Arithmetic::Single };
    matmul(method, &mut product, SIDE, Accumulate::Replace, 0.1, square, square);
    let mut rows = numbers.clone();
    ops::softmax64(isa, &mut rows);
    let gamma: Vec<f32> = (0..SIDE).map(|i| 0.7 + i as f32 / 90.0).collect();
    let beta: Vec<f32> = (0..SIDE).map(|i| i as f32 / 70.0 - 0.4).collect();
    let mut unit = vec![0.0; SIDE * SIDE];
    let mut scale = vec![0.0; SIDE];
    let mut normed = vec![0.0; SIDE * SIDE];
    ops::layer_norm(isa, &numbers, &gamma, &beta, &mut unit, &mut scale, &mut normed);
    [product, rows, normed]
}

/// Fused multiply-add rounds once, a product and a sum twice: the last bits tell which was used.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_instructions_asked_for_reach_products_and_loops_alike() {
    let portable = answers(Isa::Portable);
    if Isa::found() > Isa::Portable {
        for fused in [Isa::found(), Isa::Avx2].map(answers) {
            for (fused, portable) in fused.iter().zip(&portable) {
                assert!(fused != portable, "the same to the last bit");
                let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
                assert!(fused.iter().zip(portable).all(near));
            }
        }
    }
}

fn answer(evaluator: &CpuEvaluator) -> Evaluation {
    let position = Chess::default();
    let legal = position.legal_moves().to_vec();
    let query = Query { position: &position, legal: &legal };
    evaluator.evaluate(&[query]).unwrap().remove(0)
}

#[test]
fn a_network_asked_for_any_set_computes_with_one_that_the_cpu_has() {
    let network = Network::new(&NetConfig::default(), 5);
    let want = answer(&CpuEvaluator::new(&network, Arithmetic::Single));
    for isa in [Isa::Portable, Isa::Neon, Isa::Avx2, Isa::Avx512, Isa::Amx] {
        for arithmetic in [Arithmetic::Single, Arithmetic::Bf16, Arithmetic::Int8] {
            let evaluator = CpuEvaluator::with(&network, Method { isa, arithmetic });
            assert!(evaluator.weights.isa() <= isa.min(Isa::found()));
            let got = answer(&evaluator);
            let gaps = got.policy.iter().zip(&want.policy).map(|(a, b)| (a - b).abs());
            let most = gaps.fold((got.value - want.value).abs(), f32::max);
            assert!(most < 0.02, "{arithmetic} by {isa}: {most}");
        }
    }
}

//! A limit on instruction sets that is set while weights are in use. It is global to the process, so this file
//! has one test.

#![allow(clippy::unwrap_used)]

use nn::checkpoint::Network;
use nn::evaluator::cpu::CpuEvaluator;
use nn::kernels::Isa;
use nn::net::NetConfig;
use nn::{Arithmetic, Evaluation, Evaluator, Query};
use shakmaty::{Chess, Position};

fn answer(evaluator: &CpuEvaluator) -> Evaluation {
    let position = Chess::default();
    let legal = position.legal_moves().to_vec();
    let query = Query { position: &position, legal: &legal };
    evaluator.evaluate(&[query]).unwrap().remove(0)
}

#[test]
fn a_limit_leads_to_no_instructions_that_the_cpu_lacks() {
    for asked in [Isa::Portable, Isa::Neon, Isa::Avx2, Isa::Avx512, Isa::Amx] {
        asked.limit();
        assert!(Isa::used() <= asked.min(Isa::found()) && Isa::ALL.contains(&Isa::used()));
    }
    // Weights packed under one limit are used under every other.
    let network = Network::new(&NetConfig::default(), 5);
    let sets = || Isa::ALL.iter().copied().filter(|isa| *isa <= Isa::found());
    for packed in sets() {
        for arithmetic in [Arithmetic::Single, Arithmetic::Bf16, Arithmetic::Int8] {
            packed.limit();
            let evaluator = CpuEvaluator::new(&network, arithmetic);
            let want = answer(&evaluator);
            for used in sets() {
                used.limit();
                let got = answer(&evaluator);
                let gaps = got.policy.iter().zip(&want.policy).map(|(a, b)| (a - b).abs());
                let most = gaps.fold((got.value - want.value).abs(), f32::max);
                assert!(most < 0.02, "{arithmetic} of {packed} by {used}: {most}");
            }
        }
    }
}

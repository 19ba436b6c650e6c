//! One suite that every evaluator must pass: order kept, batch size without influence, shapes and
//! ranges as promised, nothing asked without moves.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use engine::play::network::{Installed, Networks};
use nn::checkpoint::Network;
use nn::device::{Backend, pick};
use nn::encode::canonical_moves;
use nn::evaluator::burn::BurnEvaluator;
use nn::evaluator::cpu::CpuEvaluator;
use nn::evaluator::fake::{Hashed, Quick, Uniform};
use nn::net::NetConfig;
use nn::precision::Arithmetic;
use nn::{Evaluation, Evaluator, Query};
use shakmaty::{Chess, Move, Position};

/// Positions of a made-up game, with their legal moves.
fn positions() -> Vec<(Chess, Vec<Move>)> {
    let mut position = Chess::default();
    let mut all = Vec::new();
    for i in 0..40usize {
        let legal = canonical_moves(&position).to_vec();
        let Some(m) = legal.get((i * 11 + 5) % legal.len().max(1)).copied() else { break };
        all.push((position.clone(), legal));
        position.play_unchecked(m);
    }
    assert!(all.len() > 20);
    all
}

/// How far burn's answers may be from those of the kernels, and from its own in another batch.
const OF_BURN: f32 = 1e-4;
/// Batches change no bit of the answers of all others.
const TO_THE_BIT: f32 = 0.0;

fn close(a: &Evaluation, b: &Evaluation, most: f32) -> bool {
    let near = |a: &[f32], b: &[f32]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= most)
    };
    near(&[a.value], &[b.value])
        && near(&a.wdl, &b.wdl)
        && near(&a.action_values, &b.action_values)
        && near(&a.policy, &b.policy)
}

fn passes(name: &str, evaluator: &dyn Evaluator, most: f32) {
    let positions = positions();
    let queries: Vec<Query<'_>> =
        positions.iter().map(|(position, legal)| Query { position, legal }).collect();
    let whole = evaluator.evaluate(&queries).expect(name);
    assert_eq!(whole.len(), queries.len(), "{name}");
    for (query, answer) in queries.iter().zip(&whole) {
        let moves = query.legal.len();
        assert_eq!(answer.policy.len(), moves, "{name}");
        assert_eq!(answer.action_modes.len(), moves, "{name}");
        assert!((answer.policy.iter().sum::<f32>() - 1.0).abs() < 1e-3, "{name}: policy");
        assert!((answer.wdl.iter().sum::<f32>() - 1.0).abs() < 1e-3, "{name}: wdl");
        let values = answer.action_values.iter().chain([&answer.value, &answer.value_mode]);
        assert!(values.into_iter().all(|v| (0.0..=1.0).contains(v)), "{name}: values");
        let alone = evaluator.evaluate(&[*query]).expect(name);
        assert!(close(&alone[0], answer, most), "{name}: alone and in a batch differ");
    }
    let (left, right) = queries.split_at(7);
    let mut split = evaluator.evaluate(left).expect(name);
    split.extend(evaluator.evaluate(right).expect(name));
    assert!(
        split.iter().zip(&whole).all(|(a, b)| close(a, b, most)),
        "{name}: split and whole differ"
    );
    let backwards: Vec<Query<'_>> = queries.iter().rev().copied().collect();
    let answers = evaluator.evaluate(&backwards).expect(name);
    assert!(answers.iter().rev().zip(&whole).all(|(a, b)| close(a, b, most)), "{name}: order");
}

#[test]
fn fakes_keep_the_contract() {
    passes("uniform", &Uniform, TO_THE_BIT);
    passes("quick", &Quick, TO_THE_BIT);
    passes("hashed", &Hashed::default(), TO_THE_BIT);
    passes("roll-outs", &engine::world::rollout::Rollouts { seed: 1 }, TO_THE_BIT);
}

#[test]
fn the_network_keeps_the_contract_by_hand_and_through_burn() {
    let bundled = engine::play::network::load(None).expect("the bundled network");
    let fresh = Network::new(&NetConfig::default(), 3);
    for (name, network) in [("bundled", bundled), ("fresh", fresh)] {
        let (device, _) = pick(Backend::BurnCpu);
        let burn = BurnEvaluator::new(&network, &device).expect(name);
        let by_hand = CpuEvaluator::new(&network, Arithmetic::Single);
        passes(name, &by_hand, TO_THE_BIT);
        passes(name, &burn, OF_BURN);
        for (position, legal) in &positions() {
            let query = [Query { position, legal }];
            let (a, b) = (by_hand.evaluate(&query).unwrap(), burn.evaluate(&query).unwrap());
            assert!(close(&a[0], &b[0], OF_BURN), "{name}: the two implementations differ");
        }
    }
}

/// The same on a graphics card, or on the software that stands in for one: `.ci/gpu`.
#[cfg(feature = "gpu")]
#[test]
fn the_network_keeps_the_contract_on_a_card() {
    let network = engine::play::network::load(None).expect("the bundled network");
    let (device, note) = pick(Backend::Gpu);
    assert!(!nn::device::is_cpu(&device), "needs an adapter: {note:?}");
    let by_hand = CpuEvaluator::new(&network, Arithmetic::Single);
    let card = BurnEvaluator::new(&network, &device).expect("on a card");
    passes("card", &card, OF_BURN);
    for (position, legal) in &positions() {
        let query = [Query { position, legal }];
        let (a, b) = (by_hand.evaluate(&query).unwrap(), card.evaluate(&query).unwrap());
        assert!(close(&a[0], &b[0], OF_BURN), "card and kernels differ");
    }
}

/// The option `Backend`: the same network by burn, on the CPU.
#[test]
fn a_network_opened_for_burn_answers_as_the_kernels_do() {
    let opened = Installed::default().open(None, Backend::BurnCpu).expect("the bundled network");
    assert!(opened.name.ends_with("CPU, burn") && !opened.on_gpu, "{}", opened.name);
    passes("opened for burn", opened.evaluator.as_ref(), OF_BURN);
    let network = engine::play::network::load(None).expect("the bundled network");
    let by_hand = CpuEvaluator::new(&network, Arithmetic::Single);
    for (position, legal) in &positions() {
        let query = [Query { position, legal }];
        let (a, b) =
            (by_hand.evaluate(&query).unwrap(), opened.evaluator.evaluate(&query).unwrap());
        assert!(close(&a[0], &b[0], OF_BURN), "burn and the kernels differ");
    }
}

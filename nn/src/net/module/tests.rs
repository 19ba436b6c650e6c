//! The module against the hand-written CPU pass.

use super::*;
use crate::cpu::{Activations, Heads, Weights, forward};
use crate::encode::{Features, MoveCode, canonical_moves};
use crate::kernels::Isa;
use crate::kernels::gemm::Method;
use crate::kernels::gemm::int8::Kernel;
use crate::net::NetConfig;
use crate::precision::Arithmetic;
use shakmaty::{CastlingMode, Chess, Position, fen::Fen};

/// Positions with castling (Chess960's too), promotions, en passant, no moves, and one of them with every
/// action marked.
fn inputs() -> Vec<(Features, Vec<MoveCode>)> {
    let mut all = Vec::new();
    for (fen, mode) in [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", CastlingMode::Standard),
        ("r3k2r/pPp2ppp/8/3pP3/8/8/PPP2PpP/R3K2R b KQkq - 7 9", CastlingMode::Standard),
        ("r3k2r/pPp2ppp/8/3pP3/8/8/PPP2PPP/R3K2R w KQkq d6 0 1", CastlingMode::Standard),
        ("bqnbrkr1/pppppppp/5n2/8/8/5N2/PPPPPPPP/BQNBRKR1 w GEge - 4 3", CastlingMode::Chess960),
        ("bqnbrkr1/pppppppp/5n2/8/8/5N2/PPPPPPPP/BQNBRKR1 b GEge - 99 80", CastlingMode::Chess960),
        ("8/2k5/8/8/8/5K2/4p3/8 b - - 70 1", CastlingMode::Standard),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", CastlingMode::Standard),
        ("R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1", CastlingMode::Standard),
    ] {
        let position: Chess = fen.parse::<Fen>().unwrap().into_position(mode).unwrap();
        let flip = position.turn().is_black();
        let code = |moves: &[shakmaty::Move]| -> Vec<MoveCode> {
            moves.iter().filter_map(|m| MoveCode::new(*m, flip)).collect()
        };
        let legal = canonical_moves(&position);
        all.push((Features::of(&position), code(&legal)));
        for m in legal.iter().step_by(5) {
            let mut after = position.clone();
            after.play_unchecked(*m);
            let features = Features::with_action(&position, MoveCode::new(*m, flip).unwrap());
            all.push((features, code(&canonical_moves(&after))));
        }
    }
    all
}

/// Initial values with the residual branches opened, or the blocks would be the identity.
fn opened(layout: &Layout) -> Vec<f32> {
    let mut values = layout.init(11);
    for (i, value) in values.iter_mut().enumerate() {
        *value += 0.05 * ((i * 7919 % 1013) as f32 / 506.5 - 1.0);
    }
    values
}

fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap()
}

fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn the_module_answers_as_the_cpu_kernels_do() {
    compare(&NetConfig::default());
}

#[test]
fn without_a_dynamic_bias_too() {
    compare(&NetConfig { layers: 2, dynamic_bias: None, ..NetConfig::default() });
}

#[test]
fn with_relations_and_the_policy_in_the_actions_too() {
    compare(&NetConfig {
        layers: 2,
        relations: true,
        policy_in_actions: true,
        transition_marks: true,
        ..NetConfig::default()
    });
}

#[test]
fn where_empty_squares_join_late_too() {
    compare(&NetConfig { layers: 3, piece_blocks: 2, ..NetConfig::default() });
    compare(&NetConfig {
        layers: 2,
        piece_blocks: 1,
        relations: true,
        dynamic_bias: None,
        ..NetConfig::default()
    });
}

/// Single precision to rounding; int8 (7 bits by AVX2) to a share of the largest logit.
fn compare(config: &NetConfig) {
    let layout = Layout::new(config);
    let values = opened(&layout);
    let single = Weights::new(Method::widest(Arithmetic::Single), &layout, &values);
    compare_by(&layout, &values, &single, |_| 1e-4);
    for kernel in Kernel::all() {
        let share = if kernel == Kernel::Avx2 { 0.14 } else { 0.08 };
        let int8 = Weights::int8(Isa::found(), kernel, &layout, &values);
        compare_by(&layout, &values, &int8, |size| share * size);
    }
}

fn compare_by(layout: &Layout, values: &[f32], weights: &Weights, bound: impl Fn(f32) -> f32) {
    let boards = inputs();
    let items: Vec<Item<'_>> =
        boards.iter().map(|(features, moves)| Item { features, moves }).collect();
    let mut activations = Activations::default();
    forward(layout, weights, &items, Heads::All, false, &mut activations);

    let device = Device::flex();
    let net = Net::from_values(layout, values, &device).unwrap();
    let inputs = net.inputs(&items, items.len() + 3, 0, &device);
    let (play, world) = net.forward(&inputs);
    let n = items.len();
    let (k, padded) = (inputs.moves, inputs.positions);
    let (policy, actions) = (host(play.policy), host(play.actions));
    let (mut listed, mut rows) = (Vec::new(), Vec::new());
    for (p, item) in items.iter().enumerate() {
        listed.extend_from_slice(&policy[p * k..][..item.moves.len()]);
        rows.extend_from_slice(&actions[p * k * 64..][..item.moves.len() * 64]);
    }
    let transition = host(world.transition);
    let promotes = host(world.promotes);
    let (mut next, mut promoting) = (Vec::new(), Vec::new());
    for p in 0..n {
        for t in 0..64 {
            let (logits, promotes) = activations.transition(layout, p, t);
            next.extend_from_slice(logits);
            promoting.push(promotes);
        }
    }
    let head = |tensor: Vec<f32>| tensor[..tensor.len() / padded * n].to_vec();
    for (name, got, want) in [
        ("policy", listed, &activations.logits.policy),
        ("actions", rows, &activations.logits.actions),
        ("value", head(host(play.values.buckets)), &activations.logits.value),
        ("result", head(host(play.values.result)), &activations.logits.result),
        ("terminal", head(host(play.values.terminal)), &activations.logits.terminal),
        ("legality", head(host(world.legality)), &activations.logits.legality),
        ("promotes", head(promotes), &promoting),
        ("transition", head(transition), &next),
    ] {
        let size = want.iter().fold(0.0f32, |a, x| a.max(x.abs()));
        let error = difference(&got, want);
        println!("{name}: {error:.1e} of {size:.2}");
        assert!(error < bound(size), "{name}: {error} of {size}, {}", weights.trunk_arithmetic());
    }
    let alone = net.play(&inputs);
    assert!(difference(&host(alone.policy), &policy) < 1e-5);
}

#[test]
fn too_few_values_are_refused() {
    let layout = Layout::new(&NetConfig::default());
    let values = opened(&layout);
    let short = Net::from_values(&layout, &values[1..], &Device::flex());
    assert!(short.unwrap_err().to_string().contains("expected"));
}

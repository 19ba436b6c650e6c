//! Gradients against finite differences of the loss, and the two arithmetics against each other.

use super::super::teacher::Teacher;
use super::*;
use crate::data::example::{Outcome, Source, Terminal};
use nn::checkpoint::Network;
use nn::encode::{Features, MoveCode, NextBoard, canonical_moves};
use nn::evaluator::cpu::CpuEvaluator;
use nn::net::config::{DynamicBiasConfig, NetConfig};
use shakmaty::{CastlingMode, Chess, Position, fen::Fen};

/// A handful of examples with every kind of label.
pub(in crate::network) fn examples() -> Vec<Example> {
    let fens = [
        "r3k2r/pPp2ppp/8/3pP3/8/8/PPP2PPP/R3K2R w KQkq d6 0 1",
        "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 4 3",
        "8/2k5/8/8/8/5K2/4p3/8 b - - 70 1",
    ];
    let mut all = Vec::new();
    for fen in fens {
        let fen: Fen = fen.parse().unwrap();
        let position: Chess = fen.into_position(CastlingMode::Standard).unwrap();
        let flip = position.turn().is_black();
        let code = |moves: &[shakmaty::Move]| -> Vec<MoveCode> {
            moves.iter().filter_map(|m| MoveCode::new(*m, flip)).collect()
        };
        let legal = canonical_moves(&position);
        let values = (0..legal.len()).map(|i| (i as f32 * 0.37).fract()).collect();
        all.push(Example {
            features: Features::of(&position),
            source: Source::ActionValues,
            moves: code(&legal),
            best: Some(3),
            visits: Vec::new(),
            action_values: values,
            value: 0.7,
            result: Some(Outcome::Won),
            terminal: Terminal::Ongoing,
            next: None,
            teacher: None,
        });
        let m = legal[legal.len() - 1];
        let mut after = position.clone();
        after.play_unchecked(m);
        let moves = code(&canonical_moves(&after));
        let mut values = vec![f32::NAN; moves.len()];
        let best = moves.len() - 1;
        values[best] = 0.4;
        all.push(Example {
            features: Features::with_action(&position, MoveCode::new(m, flip).unwrap()),
            source: Source::GameMove,
            moves,
            best: Some(best as u16),
            visits: Vec::new(),
            action_values: values,
            value: f32::NAN,
            result: None,
            terminal: Terminal::Ongoing,
            next: Some(Box::new(NextBoard::of(&after))),
            teacher: None,
        });
    }
    all
}

/// [`examples`], every second pair of them with teacher targets too, and one of those without a label.
pub(in crate::network) fn distilled_examples() -> Vec<Example> {
    let mut batch = examples();
    let teacher = Network::new(&NetConfig::default(), 11);
    Teacher::new(CpuEvaluator::new(&teacher, Arithmetic::Single), 1).label(&mut batch);
    for (i, example) in batch.iter_mut().enumerate() {
        match i % 4 {
            0 | 1 => example.teacher = None,
            2 => {}
            _ => {
                (example.best, example.value, example.action_values) = (None, f32::NAN, Vec::new())
            }
        }
    }
    batch
}

#[test]
fn gradient_is_the_slope_of_the_loss() {
    let config = NetConfig {
        width: 16,
        layers: 2,
        heads: 2,
        ffn: 24,
        policy_dim: 8,
        action_dim: 8,
        legality_dim: 8,
        value_channels: 4,
        value_hidden: 12,
        dynamic_bias: Some(DynamicBiasConfig { channels: 2, hidden: 6, rank: 3 }),
        piece_blocks: 0,
        relations: true,
        policy_in_actions: true,
        transition_marks: true,
        players: 1,
    };
    let layout = Layout::new(&config);
    let loss =
        LossConfig { regret: 5.0, choice: 0.2, best_action_alone: 0.3, ..LossConfig::default() };
    let mut params = layout.init(3);
    // Open the zero-initialised branches, or most gradients would be zero.
    for (i, p) in params.iter_mut().enumerate() {
        *p += 0.1 * ((i * 7919 % 1013) as f32 / 506.5 - 1.0);
    }
    // Or the slopes behind it drown in the kinks of the ReLU.
    params[layout.bias_basis.clone()].iter_mut().for_each(|p| *p *= 10.0);
    let mut step = CpuStep::new(layout.clone(), loss.clone(), Arithmetic::Single, 2);
    let batch = [examples(), distilled_examples()].concat();
    let mut grads = vec![0.0; layout.len];
    step.gradient(&params, &batch, &mut grads).unwrap();
    let mut unused = vec![0.0; layout.len];
    for param in &layout.params {
        // Along the gradient the slope is its length: no entry can hide.
        let part = &grads[param.range.clone()];
        let length = part.iter().map(|g| g * g).sum::<f32>().sqrt();
        assert!(length > 0.0, "{} gets no gradient", param.name);
        let h = 1e-3 / length.max(0.2);
        let mut at = |sign: f32| {
            let mut moved = params.clone();
            for (p, g) in moved[param.range.clone()].iter_mut().zip(part) {
                *p += sign * h * g / length;
            }
            step.gradient(&moved, &batch, &mut unused).unwrap().total(&loss)
        };
        let slope = (at(1.0) - at(-1.0)) / (2.0 * f64::from(h));
        let error = (slope / f64::from(length) - 1.0).abs();
        assert!(error < 0.03, "{}: slope {slope}, gradient {length}", param.name);
    }
}

/// Without bf16 on the CPU, both are the same gradient.
#[test]
fn bf16_points_where_single_precision_points() {
    let layout = Layout::new(&NetConfig::default());
    let mut params = layout.init(5);
    for (i, p) in params.iter_mut().enumerate() {
        *p += 0.05 * ((i * 7919 % 1013) as f32 / 506.5 - 1.0);
    }
    let [single, half] = [Arithmetic::Single, Arithmetic::Bf16].map(|arithmetic| {
        let mut grads = vec![0.0; layout.len];
        let loss = LossConfig::default();
        let mut step = CpuStep::new(layout.clone(), loss, arithmetic, 1);
        step.gradient(&params, &examples(), &mut grads).unwrap();
        grads
    });
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    for param in &layout.params {
        let (a, b) = (&single[param.range.clone()], &half[param.range.clone()]);
        let cosine = dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
        assert!(cosine > 0.99, "{}: {cosine}", param.name);
    }
}

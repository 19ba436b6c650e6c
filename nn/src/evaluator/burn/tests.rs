//! The evaluator as on a GPU (lanes, few shapes), on the CPU, against the hand-written kernels.

use super::*;
use crate::encode::{MoveCode, canonical_moves};
use crate::evaluator::cpu::CpuEvaluator;
use crate::evaluator::difference::max_difference;
use crate::evaluator::transition::{Imagined, Refusal, Step};
use crate::net::NetConfig;
use shakmaty::{CastlingMode, Chess, Move, Position, fen::Fen};

/// 218 moves: more than a row holds.
const MANY: &str = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1";

pub(super) fn bundled() -> Network {
    Network::from_bytes(include_bytes!("../../../../assets/mavka.safetensors")).unwrap()
}

fn positions() -> Vec<(Chess, Vec<Move>)> {
    let many = MANY.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
    let mut positions = vec![Chess::default(), many];
    for i in 0..6 {
        let mut next = if i == 0 { Chess::default() } else { positions[i + 1].clone() };
        next.play_unchecked(canonical_moves(&next)[i * 3]);
        positions.push(next);
    }
    let with_moves = |position: Chess| {
        let legal = canonical_moves(&position).to_vec();
        (position, legal)
    };
    positions.into_iter().map(with_moves).collect()
}

pub(super) fn queries(positions: &[(Chess, Vec<Move>)]) -> Vec<Query<'_>> {
    positions.iter().map(|(position, legal)| Query { position, legal }).collect()
}

#[test]
fn all_evaluators_answer_alike_in_any_batch() {
    let network = Network::new(&NetConfig::default(), 1);
    let here = BurnEvaluator::new(&network, &Device::flex()).unwrap();
    let lanes = BurnEvaluator::in_lanes(&network, &Device::flex()).unwrap();
    assert_eq!((here.in_flight(), lanes.in_flight()), (1, 2));
    let cpu = CpuEvaluator::new(&network, Arithmetic::Single);
    let positions = positions();
    let queries = queries(&positions);
    let reference = cpu.evaluate(&queries).unwrap();
    for burn in [&here, &lanes] {
        let batched = burn.evaluate(&queries).unwrap();
        for ((query, got), want) in queries.iter().zip(&batched).zip(&reference) {
            assert_eq!(got.policy.len(), query.legal.len());
            let alone = &burn.evaluate(&[*query]).unwrap()[0];
            assert!(max_difference(got, want) < 1e-5 && max_difference(got, alone) < 1e-5);
        }
        assert_eq!(burn.evaluate(&[]), Ok(Vec::new()));
        let none = Query { position: &positions[0].0, legal: &[] };
        assert_eq!(burn.evaluate(&[none]), Err(EvalError::NoMoves));
    }
}

#[test]
fn all_evaluators_imagine_alike() {
    let network = bundled();
    let here = BurnEvaluator::new(&network, &Device::flex()).unwrap();
    let lanes = BurnEvaluator::in_lanes(&network, &Device::flex()).unwrap();
    let cpu = CpuEvaluator::new(&network, Arithmetic::Single);
    // Every third move of each position, legal or not.
    let positions: Vec<(Chess, Vec<Move>)> = positions();
    let mut steps = Vec::new();
    for (state, legal) in &positions {
        for m in legal.iter().step_by(3) {
            let action = MoveCode::new(*m, state.turn().is_black()).unwrap();
            steps.push(Step { state, action });
        }
        steps.push(Step { state, action: MoveCode { from: 0, to: 63, promotion: 0 } });
    }
    let mut want = cpu.imagine(&steps).unwrap();
    let want_again = {
        let mut want = want.clone();
        cpu.refine(&mut want).unwrap();
        want
    };
    // Nine queens a side are out of distribution.
    let ordinary = steps.iter().zip(&want).filter(|(step, _)| step.state != &positions[1].0);
    let (fine, all) = ordinary
        .fold((0, 0), |(fine, all), (_, answer)| (fine + usize::from(answer.is_ok()), all + 1));
    assert!(fine > 40 && fine * 2 > all, "{fine} of {all} states to compare");
    assert_ne!(want, want_again, "a second look tells something new");
    for burn in [&here, &lanes] {
        let mut got = burn.imagine(&steps).unwrap();
        same(&got, &want);
        burn.refine(&mut got).unwrap();
        same(&got, &want_again);
    }
    want.truncate(1);
    same(&lanes.imagine(&steps[..1]).unwrap(), &want);
    assert_eq!(lanes.imagine(&[]), Ok(Vec::new()));
}

/// Equal up to rounding.
pub(super) fn same(got: &[Result<Imagined, Refusal>], want: &[Result<Imagined, Refusal>]) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        let (Ok(got), Ok(want)) = (got, want) else {
            assert_eq!(got, want);
            continue;
        };
        let known = |imagined: &Imagined| {
            (imagined.state.clone(), imagined.legal.clone(), imagined.rejected)
        };
        assert_eq!(known(got), known(want));
        assert!(got.end.iter().zip(want.end).all(|(a, b)| (a - b).abs() < 1e-4));
        match (&got.evaluation, &want.evaluation) {
            (Some(a), Some(b)) => assert!(max_difference(a, b) < 1e-4),
            (a, b) => assert_eq!(a, b),
        }
    }
}

#[test]
fn threads_share_the_lanes() {
    let config = NetConfig { layers: 1, ..NetConfig::default() };
    let network = Network::new(&config, 1);
    let lanes = BurnEvaluator::in_lanes(&network, &Device::flex()).unwrap();
    let positions = positions();
    let queries = queries(&positions);
    let want = lanes.evaluate(&queries).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for (query, want) in queries.iter().zip(&want) {
                    assert!(max_difference(&lanes.evaluate(&[*query]).unwrap()[0], want) < 1e-5);
                }
            });
        }
    });
}

#[test]
fn a_device_that_computes_wrongly_is_not_taken() {
    let (network, device) = (bundled(), Device::flex());
    let lanes = || BurnEvaluator::in_lanes(&network, &device).unwrap();
    assert!(lanes().checked(&network).is_ok());
    let mut other = network.clone();
    other.values.iter_mut().for_each(|x| *x *= 1.5);
    let error = lanes().checked(&other).err().unwrap().to_string();
    assert!(error.contains("its answers differ from the CPU's by"), "{error}");
    other.values.fill(f32::NAN);
    assert!(lanes().checked(&other).is_err());
}

#[test]
fn a_network_that_does_not_fit_is_an_error() {
    let mut network = Network::new(&NetConfig::default(), 1);
    network.values.pop();
    let device = Device::flex();
    assert!(BurnEvaluator::new(&network, &device).is_err());
    assert!(BurnEvaluator::in_lanes(&network, &device).is_err());
}

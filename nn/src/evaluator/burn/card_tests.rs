//! The evaluator on a graphics card by wgpu, or on the software that stands in for one, against the hand-written kernels.
//! Fails without an adapter: `.ci/gpu` installs one.

use super::tests::{bundled, queries};
use super::*;
use crate::device::graphics::another;
use crate::device::{Backend, card, pick};
use crate::encode::{MoveCode, canonical_moves};
use crate::evaluator::difference::max_difference;
use crate::evaluator::transition::Step;
use crate::rng::Rng;
use shakmaty::{Chess, Move, Position};

/// How far burn's answers may be from those of the kernels: as on the CPU.
const BOUND: f32 = 1e-4;

fn adapter() -> Device {
    let (device, note) = pick(Backend::Gpu);
    assert!(!is_cpu(&device), "needs an adapter of Vulkan, Metal or DirectX 12: {note:?}");
    device
}

/// Positions of made-up games.
fn positions(count: usize) -> Vec<(Chess, Vec<Move>)> {
    let mut random = Rng::new(7);
    let mut position = Chess::default();
    let mut all = Vec::new();
    while all.len() < count {
        let legal = canonical_moves(&position).to_vec();
        if legal.is_empty() {
            position = Chess::default();
            continue;
        }
        let next = legal[random.below(legal.len())];
        all.push((position.clone(), legal));
        position.play_unchecked(next);
    }
    all
}

#[test]
fn a_card_answers_as_the_kernels_do() {
    let network = bundled();
    let device = adapter();
    let evaluator = BurnEvaluator::new(&network, &device).unwrap();
    let card = card(&device).expect("a card has a name");
    assert!(!card.name.is_empty());
    let sizes = if card.is_software { Shapes::SOFTWARE.sizes } else { Shapes::PADDED.sizes };
    assert_eq!(evaluator.batches(), sizes);
    let cpu = CpuEvaluator::new(&network, Arithmetic::Single);
    let positions = positions(200);
    let queries = queries(&positions);
    let want = cpu.evaluate(&queries).unwrap();
    let got = evaluator.evaluate(&queries).unwrap();
    let far = got.iter().zip(&want).map(|(a, b)| max_difference(a, b)).fold(0.0, f32::max);
    println!("{}: 200 positions, at most {far:.1e} from the kernels", card.name);
    assert!(far < BOUND, "{far}");
    for (query, want) in queries.iter().zip(&want).step_by(29) {
        let alone = &evaluator.evaluate(&[*query]).unwrap()[0];
        assert!(max_difference(alone, want) < BOUND);
    }
}

#[test]
fn a_card_imagines_as_the_kernels_do() {
    let network = bundled();
    let evaluator = BurnEvaluator::new(&network, &adapter()).unwrap();
    let cpu = CpuEvaluator::new(&network, Arithmetic::Single);
    let positions = positions(12);
    let mut steps = Vec::new();
    for (state, legal) in &positions {
        for m in legal.iter().step_by(9) {
            let action = MoveCode::new(*m, state.turn().is_black()).unwrap();
            steps.push(Step { state, action });
        }
    }
    let (mut got, mut want) = (evaluator.imagine(&steps).unwrap(), cpu.imagine(&steps).unwrap());
    super::tests::same(&got, &want);
    assert!(want.iter().filter(|answer| answer.is_ok()).count() > 20);
    evaluator.refine(&mut got).unwrap();
    cpu.refine(&mut want).unwrap();
    super::tests::same(&got, &want);
}

#[test]
fn a_lost_card_is_an_error_in_all_threads() {
    let network = bundled();
    let (device, handle) = another(|_| {}).unwrap();
    let evaluator = BurnEvaluator::new(&network, &device).unwrap();
    let positions = positions(3);
    let queries = queries(&positions);
    assert!(evaluator.evaluate(&queries).is_ok());
    handle.destroy();
    for _ in 0..4 {
        let error = evaluator.evaluate(&queries).err();
        assert!(matches!(error, Some(EvalError::Device(_))), "{error:?}");
    }
    assert!(BurnEvaluator::new(&network, &device).is_err());
    assert!(BurnEvaluator::new(&network, &adapter()).is_ok(), "another device still computes");
}

#[test]
fn a_card_that_is_too_small_is_an_error() {
    // A few values of the network fit, a layer does not.
    let too_small = another(|limits| {
        limits.max_storage_buffer_binding_size = 16_384;
        limits.max_buffer_size = 16_384;
    });
    let error = too_small.map(|(device, _)| BurnEvaluator::new(&bundled(), &device).err());
    assert!(matches!(error, Err(_) | Ok(Some(EvalError::Device(_)))), "{error:?}");
}

//! The losses and their gradient by burn's autodiff, one example at a time: the reference of the hand-written gradient.

use super::CpuStep;
use super::cpu::tests::{distilled_examples, examples};
use super::loss::world_model::{FLAGS, PIECES, terminal_class};
use super::loss::{Buckets, LOSSES, Loss, LossConfig, policy, values};
use super::step::Step;
use crate::data::Example;
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData, activation};
use nn::kernels::{Isa, ops};
use nn::net::{BUCKETS, CENTRES, Layout, Net, NetConfig, TOKENS};
use nn::precision::Arithmetic;

/// Unweighted losses of an example, `[LOSSES]`; 0 without a label.
fn losses(net: &Net, example: &Example, config: &LossConfig, device: &Device) -> Tensor<1> {
    fn on<const D: usize>(device: &Device, values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
        Tensor::from_data(TensorData::new(values, shape), device)
    }
    let none = || Tensor::<1>::zeros([1], device);
    let one_hot = |class: usize| {
        on(device, (0..3).map(|at| f32::from(u8::from(at == class))).collect(), [1, 3])
    };
    let (play, world) = net.forward(&net.inputs(&[example.item()], 1, 0, device));
    let (k, buckets) = (example.moves.len(), Buckets::new(config.bucket_deviation));
    let (moves, actions) = (play.policy.narrow(1, 0, k), play.actions.narrow(1, 0, k));
    let target = policy::target(example, config);
    let target = (!target.is_empty()).then(|| on(device, target, [1, k]));
    let centres = Tensor::<1>::from_data(CENTRES, device).reshape([1, 1, BUCKETS]);
    let means = (activation::softmax(actions.clone(), 2) * centres).sum_dim(2).squeeze_dim::<2>(2);
    let regrets = policy::regrets(example);
    let share = config.action_share(example) / example.known_actions().max(1) as f32;
    let of_action = |target: Option<[f32; BUCKETS]>| {
        target.map_or([0.0; BUCKETS], |target| target.map(|x| share * x))
    };
    let targets: Vec<f32> =
        values::action_targets(example, &buckets, config).flat_map(of_action).collect();
    let (mut legal, mut promotes, mut movers) =
        (vec![0.0; TOKENS * TOKENS], vec![0.0; TOKENS], vec![0.0; TOKENS]);
    for action in &example.moves {
        let from = usize::from(action.from);
        legal[from * TOKENS + usize::from(action.to)] = 1.0;
        movers[from] = 1.0;
        promotes[from] = if action.promotion > 0 { 1.0 } else { promotes[from] };
    }
    let legality = binary(world.legality, on(device, legal, [1, TOKENS, TOKENS])).sum();
    let promotes = binary(world.promotes, on(device, promotes, [1, TOKENS]));
    let promotes = (promotes * on(device, movers, [1, TOKENS])).sum();
    let transition = example.next.as_ref().map_or_else(none, |next| {
        let mut pieces = vec![0.0; TOKENS * PIECES];
        next.pieces
            .iter()
            .enumerate()
            .for_each(|(t, piece)| pieces[t * PIECES + usize::from(*piece)] = 1.0);
        let bit = |bits: &u8| {
            let bits = *bits;
            (0..FLAGS).map(move |bit| f32::from(bits >> bit & 1))
        };
        let flags: Vec<f32> = next.flags.iter().flat_map(bit).collect();
        let found = world.transition.clone();
        let flags =
            binary(found.clone().narrow(2, PIECES, FLAGS), on(device, flags, [1, TOKENS, FLAGS]));
        (cross_entropy(found.narrow(2, 0, PIECES), on(device, pieces, [1, TOKENS, PIECES]))
            + flags.sum())
            / 8.0
    });
    let in_order = [
        target.clone().map_or_else(none, |target| cross_entropy(moves.clone(), target)),
        if regrets.is_empty() {
            none()
        } else {
            (activation::softmax(moves, 1) * on(device, regrets, [1, k])).sum()
        },
        cross_entropy(actions, on(device, targets, [1, k, BUCKETS])),
        values::value_target(example, &buckets, config).map_or_else(none, |target| {
            cross_entropy(play.values.buckets, on(device, target.to_vec(), [1, BUCKETS]))
        }),
        example
            .result
            .map_or_else(none, |result| cross_entropy(play.values.result, one_hot(result.class()))),
        cross_entropy(play.values.terminal, one_hot(terminal_class(example.terminal))),
        (legality + promotes) / TOKENS as f32,
        transition,
        target.map_or_else(none, |target| cross_entropy(means / config.choice_temperature, target)),
    ];
    Tensor::cat(in_order.into(), 0)
}

/// Cross-entropy of the softmax over the last dimension, summed, `[1]`.
fn cross_entropy<const D: usize>(logits: Tensor<D>, target: Tensor<D>) -> Tensor<1> {
    -(activation::log_softmax(logits, D - 1) * target).sum()
}

/// Binary cross-entropy of every logit, of the logits' shape.
fn binary<const D: usize>(logits: Tensor<D>, truth: Tensor<D>) -> Tensor<D> {
    // softplus(x) = -log sigmoid(-x), which burn computes without overflow.
    -activation::log_sigmoid(-logits.clone()) - truth * logits
}

/// Visits the parameters in field order and collects their gradients; zero for one that the loss does not depend on.
struct Flat<'a> {
    gradients: &'a mut Gradients,
    parts: Vec<Tensor<1>>,
}

impl ModuleVisitor for Flat<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let value = param.val();
        self.parts.push(match value.grad_remove(self.gradients) {
            Some(gradient) => gradient.reshape([-1]),
            None => value.inner().zeros_like().reshape([-1]),
        });
    }
}

/// Sums of the losses over a batch, and the gradient of their weighted mean.
fn gradient(
    layout: &Layout,
    params: &[f32],
    batch: &[Example],
    config: &LossConfig,
) -> ([f64; LOSSES], Vec<f32>) {
    let device = Device::flex().autodiff();
    let net = Net::from_values(layout, params, &device).unwrap();
    let weights = config.weights().map(|weight| weight / batch.len() as f32);
    let weights = Tensor::<1>::from_data(weights, &device);
    let (mut sums, mut grads) = ([0.0; LOSSES], vec![0.0; layout.len]);
    for example in batch {
        let losses = losses(&net, example, config, &device);
        let mut gradients = (losses.clone() * weights.clone()).sum().backward();
        let mut flat = Flat { gradients: &mut gradients, parts: Vec::new() };
        net.visit(&mut flat);
        let read = |tensor: Tensor<1>| tensor.try_into_vec_as::<f32>().unwrap();
        ops::add_scaled(Isa::found(), &mut grads, 1.0, &read(Tensor::cat(flat.parts, 0)));
        sums.iter_mut().zip(read(losses.inner())).for_each(|(sum, x)| *sum += f64::from(x));
    }
    (sums, grads)
}

#[test]
fn autodiff_agrees_with_the_hand_written_gradient() {
    let layout = Layout::new(&NetConfig::default());
    let config =
        LossConfig { regret: 5.0, choice: 0.2, best_action_alone: 0.3, ..LossConfig::default() };
    let mut params = layout.init(5);
    // Opens the zero-initialised branches.
    for (i, p) in params.iter_mut().enumerate() {
        *p += 0.05 * ((i * 7919 % 1013) as f32 / 506.5 - 1.0);
    }
    let batch = [examples(), distilled_examples()].concat();
    let (sums, want) = gradient(&layout, &params, &batch, &config);
    let mut got = vec![f32::NAN; layout.len];
    let mut step = CpuStep::new(layout.clone(), config, Arithmetic::Single, 2);
    let found = step.gradient(&params, &batch, &mut got).unwrap();
    for (name, (part, sum)) in Loss::NAMES.iter().zip(found.parts.iter().zip(sums)) {
        assert!((part.sum / sum - 1.0).abs() < 1e-4, "{name}: {part:?} against {sum}");
    }
    let length = |x: &mut dyn Iterator<Item = f32>| x.map(|x| x * x).sum::<f32>().sqrt();
    for param in &layout.params {
        let (a, b) = (&got[param.range.clone()], &want[param.range.clone()]);
        let error = length(&mut a.iter().zip(b).map(|(a, b)| a - b));
        let size = length(&mut b.iter().copied());
        assert!(size > 0.0 && error / size < 1e-3, "{}: {error} of {size}", param.name);
    }
    let error = step.gradient(&[0.0; 3], &batch, &mut [0.0; 3]).unwrap_err();
    assert!(error.to_string().contains("3 parameters"), "{error}");
}

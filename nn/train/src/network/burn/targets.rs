//! Targets as tensors, and the losses: [`crate::network::loss`] in burn. An unknown label is a target of zeros,
//! which has neither loss nor gradient.

use crate::data::Example;
use crate::network::loss::world_model::{FLAGS, PIECES, terminal_class};
use crate::network::loss::{Buckets, Loss, LossConfig, LossSums, policy, values};
use burn::tensor::{Device, Tensor, TensorData, activation};
use nn::net::module::{Play, World};
use nn::net::{BUCKETS, CENTRES, Inputs, TOKENS};

const SQUARE: usize = TOKENS * TOKENS;
/// Added to a padding move's logit: its probability is zero beside any real one.
const NEVER: f32 = -1e9;

/// Targets of `n` examples with `k` moves each, padding included.
pub(super) struct Targets {
    /// `[n, k]`: 0, or [`NEVER`] for padding.
    padding: Tensor<2>,
    /// `[n, k]`.
    policy: Tensor<2>,
    /// Temperature of the choice by action values, where that is learnt.
    choice: Option<f32>,
    /// `[n, k]`, in win probability.
    regrets: Tensor<2>,
    /// `[n, k, 64]`, each row's sum its move's share of the example's loss.
    actions: Tensor<3>,
    /// `[n, 64]`.
    value: Tensor<2>,
    /// `[n, 3]`.
    result: Tensor<2>,
    /// `[n, 3]`.
    terminal: Tensor<2>,
    /// `[n, 64, 64]`.
    legality: Tensor<3>,
    /// `[n, 64]`, and which of them count.
    promotes: Tensor<2>,
    movers: Tensor<2>,
    /// `[n, 64, 13]`.
    pieces: Tensor<3>,
    /// `[n, 64, 3]`, and `[n, 1, 1]` which examples count.
    flags: Tensor<3>,
    moved: Tensor<3>,
    /// Number of examples with each label; the sums are still zero.
    counts: LossSums,
}

/// Targets on the host, while they are gathered.
struct Host {
    padding: Vec<f32>,
    policy: Vec<f32>,
    regrets: Vec<f32>,
    actions: Vec<f32>,
    value: Vec<f32>,
    result: Vec<f32>,
    terminal: Vec<f32>,
    legality: Vec<f32>,
    promotes: Vec<f32>,
    movers: Vec<f32>,
    pieces: Vec<f32>,
    flags: Vec<f32>,
    moved: Vec<f32>,
    counts: LossSums,
}

impl Targets {
    /// Targets of `examples`, padded as `inputs` are.
    pub(super) fn new(
        examples: &[Example],
        config: &LossConfig,
        buckets: &Buckets,
        inputs: &Inputs,
        device: &Device,
    ) -> Targets {
        let (n, k) = (inputs.positions, inputs.moves);
        let mut host = Host::new(n, k);
        for (p, example) in examples.iter().enumerate() {
            host.add(p, k, example, config, buckets);
        }
        fn on<const D: usize>(device: &Device, values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
            Tensor::from_data(TensorData::new(values, shape), device)
        }
        Targets {
            padding: on(device, host.padding, [n, k]),
            policy: on(device, host.policy, [n, k]),
            choice: (config.choice > 0.0).then_some(config.choice_temperature),
            regrets: on(device, host.regrets, [n, k]),
            actions: on(device, host.actions, [n, k, BUCKETS]),
            value: on(device, host.value, [n, BUCKETS]),
            result: on(device, host.result, [n, 3]),
            terminal: on(device, host.terminal, [n, 3]),
            legality: on(device, host.legality, [n, TOKENS, TOKENS]),
            promotes: on(device, host.promotes, [n, TOKENS]),
            movers: on(device, host.movers, [n, TOKENS]),
            pieces: on(device, host.pieces, [n, TOKENS, PIECES]),
            flags: on(device, host.flags, [n, TOKENS, FLAGS]),
            moved: on(device, host.moved, [n, 1, 1]),
            counts: host.counts,
        }
    }

    /// The unweighted sums, one per [`Loss`] in order, and the counts.
    pub(super) fn losses(self, play: Play, world: World) -> (Tensor<1>, LossSums) {
        let pieces = world.transition.clone().narrow(2, 0, PIECES);
        let flags = world.transition.narrow(2, PIECES, FLAGS);
        let legality = binary(world.legality, self.legality).sum();
        let promotes = (binary(world.promotes, self.promotes) * self.movers).sum();
        let flags = (binary(flags, self.flags) * self.moved).sum();
        let policy = play.policy + self.padding.clone();
        let regret = (activation::softmax(policy.clone(), 1) * self.regrets).sum();
        let device = play.actions.device();
        let choice = match self.choice {
            Some(temperature) => {
                let centres = Tensor::<1>::from_data(CENTRES, &device).reshape([1, 1, BUCKETS]);
                let means = (activation::softmax(play.actions.clone(), 2) * centres).sum_dim(2);
                let logits = means.squeeze_dim::<2>(2) / temperature + self.padding;
                cross_entropy(logits, self.policy.clone())
            }
            None => Tensor::zeros([1], &device),
        };
        let sums = vec![
            cross_entropy(policy, self.policy),
            regret,
            cross_entropy(play.actions, self.actions),
            cross_entropy(play.values.buckets, self.value),
            cross_entropy(play.values.result, self.result),
            cross_entropy(play.values.terminal, self.terminal),
            (legality + promotes) / TOKENS as f32,
            (cross_entropy(pieces, self.pieces) + flags) / 8.0,
            choice,
        ];
        (Tensor::cat(sums, 0), self.counts)
    }
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

impl Host {
    fn new(n: usize, k: usize) -> Host {
        Host {
            padding: vec![NEVER; n * k],
            policy: vec![0.0; n * k],
            regrets: vec![0.0; n * k],
            actions: vec![0.0; n * k * BUCKETS],
            value: vec![0.0; n * BUCKETS],
            result: vec![0.0; n * 3],
            terminal: vec![0.0; n * 3],
            legality: vec![0.0; n * SQUARE],
            promotes: vec![0.0; n * TOKENS],
            movers: vec![0.0; n * TOKENS],
            pieces: vec![0.0; n * TOKENS * PIECES],
            flags: vec![0.0; n * TOKENS * FLAGS],
            moved: vec![0.0; n],
            counts: LossSums::default(),
        }
    }

    /// Writes example `p`; unknown labels stay zero.
    fn add(
        &mut self,
        p: usize,
        k: usize,
        example: &Example,
        config: &LossConfig,
        buckets: &Buckets,
    ) {
        let counts = &mut self.counts;
        counts.examples += 1.0;
        let mut count = |loss: Loss| counts.parts[loss as usize].count += 1.0;
        self.padding[p * k..][..example.moves.len()].fill(0.0);
        let target = policy::target(example, config);
        if !target.is_empty() {
            self.policy[p * k..][..target.len()].copy_from_slice(&target);
            count(Loss::Policy);
            if config.choice > 0.0 {
                count(Loss::Choice);
            }
        }
        let regrets = policy::regrets(example);
        if !regrets.is_empty() {
            self.regrets[p * k..][..regrets.len()].copy_from_slice(&regrets);
            count(Loss::Regret);
        }
        let share = config.action_share(example);
        let known = example.known_actions();
        for (i, target) in values::action_targets(example, buckets, config).enumerate() {
            if let Some(target) = target {
                let row = &mut self.actions[(p * k + i) * BUCKETS..][..BUCKETS];
                let weight = share / known as f32;
                row.iter_mut().zip(target).for_each(|(place, t)| *place = weight * t);
            }
        }
        if let Some(target) = values::value_target(example, buckets, config) {
            self.value[p * BUCKETS..][..BUCKETS].copy_from_slice(&target);
            count(Loss::Value);
        }
        if let Some(result) = example.result {
            self.result[p * 3 + result.class()] = 1.0;
            count(Loss::Result);
        }
        self.terminal[p * 3 + terminal_class(example.terminal)] = 1.0;
        count(Loss::Terminal);
        for m in &example.moves {
            let from = p * TOKENS + usize::from(m.from);
            self.legality[from * TOKENS + usize::from(m.to)] = 1.0;
            self.movers[from] = 1.0;
            if m.promotion > 0 {
                self.promotes[from] = 1.0;
            }
        }
        count(Loss::Legality);
        if let Some(next) = &example.next {
            for (t, (piece, bits)) in next.pieces.iter().zip(next.flags).enumerate() {
                let token = p * TOKENS + t;
                self.pieces[token * PIECES + usize::from(*piece)] = 1.0;
                for bit in 0..FLAGS {
                    self.flags[token * FLAGS + bit] = f32::from(bits >> bit & 1);
                }
            }
            self.moved[p] = 1.0;
            count(Loss::Transition);
        }
        if known > 0 {
            self.counts.parts[Loss::Actions as usize].count += f64::from(share);
        }
    }
}

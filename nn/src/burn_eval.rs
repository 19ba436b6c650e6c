//! The evaluator on a burn device: for GPUs, and on the CPU the reference that tests hold the
//! hand-written evaluator to.

use crate::checkpoint::Network;
use crate::cpu::Item;
use crate::device::{guarded, is_cpu};
use crate::encode::{Features, MoveCode};
use crate::evaluator::{EvalError, Evaluation, Evaluator, Query};
use crate::infer::{answer, encode};
use crate::net::{BUCKETS, Inputs, Net};
use burn::tensor::{Device, Tensor};

/// Positions a device takes at once.
const LARGEST: usize = 1024;

/// Evaluates on one device. Threads may share it, and a GPU then takes turns; one asking for large
/// batches is faster than many asking for small ones.
pub struct BurnEvaluator {
    net: Net,
    device: Device,
}

impl BurnEvaluator {
    /// Puts the network on `device`.
    ///
    /// # Errors
    /// The device failed, or the network's values do not fit its layout.
    pub fn new(network: &Network, device: Device) -> Result<BurnEvaluator, EvalError> {
        let device = device.without_autodiff();
        let net = guarded(|| Net::from_values(&network.layout, &network.values, &device))
            .map_err(EvalError::Device)?
            .map_err(|error| EvalError::Device(error.to_string()))?;
        Ok(BurnEvaluator { net, device })
    }

    /// Logits of a batch: policy `[n, k]`, actions `[n, k, 64]`, value `[n, 64]`, result `[n, 3]`.
    fn logits(&self, items: &[Item<'_>]) -> Result<(usize, [Vec<f32>; 4]), EvalError> {
        // Powers of two, so that the device meets (and tunes its kernels for) few shapes.
        let inputs = Inputs::new(items, items.len().next_power_of_two(), &self.device);
        let (n, k) = (inputs.positions, inputs.moves);
        let play = self.net.play(&inputs);
        let parts = [
            play.policy.reshape([-1]),
            play.actions.reshape([-1]),
            play.values.buckets.reshape([-1]),
            play.values.result.reshape([-1]),
        ];
        // One download for all.
        let all = Tensor::<1>::cat(parts.to_vec(), 0).try_into_vec_as::<f32>();
        let all = all.map_err(|error| EvalError::Device(error.to_string()))?;
        let mut rest = all.as_slice();
        let heads = [n * k, n * k * BUCKETS, n * BUCKETS, n * 3].map(|len| {
            let (head, tail) = rest.split_at(len);
            rest = tail;
            head.to_vec()
        });
        Ok((k, heads))
    }

    fn part(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        let boards: Vec<(Features, Vec<MoveCode>)> = batch.iter().map(encode).collect();
        let items: Vec<Item<'_>> =
            boards.iter().map(|(features, moves)| Item { features, moves }).collect();
        let (k, [policy, actions, value, result]) = self.logits(&items)?;
        let answers = items.iter().enumerate().map(|(p, item)| {
            let m = item.moves.len();
            answer(
                &policy[p * k..][..m],
                &actions[p * k * BUCKETS..][..m * BUCKETS],
                &value[p * BUCKETS..][..BUCKETS],
                &result[p * 3..][..3],
            )
        });
        answers.collect()
    }
}

impl Evaluator for BurnEvaluator {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        let mut answers = Vec::with_capacity(batch.len());
        for part in batch.chunks(LARGEST) {
            answers.extend(guarded(|| self.part(part)).map_err(EvalError::Device)??);
        }
        Ok(answers)
    }

    fn preferred_batch(&self) -> usize {
        if is_cpu(&self.device) { 16 } else { 256 }
    }

    /// On a GPU measuring is warming up as well: these are all the sizes it will meet.
    fn batches(&self) -> &[usize] {
        const SIZES: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, LARGEST];
        if is_cpu(&self.device) { &SIZES[..5] } else { &SIZES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Arithmetic;
    use crate::encode::canonical_moves;
    use crate::infer::CpuEvaluator;
    use crate::net::NetConfig;
    use shakmaty::{Chess, Position};

    fn difference(a: &Evaluation, b: &Evaluation) -> f32 {
        let all = |e: &Evaluation| {
            let mut all = e.wdl.to_vec();
            all.push(e.value);
            all.extend(e.action_values.iter().chain(&e.policy));
            all
        };
        let (a, b) = (all(a), all(b));
        assert_eq!(a.len(), b.len());
        a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn both_evaluators_answer_alike_in_any_batch() {
        let network = Network::new(&NetConfig::default(), 1);
        let burn = BurnEvaluator::new(&network, Device::flex()).unwrap();
        let cpu = CpuEvaluator::new(&network, Arithmetic::Single);
        let mut positions = vec![Chess::default()];
        for i in 0..6 {
            let mut next = positions[i].clone();
            next.play_unchecked(canonical_moves(&next)[i * 3]);
            positions.push(next);
        }
        let legal: Vec<_> = positions.iter().map(canonical_moves).collect();
        let queries: Vec<Query<'_>> = positions
            .iter()
            .zip(&legal)
            .map(|(position, legal)| Query { position, legal })
            .collect();
        let together = burn.evaluate(&queries).unwrap();
        let reference = cpu.evaluate(&queries).unwrap();
        for ((query, got), want) in queries.iter().zip(&together).zip(&reference) {
            let alone = &burn.evaluate(&[*query]).unwrap()[0];
            assert!(difference(got, want) < 1e-5 && difference(got, alone) < 1e-5);
        }
        assert_eq!(burn.evaluate(&[]), Ok(Vec::new()));
        let none = Query { position: &positions[0], legal: &[] };
        assert_eq!(burn.evaluate(&[none]), Err(EvalError::NoMoves));
    }
}

//! The decoder in burn, for training, and the loss of a batch.

use super::batch::{Batch, Window};
use crate::network::StepError;
use burn::tensor::module::linear;
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData, activation};
use nn::net::params::{Linear, Norm};
use nn::writer::layout::{HEADS, NAME, POINTER, ROWS, WIDTH, WriterBlockLayout, WriterLayout};
use nn::writer::word::{BUCKETS, Kind, NAMES};
use std::ops::Range;

/// As in [`nn::kernels::ops::layer_norm`].
const EPSILON: f32 = 1e-5;

/// Parameters on a device, each a leaf of autodiff where the device has it.
pub(super) struct AutodiffDecoder {
    layout: WriterLayout,
    device: Device,
    /// In the order of the flat vector.
    leaves: Vec<Tensor<1>>,
}

/// An attention window on a device.
struct Sight {
    queries: Range<usize>,
    /// `[keys]`.
    keys: Tensor<1, Int>,
    /// `[n, 1, queries, keys]`.
    mask: Tensor<4>,
}

/// Logits of the next word, after every word of a batch.
pub(super) struct BatchLogits {
    /// `[n, l, Kind::WRITTEN]`.
    pub kinds: Tensor<3>,
    /// `[n, l, l]`, masked.
    pub sources: Tensor<3>,
    /// `[n, l, 64]`.
    pub buckets: Tensor<3>,
}

/// Sums over a batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriterSums {
    /// Cross-entropy of kinds, sources and buckets.
    pub losses: [f64; 3],
    /// Words written.
    pub written: usize,
    /// Those of them with a bucket.
    pub valued: usize,
}

impl WriterSums {
    /// Adds another batch's.
    pub fn add(&mut self, other: &WriterSums) {
        self.losses.iter_mut().zip(other.losses).for_each(|(sum, loss)| *sum += loss);
        self.written += other.written;
        self.valued += other.valued;
    }

    /// Means over the words that have each.
    #[must_use]
    pub fn means(&self) -> [f64; 3] {
        let counts = [self.written, self.written, self.valued];
        std::array::from_fn(|at| self.losses[at] / counts[at].max(1) as f64)
    }
}

impl AutodiffDecoder {
    /// # Panics
    /// Where burn does.
    pub fn new(layout: &WriterLayout, values: &[f32], device: &Device) -> AutodiffDecoder {
        let leaf = |range: &Range<usize>| {
            let data = TensorData::new(values[range.clone()].to_vec(), [range.len()]);
            Tensor::<1>::from_data(data, device).require_grad()
        };
        let leaves = layout.params.iter().map(|param| leaf(&param.range)).collect();
        AutodiffDecoder { layout: layout.clone(), device: device.clone(), leaves }
    }

    fn param<const D: usize>(&self, range: &Range<usize>, shape: [usize; D]) -> Tensor<D> {
        let at = self.layout.params.partition_point(|param| param.range.start < range.start);
        self.leaves[at].clone().reshape(shape)
    }

    fn linear(&self, map: &Linear, x: Tensor<3>) -> Tensor<3> {
        let outputs = map.bias.len();
        let weight = self.param(&map.weight, [map.weight.len() / outputs, outputs]);
        linear(x, weight, Some(self.param(&map.bias, [outputs])))
    }

    fn norm(&self, norm: &Norm, x: Tensor<3>) -> Tensor<3> {
        let centred = x.clone() - x.mean_dim(2);
        let variance = (centred.clone() * centred.clone()).mean_dim(2);
        let unit = centred / (variance + EPSILON).sqrt();
        let [gamma, beta] = [&norm.gamma, &norm.beta].map(|range| self.param(range, [1, 1, WIDTH]));
        unit * gamma + beta
    }

    fn on<const D: usize>(&self, values: &[f32], shape: [usize; D]) -> Tensor<D> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), &self.device)
    }

    pub fn forward(&self, batch: &Batch) -> BatchLogits {
        let (n, l, places) = (batch.n, batch.l, &self.layout);
        let facts = self.param(&places.facts, [places.facts.len() / WIDTH, WIDTH]);
        let moves = self.param(&places.moves, [places.moves.len() / WIDTH, WIDTH]);
        let pruned = self.param(&places.pruned, [1, WIDTH]);
        let table: Tensor<2> = Tensor::cat(vec![facts, moves, pruned], 0);
        let names: Tensor<2> = self.param(&places.names, [NAMES, NAME]);
        let named = |map: &Range<usize>, who: &[f32]| {
            let rows = names.clone().matmul(self.param(map, [NAME, WIDTH]));
            linear(self.on(who, [n, l, NAMES]), rows, None)
        };
        let mask = self.on(&batch.mask, [n, l, l]);
        let x = linear(self.on(&batch.rows, [n, l, ROWS]), table, None)
            + named(&places.own, &batch.own)
            + named(&places.parent, &batch.parent);
        let sight: Vec<Sight> = batch.windows.iter().map(|window| self.sight(window, n)).collect();
        let x = places.blocks.iter().fold(x, |x, block| self.block(block, x, &sight));
        let x = self.norm(&places.norm, x);
        let query = self.linear(&places.query, x.clone());
        let key = self.linear(&places.key, x.clone());
        let gain = self.linear(&places.gain, x.clone());
        // Scaled dot product; pointer rows are shorter than the width.
        let query = query * (POINTER as f32).sqrt().recip();
        let numbers = self.on(&batch.numbers, [n, 1, l]);
        BatchLogits {
            kinds: self.linear(&places.kind, x.clone()),
            sources: query.matmul(key.swap_dims(1, 2)) + gain * numbers + mask,
            buckets: self.linear(&places.bucket, x),
        }
    }

    fn sight(&self, window: &Window, n: usize) -> Sight {
        let (queries, seen) = (window.queries.clone(), window.keys.len());
        let keys: Vec<i64> = window.keys.iter().map(|key| *key as i64).collect();
        Sight {
            keys: Tensor::from_data(TensorData::new(keys, [seen]), &self.device),
            mask: self.on(&window.mask, [n, 1, queries.len(), seen]),
            queries,
        }
    }

    fn block(&self, block: &WriterBlockLayout, x: Tensor<3>, sight: &[Sight]) -> Tensor<3> {
        let [n, l, _] = x.dims();
        let dim = WIDTH / HEADS;
        let qkv = self.linear(&block.qkv, self.norm(&block.norm1, x.clone()));
        let qkv = qkv.reshape([n, l, 3 * HEADS, dim]).swap_dims(1, 2);
        let part = |i| qkv.clone().narrow(1, i * HEADS, HEADS);
        let query = part(0) * (dim as f32).sqrt().recip();
        let (key, value) = (part(1), part(2));
        let attend = |sight: &Sight| {
            let query = query.clone().narrow(2, sight.queries.start, sight.queries.len());
            let [key, value] = [&key, &value].map(|all| all.clone().select(2, sight.keys.clone()));
            let scores = query.matmul(key.swap_dims(2, 3)) + sight.mask.clone();
            activation::softmax(scores, 3).matmul(value)
        };
        let attended: Tensor<4> = Tensor::cat(sight.iter().map(attend).collect(), 2);
        let attended = attended.swap_dims(1, 2).reshape([n, l, WIDTH]);
        let x = x + self.linear(&block.out, attended);
        let up = activation::relu(self.linear(&block.up, self.norm(&block.norm2, x.clone())));
        x + self.linear(&block.down, up.clone() * up)
    }

    /// Sums of the three cross-entropies, `[3]`.
    pub fn losses(&self, batch: &Batch) -> Tensor<1> {
        let (n, l) = (batch.n, batch.l);
        let logits = self.forward(batch);
        let of = |logits: Tensor<3>, target: &[f32], classes| {
            -(activation::log_softmax(logits, 2) * self.on(target, [n, l, classes])).sum()
        };
        let sums = vec![
            of(logits.kinds, &batch.kinds, Kind::WRITTEN),
            of(logits.sources, &batch.sources, l),
            of(logits.buckets, &batch.buckets, usize::from(BUCKETS)),
        ];
        Tensor::cat(sums, 0)
    }

    /// The loss of `batch`, its gradient added to `grads`: the three means have weight 1, over the words of the
    /// whole `step`, whose losses are not read.
    ///
    /// # Errors
    /// The device's result cannot be read.
    pub fn gradient(
        &self,
        batch: &Batch,
        step: &WriterSums,
        grads: &mut [f32],
    ) -> Result<WriterSums, StepError> {
        let share = |count: usize| 1.0 / count.max(1) as f32;
        let weights = [step.written, step.written, step.valued].map(share);
        let losses = self.losses(batch);
        let mut gradients: Gradients = (losses.clone() * self.on(&weights, [3])).sum().backward();
        let read = |tensor: Tensor<1>| {
            tensor.try_into_vec_as::<f32>().map_err(|error| StepError(error.to_string()))
        };
        for (leaf, param) in self.leaves.iter().zip(&self.layout.params) {
            let Some(gradient) = leaf.grad_remove(&mut gradients) else { continue };
            nn::kernels::ops::add_scaled(
                nn::kernels::Isa::found(),
                &mut grads[param.range.clone()],
                1.0,
                &read(gradient)?,
            );
        }
        let mut sums =
            WriterSums { written: batch.written, valued: batch.valued, ..WriterSums::default() };
        for (sum, loss) in sums.losses.iter_mut().zip(read(losses.inner())?) {
            *sum = f64::from(loss);
        }
        Ok(sums)
    }
}

//! One batch's gradient on the CPU: each thread takes its share of the examples, a few at a time.

use super::loss::{Buckets, LossConfig, LossSums, Losses};
use super::step::{Step, StepError};
use crate::cpu::{Activations, HeadGradients, Heads, Scratch, Weights, backward, forward, ops};
use crate::data::Example;
use crate::device::guarded;
use crate::encode::Item;
use crate::net::Layout;
use crate::precision::Arithmetic;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Positions a thread takes at a time: few enough for their activations to stay near the core.
const GROUP: usize = 4;

/// Floats of the gradient that a thread adds up at a time.
const CHUNK: usize = 1 << 15;

#[derive(Default)]
struct Worker {
    activations: Activations,
    heads: HeadGradients,
    scratch: Scratch,
    /// Of this batch, if `took`.
    grads: Vec<f32>,
    /// Whether there was something to take of this batch.
    took: bool,
}

/// Gradients by hand-written kernels.
pub struct CpuStep {
    layout: Layout,
    loss: LossConfig,
    buckets: Buckets,
    /// Packed for the forward pass and for the gradient.
    weights: [Weights; 2],
    workers: Vec<Worker>,
}

impl CpuStep {
    /// Computes on `threads` threads of the rayon pool, in `arithmetic`.
    #[must_use]
    pub fn new(
        layout: Layout,
        loss: LossConfig,
        arithmetic: Arithmetic,
        threads: usize,
    ) -> CpuStep {
        let buckets = Buckets::new(loss.bucket_deviation);
        let workers = (0..threads.max(1)).map(|_| Worker::default()).collect();
        let weights = Weights::both(&layout, &vec![0.0; layout.len], arithmetic);
        CpuStep { layout, loss, buckets, weights, workers }
    }
}

impl Step for CpuStep {
    /// Threads take groups as they come, so one that shares its core with a stranger does not hold up
    /// the rest; hence results repeat exactly with one thread, to rounding with more.
    fn gradient(
        &mut self,
        params: &[f32],
        batch: &[Example],
        grads: &mut [f32],
    ) -> Result<LossSums, StepError> {
        if params.len() != self.layout.len || grads.len() != self.layout.len {
            let expected = self.layout.len;
            return Err(StepError(format!("{} parameters, expected {expected}", params.len())));
        }
        let CpuStep { layout, loss, buckets, weights, workers } = self;
        let work = || {
            let [forward, turned] = weights;
            rayon::join(|| forward.refresh(params), || turned.refresh(params));
            let task = &Task {
                layout,
                loss,
                buckets,
                weights: forward,
                turned,
                batch,
                threads: workers.len(),
                next: &AtomicUsize::new(0),
            };
            let parts: Vec<LossSums> =
                workers.par_iter_mut().with_max_len(1).map(|worker| worker.run(task)).collect();
            let places = grads.par_chunks_mut(CHUNK).enumerate();
            places.for_each(|(i, grads)| {
                grads.fill(0.0);
                for worker in workers.iter().filter(|worker| worker.took) {
                    ops::add_scaled(grads, 1.0, &worker.grads[i * CHUNK..][..grads.len()]);
                }
            });
            let mut total = LossSums::default();
            parts.iter().for_each(|part| total.add(part));
            total
        };
        guarded(work).map_err(|error| StepError(format!("a thread broke down: {error}")))
    }
}

/// One batch, shared by the workers.
struct Task<'a> {
    layout: &'a Layout,
    loss: &'a LossConfig,
    buckets: &'a Buckets,
    weights: &'a Weights,
    turned: &'a Weights,
    batch: &'a [Example],
    threads: usize,
    /// The first example nobody has taken.
    next: &'a AtomicUsize,
}

impl<'a> Task<'a> {
    /// The next examples, for one thread alone: fewer towards the end, so that all threads end together.
    fn take(&self) -> Option<&'a [Example]> {
        let share = |first: usize| {
            let rest = self.batch.len().saturating_sub(first);
            first + (rest / (2 * self.threads)).clamp(1, GROUP).min(rest)
        };
        // Relaxed: the number alone is shared; the examples are read-only.
        let order = Ordering::Relaxed;
        let first = self.next.fetch_update(order, order, |first| Some(share(first))).ok()?;
        self.batch.get(first..share(first)).filter(|group| !group.is_empty())
    }
}

impl Worker {
    fn run(&mut self, task: &Task<'_>) -> LossSums {
        let (layout, batch) = (task.layout, task.batch);
        let mut sums = LossSums::default();
        self.took = false;
        while let Some(group) = task.take() {
            if !self.took {
                self.took = true;
                self.grads.clear();
                self.grads.resize(layout.len, 0.0);
            }
            let items: Vec<Item<'_>> =
                group.iter().map(|e| Item { features: &e.features, moves: &e.moves }).collect();
            forward(layout, task.weights, &items, Heads::All, true, &mut self.activations);
            let (activations, heads) = (&self.activations, &mut self.heads);
            let losses =
                Losses { layout, config: task.loss, buckets: task.buckets, batch: batch.len() };
            sums.add(&losses.of(group, activations, heads));
            let scratch = &mut self.scratch;
            backward(layout, task.turned, &items, activations, heads, scratch, &mut self.grads);
        }
        sums
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::{Outcome, Source, Terminal};
    use crate::encode::{Features, MoveCode, NextBoard, canonical_moves};
    use crate::net::{DynamicBiasConfig, NetConfig};
    use shakmaty::{CastlingMode, Chess, Position, fen::Fen};

    /// A handful of examples with every kind of label.
    pub(in crate::train) fn examples() -> Vec<Example> {
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
                action_values: values,
                value: 0.7,
                result: Some(Outcome::Won),
                terminal: Terminal::Ongoing,
                next: None,
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
                action_values: values,
                value: f32::NAN,
                result: None,
                terminal: Terminal::Ongoing,
                next: Some(Box::new(NextBoard::of(&after))),
            });
        }
        all
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
            relations: true,
            policy_in_actions: true,
        };
        let layout = Layout::new(&config);
        let loss = LossConfig { regret: 5.0, best_action_alone: 0.3, ..LossConfig::default() };
        let mut params = layout.init(3);
        // Open the closed branches, or most gradients would be zero.
        for (i, p) in params.iter_mut().enumerate() {
            *p += 0.1 * ((i * 7919 % 1013) as f32 / 506.5 - 1.0);
        }
        // Or the slopes behind it drown in the kinks of the ReLU.
        params[layout.bias_basis.clone()].iter_mut().for_each(|p| *p *= 10.0);
        let mut step = CpuStep::new(layout.clone(), loss.clone(), Arithmetic::Single, 2);
        let batch = examples();
        let mut grads = vec![0.0; layout.len];
        step.gradient(&params, &batch, &mut grads).unwrap();
        let mut unused = vec![0.0; layout.len];
        for param in &layout.params {
            // Along the gradient itself the slope is its length: no entry can hide.
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

    /// Where the CPU has no bf16, both are the same gradient.
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
}

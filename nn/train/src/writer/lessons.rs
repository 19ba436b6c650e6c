//! Trains a decoder: batches of traces, one optimiser step each, on the burn twin.

use super::batch::Batch;
use super::twin::{AutodiffDecoder, WriterSums};
use crate::network::{Optimizer, OptimizerConfig, Schedule, StepError};
use burn::tensor::Device;
use nn::device::guarded;
use nn::kernels::Isa;
use nn::kernels::ops::add_scaled;
use nn::rng::Rng;
use nn::writer::{DecoderWeights, Trace};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

/// Training state of a decoder.
pub struct Lessons {
    /// Current weights.
    weights: DecoderWeights,
    optimizer: Optimizer,
    schedule: Schedule,
    device: Device,
    rng: Rng,
    /// Traces seen.
    seen: u64,
    steps: u64,
}

impl Lessons {
    /// Continues from `weights`, by `schedule`, which counts traces.
    #[must_use]
    pub fn new(weights: DecoderWeights, schedule: Schedule, seed: u64) -> Lessons {
        let optimizer = Optimizer::of(
            &weights.layout().params,
            OptimizerConfig { weight_decay: 0.01, ..OptimizerConfig::default() },
        );
        let device = Device::flex().autodiff();
        Lessons { weights, optimizer, schedule, device, rng: Rng::new(seed), seen: 0, steps: 0 }
    }

    /// Current weights.
    #[must_use]
    pub fn weights(&self) -> &DecoderWeights {
        &self.weights
    }

    /// Traces seen.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Share of the schedule done.
    #[must_use]
    pub fn progress(&self) -> f64 {
        self.seen as f64 / self.schedule.examples.max(1) as f64
    }

    /// One optimiser step over groups of examples; a group is padded to one length.
    ///
    /// # Errors
    /// The device failed, or the loss is NaN; the weights are unchanged.
    pub fn step(&mut self, groups: &[Vec<Trace>]) -> Result<WriterSums, StepError> {
        let batches: Vec<Batch> =
            groups.iter().map(|group| Batch::new(group, &mut self.rng)).collect();
        let counts = WriterSums {
            written: batches.iter().map(|batch| batch.written).sum(),
            valued: batches.iter().map(|batch| batch.valued).sum(),
            ..WriterSums::default()
        };
        let (weights, device) = (&self.weights, &self.device);
        // One batch per thread: burn's products of so few rows leave threads idle.
        let work = |batch: &Batch| {
            guarded(|| {
                let mut grads = vec![0.0; weights.layout().len];
                let twin = AutodiffDecoder::new(weights.layout(), weights.values(), device);
                let sums = twin.gradient(batch, &counts, &mut grads)?;
                Ok::<_, StepError>((sums, grads))
            })
        };
        let done: Vec<_> = batches.par_iter().map(work).collect();
        let mut grads = vec![0.0; weights.layout().len];
        let mut sums = WriterSums::default();
        for one in done {
            let (part, gradient) = one.map_err(|error| StepError(error.0))??;
            sums.add(&part);
            add_scaled(Isa::found(), &mut grads, 1.0, &gradient);
        }
        if !sums.losses.iter().all(|loss| loss.is_finite()) {
            return Err(StepError("the loss is NaN".to_owned()));
        }
        let traces: usize = groups.iter().map(Vec::len).sum();
        self.seen += traces as u64;
        self.steps += 1;
        let mut values = self.weights.values().to_vec();
        let rate = self.schedule.rate(self.seen);
        self.optimizer.step(&mut values, &grads, rate, self.steps);
        if let Some(weights) = DecoderWeights::new(values) {
            self.weights = weights;
        }
        Ok(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nn::testing::trace;

    #[test]
    fn the_loss_falls_on_one_trace() {
        let schedule = Schedule { rate: 2e-3, warmup: 0, examples: 1_000, ..Schedule::default() };
        let mut lessons = Lessons::new(DecoderWeights::untrained(1), schedule, 1);
        let group = vec![vec![trace(1, |_| ()), trace(2, |_| ())]];
        let mean = |sums: WriterSums| sums.means().iter().sum::<f64>();
        let first = mean(lessons.step(&group).unwrap());
        for _ in 0..25 {
            lessons.step(&group).unwrap();
        }
        let last = mean(lessons.step(&group).unwrap());
        assert!(last < 0.5 * first, "{first} {last}");
    }
}

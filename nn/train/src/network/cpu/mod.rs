//! One batch's gradient on the CPU: each thread takes its share of the examples, a few at a time.

use crate::data::Example;
use crate::network::loss::{Buckets, LossConfig, LossSums, Losses};
use crate::network::step::{Step, StepError};
use nn::cpu::profile::Stages;
use nn::cpu::{Activations, HeadGradients, Heads, Scratch, Weights, backward, forward};
use nn::device::guarded;
use nn::encode::Item;
use nn::kernels::gemm::Method;
use nn::kernels::{Isa, ops};
use nn::net::Layout;
use nn::precision::Arithmetic;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Positions per pass of a thread: their activations stay in L2. AMX is L2-bound; smaller groups cut traffic.
pub(super) fn group() -> usize {
    if Isa::found() == Isa::Amx { 4 } else { 8 }
}

/// Floats per task when the threads' gradients are added.
const CHUNK: usize = 1 << 15;

/// Profile of steps.
#[derive(Clone, Debug, Default)]
pub struct StepTimes {
    /// Forward passes, summed over threads.
    pub forward: Stages,
    /// Backward passes, summed over threads.
    pub backward: Stages,
    /// Losses and their gradients by the logits, summed over threads.
    pub losses: Duration,
    /// Wall-clock time of packing the weights.
    pub packing: Duration,
    /// Wall-clock time of adding the threads' gradients.
    pub sums: Duration,
}

#[derive(Default)]
struct Worker {
    activations: Activations,
    heads: HeadGradients,
    scratch: Scratch,
    /// The gradient of this batch, if `took`.
    grads: Vec<f32>,
    /// Whether this worker took any examples of this batch.
    took: bool,
    losses: Duration,
}

/// Gradients by hand-written kernels.
pub struct CpuStep {
    layout: Layout,
    loss: LossConfig,
    buckets: Buckets,
    /// Packed for the forward and the backward pass.
    weights: [Weights; 2],
    workers: Vec<Worker>,
    packing: Duration,
    sums: Duration,
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
        let weights = Weights::both(Method::widest(arithmetic), &layout, &vec![0.0; layout.len]);
        let (packing, sums) = (Duration::ZERO, Duration::ZERO);
        CpuStep { layout, loss, buckets, weights, workers, packing, sums }
    }

    /// Starts profiling.
    pub fn measure(&mut self) {
        (self.packing, self.sums) = (Duration::ZERO, Duration::ZERO);
        for worker in &mut self.workers {
            worker.activations.stages = Stages::started();
            worker.scratch.stages = Stages::started();
            worker.losses = Duration::ZERO;
        }
    }

    /// The profile since [`CpuStep::measure`]. Time between stages counts as [`Stage::Outside`] in both
    /// directions.
    ///
    /// [`Stage::Outside`]: nn::cpu::profile::Stage::Outside
    #[must_use]
    pub fn times(&self) -> StepTimes {
        let (packing, sums) = (self.packing, self.sums);
        let mut times = StepTimes { packing, sums, ..StepTimes::default() };
        for worker in &self.workers {
            times.forward.add(&worker.activations.stages);
            times.backward.add(&worker.scratch.stages);
            times.losses += worker.losses;
        }
        times
    }
}

impl Step for CpuStep {
    /// Threads take groups dynamically, so one on a shared core does not delay the rest; results are exactly
    /// repeatable with one thread, up to rounding with more.
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
        let CpuStep { layout, loss, buckets, weights, workers, packing, sums } = self;
        let work = || {
            let started = Instant::now();
            let [forward, transposed] = weights;
            rayon::join(|| forward.refresh(layout, params), || transposed.refresh(layout, params));
            *packing += started.elapsed();
            let task = &Task {
                layout,
                loss,
                buckets,
                weights: forward,
                transposed,
                batch,
                threads: workers.len(),
                next: &AtomicUsize::new(0),
            };
            let parts: Vec<LossSums> =
                workers.par_iter_mut().with_max_len(1).map(|worker| worker.run(task)).collect();
            let started = Instant::now();
            let places = grads.par_chunks_mut(CHUNK).enumerate();
            places.for_each(|(i, grads)| {
                grads.fill(0.0);
                for worker in workers.iter().filter(|worker| worker.took) {
                    ops::add_scaled(
                        Isa::found(),
                        grads,
                        1.0,
                        &worker.grads[i * CHUNK..][..grads.len()],
                    );
                }
            });
            *sums += started.elapsed();
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
    transposed: &'a Weights,
    batch: &'a [Example],
    threads: usize,
    /// The first example not yet taken.
    next: &'a AtomicUsize,
}

impl<'a> Task<'a> {
    /// The next examples for one thread: fewer towards the end, so that all threads finish at the same time.
    fn take(&self) -> Option<&'a [Example]> {
        let share = |first: usize| {
            let rest = self.batch.len().saturating_sub(first);
            first + (rest / (2 * self.threads)).clamp(1, group()).min(rest)
        };
        // Relaxed: only the counter is shared; the examples are read-only.
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
            let items: Vec<Item<'_>> = group.iter().map(Example::item).collect();
            forward(layout, task.weights, &items, Heads::All, true, &mut self.activations);
            let (activations, heads) = (&self.activations, &mut self.heads);
            let losses =
                Losses { layout, config: task.loss, buckets: task.buckets, batch: batch.len() };
            let started = Instant::now();
            sums.add(&losses.of(group, activations, heads));
            self.losses += started.elapsed();
            let scratch = &mut self.scratch;
            backward(layout, task.transposed, &items, activations, heads, scratch, &mut self.grads);
        }
        sums
    }
}

#[cfg(test)]
pub(super) mod tests;

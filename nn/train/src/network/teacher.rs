//! Knowledge distillation (Hinton et al. 2015, "Distilling the Knowledge in a Neural Network"): another
//! network's answers become targets beside the labels; [`crate::network::loss`] defines their share.

use super::cpu::group;
use super::error::TrainError;
use crate::data::{Example, TeacherTargets};
use nn::checkpoint::Network;
use nn::cpu::{Activations, Heads, Weights, forward};
use nn::encode::Item;
use nn::evaluator::cpu::CpuEvaluator;
use nn::kernels::{Isa, ops};
use nn::net::{BUCKETS, Layout};
use nn::numeric::softmax;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use std::path::Path;

/// Answers on all threads of the rayon pool.
pub(super) struct Teacher {
    layout: Layout,
    weights: Weights,
    /// One per thread.
    activations: Vec<Activations>,
}

impl Teacher {
    pub fn new(CpuEvaluator { layout, weights }: CpuEvaluator, threads: usize) -> Teacher {
        let activations = (0..threads.max(1)).map(|_| Activations::default()).collect();
        Teacher { layout, weights, activations }
    }

    /// Loads in play's arithmetic, which is less precise than a gradient needs.
    ///
    /// # Errors
    /// The file is no network.
    pub fn load(path: &Path) -> Result<Teacher, TrainError> {
        let fault = |error| TrainError::Checkpoint(path.to_owned(), error);
        let network = Network::load(path).map_err(fault)?;
        Ok(Teacher::new(CpuEvaluator::fastest(&network), rayon::current_num_threads()))
    }

    /// Stores the teacher's targets in each example that has moves.
    pub fn label(&mut self, batch: &mut [Example]) {
        let share = batch.len().div_ceil(self.activations.len()).max(1);
        let (layout, weights) = (&self.layout, &self.weights);
        let shares = self.activations.par_iter_mut().zip(batch.par_chunks_mut(share));
        shares.with_max_len(1).for_each(|(activations, examples)| {
            for examples in examples.chunks_mut(group()) {
                label(layout, weights, activations, examples);
            }
        });
    }
}

fn label(layout: &Layout, weights: &Weights, a: &mut Activations, examples: &mut [Example]) {
    let items: Vec<Item<'_>> = examples.iter().map(Example::item).collect();
    forward(layout, weights, &items, Heads::Play, false, a);
    let mut rest =
        (a.logits.policy.as_slice(), a.logits.actions.as_chunks().0, a.logits.value.as_chunks().0);
    for example in examples {
        let (policy, policies) = rest.0.split_at(example.moves.len());
        let (actions, others) = rest.1.split_at(example.moves.len());
        let Some((value, values)) = rest.2.split_first() else { return };
        rest = (policies, others, values);
        // The rules decide a game that has ended.
        example.teacher = (!policy.is_empty()).then(|| {
            Box::new(TeacherTargets {
                policy: softmax(policy),
                actions: actions.iter().map(distribution).collect(),
                value: distribution(value),
            })
        });
    }
}

fn distribution(logits: &[f32; BUCKETS]) -> [f32; BUCKETS] {
    let mut shares = *logits;
    ops::softmax64(Isa::found(), &mut shares);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Terminal;
    use crate::network::cpu::tests::examples;
    use nn::net::NetConfig;
    use nn::precision::Arithmetic;

    /// Threads and groups change nothing, every distribution sums to 1, and an ended game is skipped.
    #[test]
    fn each_example_gets_the_teachers_outputs() {
        let network = Network::new(&NetConfig::default(), 3);
        let teacher = |threads: usize, mut batch: Vec<Example>| {
            let evaluator = CpuEvaluator::new(&network, Arithmetic::Single);
            Teacher::new(evaluator, threads).label(&mut batch);
            batch
        };
        let mut batch = examples();
        batch.truncate(5);
        (batch[2].moves, batch[2].terminal) = (Vec::new(), Terminal::Drawn);
        let batched = teacher(2, batch.clone());
        for (example, alone) in batched.iter().zip(batch) {
            let alone = teacher(1, vec![alone]).remove(0).teacher;
            assert_eq!(example.teacher.is_some(), !example.moves.is_empty());
            let (Some(teacher), Some(alone)) = (&example.teacher, &alone) else { continue };
            assert_eq!(
                (teacher.policy.len(), teacher.actions.len()),
                (example.moves.len(), example.moves.len())
            );
            let shares = teacher.actions.iter().chain([&teacher.value]).map(|row| row.as_slice());
            for row in shares.chain([teacher.policy.as_slice()]) {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-3, "{row:?}");
            }
            let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(near(&teacher.policy, &alone.policy) && near(&teacher.value, &alone.value));
        }
    }
}

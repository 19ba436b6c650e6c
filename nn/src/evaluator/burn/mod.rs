//! The evaluator on a burn device: for GPUs, and on the CPU as the reference for the hand-written evaluator in
//! tests.
//!
//! On a GPU batches are padded to a few sizes (`pass`) and queued to two threads (`lanes`), so that one batch
//! is computed while the next is prepared; the trunk runs in bf16 where the device has it and the outputs stay
//! close to single precision.

mod lanes;
mod pass;
mod world;

use super::Evaluator;
use super::difference::{CLOSE, difference};
use super::error::EvalError;
use super::outputs;
use super::query::{Evaluation, Query};
use super::transition::Transition;
use crate::checkpoint::Network;
use crate::cpu::Heads;
use crate::device::{has_bf16, is_cpu};
use crate::encode::Encoded;
use crate::precision::Arithmetic;
use burn::tensor::Device;
use lanes::{Lanes, wait};
use pass::{Pass, RowLogits, Shapes};

/// Batches in flight on a GPU: one running, one prepared.
const IN_FLIGHT: usize = 2;

/// Evaluates on one device; shared by threads.
pub struct BurnEvaluator {
    way: Placement,
    shapes: Shapes,
    arithmetic: Arithmetic,
}

enum Placement {
    /// On the calling thread.
    Inline(Box<Pass>),
    /// On worker threads.
    Lanes(Lanes<PassRequest, Result<Vec<RowLogits>, EvalError>>),
}

/// Rows, the padded size, and the heads to compute.
type PassRequest = (Vec<Encoded>, usize, Heads);

impl BurnEvaluator {
    /// Puts the network on `device`: on a GPU in bf16 where it has that and the outputs differ only by
    /// rounding, else in single precision.
    ///
    /// # Errors
    /// The device failed, or the network's values do not fit its layout.
    pub fn new(network: &Network, device: Device) -> Result<BurnEvaluator, EvalError> {
        let single = BurnEvaluator::with(network, &device, Arithmetic::Single)?;
        if is_cpu(&device) || !has_bf16(&device) {
            return Ok(single);
        }
        Ok(BurnEvaluator::half_if_close(network, &device, single))
    }

    /// Puts the network on `device`, with the trunk in `arithmetic`.
    ///
    /// # Errors
    /// The device failed, or the network's values do not fit its layout.
    pub fn with(
        network: &Network,
        device: &Device,
        arithmetic: Arithmetic,
    ) -> Result<BurnEvaluator, EvalError> {
        if is_cpu(device) {
            let shapes = Shapes::ANY;
            let pass = Pass::new(network, device, arithmetic, shapes)?;
            return Ok(BurnEvaluator {
                way: Placement::Inline(Box::new(pass)),
                shapes,
                arithmetic,
            });
        }
        BurnEvaluator::in_lanes(network, device, arithmetic)
    }

    fn in_lanes(
        network: &Network,
        device: &Device,
        arithmetic: Arithmetic,
    ) -> Result<BurnEvaluator, EvalError> {
        let (network, device, shapes) = (network.clone(), device.clone(), Shapes::PADDED);
        let lanes = Lanes::new(IN_FLIGHT, move || {
            let pass = Pass::new(&network, &device, arithmetic, shapes)?;
            Ok(move |(rows, size, heads): PassRequest| pass.logits(&rows, size, heads))
        })?;
        Ok(BurnEvaluator { way: Placement::Lanes(lanes), shapes, arithmetic })
    }

    /// The network in bf16 if its outputs are close to `single`'s, else `single`.
    fn half_if_close(network: &Network, device: &Device, single: BurnEvaluator) -> BurnEvaluator {
        let compared = BurnEvaluator::with(network, device, Arithmetic::Bf16)
            .and_then(|half| Ok((difference(&single, &half)?.most, half)));
        match compared {
            Ok((far, half)) if far <= CLOSE => {
                log::debug!("bf16 changes answers by {far:.4} at most");
                half
            }
            Ok((far, _)) => {
                log::warn!("bf16 changes answers by {far:.4}; computing in single precision");
                single
            }
            Err(why) => {
                log::warn!("bf16 does not compute ({why}); computing in single precision");
                single
            }
        }
    }

    /// Arithmetic of the trunk's products.
    #[must_use]
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// The logits of all rows, in order. All passes are queued before the first is awaited.
    fn logits(&self, mut rows: Vec<Encoded>, heads: Heads) -> Result<Vec<RowLogits>, EvalError> {
        let mut logits = Vec::with_capacity(rows.len());
        let mut asked = Vec::new();
        while !rows.is_empty() {
            let (taken, size) = self.shapes.next(rows.len());
            let rest = rows.split_off(taken);
            match &self.way {
                Placement::Inline(pass) => logits.extend(pass.logits(&rows, size, heads)?),
                Placement::Lanes(lanes) => asked.push(lanes.ask((rows, size, heads))),
            }
            rows = rest;
        }
        for answer in &asked {
            logits.extend(wait(answer)??);
        }
        Ok(logits)
    }

    /// The evaluation of each board and its moves, in order. An inner error concerns only that board.
    ///
    /// # Errors
    /// The device failed.
    fn evaluations(
        &self,
        asked: impl Iterator<Item = Encoded>,
    ) -> Result<Vec<Result<Evaluation, EvalError>>, EvalError> {
        let rows: Vec<Vec<Encoded>> = asked.map(|asked| self.shapes.rows(asked)).collect();
        let counts: Vec<usize> = rows.iter().map(Vec::len).collect();
        let rows = rows.into_iter().flatten().collect();
        let mut logits = self.logits(rows, Heads::Play)?.into_iter();
        let answers = counts.into_iter().map(|count| {
            let mut all = logits.next().unwrap_or_default();
            for more in logits.by_ref().take(count - 1) {
                all.policy.extend(more.policy);
                all.actions.extend(more.actions);
            }
            outputs::evaluation(&all.policy, &all.actions, &all.value, &all.result)
        });
        Ok(answers.collect())
    }
}

impl Evaluator for BurnEvaluator {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.evaluations(batch.iter().map(Query::encode))?.into_iter().collect()
    }

    fn evaluate_encoded(
        &self,
        _batch: &[Query<'_>],
        inputs: Vec<Encoded>,
    ) -> Result<Vec<Evaluation>, EvalError> {
        self.evaluations(inputs.into_iter())?.into_iter().collect()
    }

    fn preferred_batch(&self) -> usize {
        if self.shapes.sizes.is_empty() { 16 } else { 256 }
    }

    /// On a GPU measuring is warming up as well: these are all the sizes in use.
    fn batches(&self) -> &[usize] {
        if self.shapes.sizes.is_empty() { &[1, 2, 4, 8, 16] } else { self.shapes.sizes }
    }

    fn in_flight(&self) -> usize {
        match self.way {
            Placement::Inline(_) => 1,
            Placement::Lanes(_) => IN_FLIGHT,
        }
    }

    fn transition(&self) -> Option<&dyn Transition> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;

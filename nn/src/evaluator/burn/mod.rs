//! The evaluator on a burn device: for GPUs, and on the CPU the reference that tests hold the
//! hand-written evaluator to.
//!
//! On a GPU batches are padded to a few sizes (`pass`) and handed to two threads (`lanes`), so that
//! while one batch is computed the next is made ready; the trunk multiplies in bf16 where the device has it
//! and the network answers nearly as in single precision.

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

/// Batches that a GPU has at once: one under way, one made ready.
const IN_FLIGHT: usize = 2;

/// Evaluates on one device. Any number of threads may ask at once.
pub struct BurnEvaluator {
    way: Way,
    shapes: Shapes,
    arithmetic: Arithmetic,
}

enum Way {
    /// In the thread that asks.
    Here(Box<Pass>),
    /// In threads of its own.
    Lanes(Lanes<Ask, Result<Vec<RowLogits>, EvalError>>),
}

/// Rows, the size to pad them to, and the heads to ask.
type Ask = (Vec<Encoded>, usize, Heads);

impl BurnEvaluator {
    /// Puts the network on `device`: on a GPU in bf16 where it has that and the answers stay the same but for
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

    /// Puts the network on `device`, its trunk multiplying in `arithmetic`.
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
            return Ok(BurnEvaluator { way: Way::Here(Box::new(pass)), shapes, arithmetic });
        }
        BurnEvaluator::in_lanes(network, device, arithmetic)
    }

    fn in_lanes(
        network: &Network,
        device: &Device,
        arithmetic: Arithmetic,
    ) -> Result<BurnEvaluator, EvalError> {
        let (network, device, shapes) = (network.clone(), device.clone(), Shapes::FEW);
        let lanes = Lanes::new(IN_FLIGHT, move || {
            let pass = Pass::new(&network, &device, arithmetic, shapes)?;
            Ok(move |(rows, size, heads): Ask| pass.logits(&rows, size, heads))
        })?;
        Ok(BurnEvaluator { way: Way::Lanes(lanes), shapes, arithmetic })
    }

    /// The network in bf16 if it answers as `single` does, else `single`.
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

    /// What the trunk's products are computed in.
    #[must_use]
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// The logits of all rows, in order. All passes are under way before the first is waited for.
    fn logits(&self, mut rows: Vec<Encoded>, heads: Heads) -> Result<Vec<RowLogits>, EvalError> {
        let mut logits = Vec::with_capacity(rows.len());
        let mut asked = Vec::new();
        while !rows.is_empty() {
            let (taken, size) = self.shapes.next(rows.len());
            let rest = rows.split_off(taken);
            match &self.way {
                Way::Here(pass) => logits.extend(pass.logits(&rows, size, heads)?),
                Way::Lanes(lanes) => asked.push(lanes.ask((rows, size, heads))),
            }
            rows = rest;
        }
        for answer in &asked {
            logits.extend(wait(answer)??);
        }
        Ok(logits)
    }

    /// The evaluation of each board and its moves, in order. An inner error concerns that board alone.
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

    /// On a GPU measuring is warming up as well: these are all the sizes it will meet.
    fn batches(&self) -> &[usize] {
        if self.shapes.sizes.is_empty() { &[1, 2, 4, 8, 16] } else { self.shapes.sizes }
    }

    fn in_flight(&self) -> usize {
        match self.way {
            Way::Here(_) => 1,
            Way::Lanes(_) => IN_FLIGHT,
        }
    }

    fn transition(&self) -> Option<&dyn Transition> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;

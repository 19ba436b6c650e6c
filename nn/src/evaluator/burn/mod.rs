//! The evaluator on a burn device: for GPUs, and on the CPU as the reference for the hand-written evaluator in
//! tests.
//!
//! On a GPU batches are padded to a few sizes (`pass`) and queued to two threads (`lanes`), so that one batch
//! is computed while the next is prepared. A device whose answers are not close to the CPU's is not used.

mod lanes;
mod pass;
mod world;

use super::Evaluator;
use super::cpu::CpuEvaluator;
use super::difference::{CLOSE, difference};
use super::error::EvalError;
use super::outputs;
use super::query::{Evaluation, Query};
use super::transition::Transition;
use crate::checkpoint::Network;
use crate::cpu::Heads;
use crate::device::{card, is_cpu};
use crate::encode::Encoded;
use crate::kernels::Isa;
use crate::precision::Arithmetic;
use burn::tensor::Device;
pub use lanes::{Lanes, PATIENCE};
use pass::{Pass, RowLogits, Shapes};

/// Batches in flight on a GPU: one running, one prepared.
const IN_FLIGHT: usize = 2;

/// Evaluates on one device; shared by threads.
pub struct BurnEvaluator {
    way: Placement,
    shapes: Shapes,
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
    /// Puts the network on `device`, in single precision, which a GPU multiplies in tf32.
    ///
    /// # Errors
    /// The device failed, its answers are not those of the CPU, or the network's values do not fit its layout.
    pub fn new(network: &Network, device: &Device) -> Result<BurnEvaluator, EvalError> {
        if is_cpu(device) {
            let shapes = Shapes::ANY;
            let way = Placement::Inline(Box::new(Pass::new(network, device, shapes)?));
            return Ok(BurnEvaluator { way, shapes });
        }
        BurnEvaluator::in_lanes(network, device)?.checked(network)
    }

    fn in_lanes(network: &Network, device: &Device) -> Result<BurnEvaluator, EvalError> {
        let is_software = card(device).is_some_and(|card| card.is_software);
        let shapes = if is_software { Shapes::SOFTWARE } else { Shapes::PADDED };
        let (network, device) = (network.clone(), device.clone());
        let lanes = Lanes::new(IN_FLIGHT, move || {
            let pass = Pass::new(&network, &device, shapes)?;
            Ok(move |(rows, size, heads): PassRequest| pass.logits(&rows, size, heads))
        })?;
        Ok(BurnEvaluator { way: Placement::Lanes(lanes), shapes })
    }

    /// This evaluator if its answers differ from the CPU's only by rounding.
    fn checked(self, network: &Network) -> Result<BurnEvaluator, EvalError> {
        let reference = CpuEvaluator::new(network, Arithmetic::Single);
        let far = difference(&reference, &self)?.most;
        if far > CLOSE {
            return Err(EvalError::Device(format!(
                "its answers differ from the CPU's by {far:.4}"
            )));
        }
        log::info!("the GPU's answers differ from the CPU's by {far:.4} at most");
        Ok(self)
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
                Placement::Lanes(lanes) => {
                    asked.push((lanes, lanes.ask((rows, size, heads), kind(size, heads))));
                }
            }
            rows = rest;
        }
        for (lanes, asked) in &asked {
            logits.extend(lanes.wait(asked)??);
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
            outputs::evaluation(Isa::found(), &all.policy, &all.actions, &all.value, &all.result)
        });
        Ok(answers.collect())
    }
}

/// Passes of one size and with the same heads take about as long.
fn kind(size: usize, heads: Heads) -> usize {
    2 * size + usize::from(heads == Heads::All)
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
        self.shapes.sizes.last().map_or(16, |&largest| largest.min(256))
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

#[cfg(all(test, feature = "gpu"))]
mod card_tests;
#[cfg(test)]
mod tests;

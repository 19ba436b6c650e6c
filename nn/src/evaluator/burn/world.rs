//! The world model on a burn device.

use super::BurnEvaluator;
use super::pass::RowLogits;
use crate::cpu::Heads;
use crate::encode::{Encoded, Features, Item};
use crate::evaluator::error::EvalError;
use crate::evaluator::query::Evaluation;
use crate::evaluator::transition::{Imagined, Refusal, Step, Transition};
use crate::evaluator::world_model::{WorldModelLogits, WorldModelPass, imagine, ongoing, refine};
use crate::net::layout::TRANSITION_OUTPUTS;

impl WorldModelLogits for &[RowLogits] {
    fn terminal(&self, p: usize) -> &[f32] {
        &self[p].terminal
    }

    fn legality(&self, p: usize) -> &[f32] {
        &self[p].legality
    }

    fn square(&self, p: usize, token: usize) -> (&[f32], f32) {
        let square = &self[p].transition[token * TRANSITION_OUTPUTS..][..TRANSITION_OUTPUTS];
        (square, self[p].promotes[token])
    }
}

/// The device, and the logits of the last pass.
struct BurnPass<'a> {
    evaluator: &'a BurnEvaluator,
    logits: Vec<RowLogits>,
}

impl WorldModelPass for BurnPass<'_> {
    fn forward(&mut self, boards: &[Features]) -> Result<(), EvalError> {
        let row = |features: &Features| Encoded { features: features.clone(), moves: Vec::new() };
        self.logits = self.evaluator.logits(boards.iter().map(row).collect(), Heads::All)?;
        Ok(())
    }

    fn logits(&self) -> impl WorldModelLogits {
        self.logits.as_slice()
    }

    /// Passes the boards through the network again: the first pass kept nothing on the device.
    fn score_moves(
        &mut self,
        items: &[Item<'_>],
    ) -> Result<Vec<Result<Evaluation, EvalError>>, EvalError> {
        let asked = items.iter().filter(|item| !item.moves.is_empty());
        let owned = |item: &Item<'_>| Encoded {
            features: item.features.clone(),
            moves: item.moves.to_vec(),
        };
        self.evaluator.evaluations(asked.map(owned))
    }
}

impl Transition for BurnEvaluator {
    fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        imagine(&mut BurnPass { evaluator: self, logits: Vec::new() }, batch)
    }

    fn refine(&self, answers: &mut [Result<Imagined, Refusal>]) -> Result<(), EvalError> {
        let mut states = ongoing(answers);
        refine(&mut BurnPass { evaluator: self, logits: Vec::new() }, &mut states)
    }
}

//! Imagination on a burn device.

use super::BurnEvaluator;
use super::pass::{Logits, Row};
use crate::cpu::Heads;
use crate::encode::Features;
use crate::encode::Item;
use crate::evaluator::{EvalError, Evaluation};
use crate::imagine::{self, Mind, imagine, look_again};
use crate::net::layout::TRANSITION_OUTPUTS;
use crate::transition::{Imagined, Refusal, Step, Transition};

impl imagine::Logits for &[Logits] {
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

/// The device, and what the last look saw.
struct BurnMind<'a> {
    evaluator: &'a BurnEvaluator,
    seen: Vec<Logits>,
}

impl Mind for BurnMind<'_> {
    fn look(&mut self, boards: &[Features]) -> Result<(), EvalError> {
        let row = |features: &Features| Row { features: features.clone(), moves: Vec::new() };
        self.seen = self.evaluator.logits(boards.iter().map(row).collect(), Heads::All)?;
        Ok(())
    }

    fn logits(&self) -> impl imagine::Logits {
        self.seen.as_slice()
    }

    /// A second pass over the boards: what the first one made of them did not stay on the device.
    fn judge(
        &mut self,
        items: &[Item<'_>],
    ) -> Result<Vec<Result<Evaluation, EvalError>>, EvalError> {
        let asked = items.iter().filter(|item| !item.moves.is_empty());
        self.evaluator.opinions(asked.map(|item| (item.features.clone(), item.moves.to_vec())))
    }
}

impl Transition for BurnEvaluator {
    fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        imagine(&mut BurnMind { evaluator: self, seen: Vec::new() }, batch)
    }

    fn look_again(&self, answers: &mut [Result<Imagined, Refusal>]) -> Result<(), EvalError> {
        let mut open = imagine::open(answers);
        look_again(&mut BurnMind { evaluator: self, seen: Vec::new() }, &mut open)
    }
}

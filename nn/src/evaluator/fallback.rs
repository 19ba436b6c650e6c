//! An evaluator with a fallback: once its device fails, another evaluator takes over, so that a game survives a
//! driver reset or a lost GPU. Wraps any evaluator; independent of search.

use super::Evaluator;
use super::error::EvalError;
use super::query::{Evaluation, Query};
use super::transition::{Imagined, Refusal, Step, Transition};
use crate::encode::Encoded;
use std::sync::{Arc, OnceLock};

/// Opens the fallback, given the first failure; None if there is none.
type Open = dyn Fn(&EvalError) -> Option<Arc<dyn Evaluator>> + Send + Sync;

/// Uses the first evaluator until its device fails, then the second one permanently.
pub struct Fallback {
    first: Arc<dyn Evaluator>,
    second: OnceLock<Option<Arc<dyn Evaluator>>>,
    open: Box<Open>,
}

impl Fallback {
    /// `open` is called once, at the first failure, on the thread that met it; others wait for it.
    #[must_use]
    pub fn new(
        first: Arc<dyn Evaluator>,
        open: impl Fn(&EvalError) -> Option<Arc<dyn Evaluator>> + Send + Sync + 'static,
    ) -> Fallback {
        Fallback { first, second: OnceLock::new(), open: Box::new(open) }
    }

    /// Whether the first evaluator's device has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.second.get().is_some()
    }

    /// Runs `ask` on the active evaluator.
    fn ask<T>(
        &self,
        mut ask: impl FnMut(&dyn Evaluator) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        if let Some(Some(second)) = self.second.get() {
            return ask(&**second);
        }
        match ask(&*self.first) {
            Err(why @ EvalError::Device(_)) => {
                let second = self.second.get_or_init(|| (self.open)(&why));
                second.as_deref().map_or(Err(why), ask)
            }
            answer => answer,
        }
    }
}

impl Evaluator for Fallback {
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
        self.ask(|evaluator| evaluator.evaluate(batch))
    }

    fn evaluate_encoded(
        &self,
        batch: &[Query<'_>],
        inputs: Vec<Encoded>,
    ) -> Result<Vec<Evaluation>, EvalError> {
        let mut inputs = Some(inputs);
        self.ask(|evaluator| match inputs.take() {
            Some(inputs) => evaluator.evaluate_encoded(batch, inputs),
            // The first evaluator consumed the inputs and failed.
            None => evaluator.evaluate(batch),
        })
    }

    fn preferred_batch(&self) -> usize {
        self.first.preferred_batch()
    }

    fn batches(&self) -> &[usize] {
        self.first.batches()
    }

    fn in_flight(&self) -> usize {
        self.first.in_flight()
    }

    fn transition(&self) -> Option<&dyn Transition> {
        self.first.transition().map(|_| self as &dyn Transition)
    }
}

/// The world model of `evaluator`, which has one if the first evaluator had: both hold the same network.
fn world(evaluator: &dyn Evaluator) -> Result<&dyn Transition, EvalError> {
    evaluator
        .transition()
        .ok_or_else(|| EvalError::Device("the fallback has no world model".to_owned()))
}

impl Transition for Fallback {
    fn imagine(&self, batch: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
        self.ask(|evaluator| world(evaluator)?.imagine(batch))
    }

    fn refine(&self, answers: &mut [Result<Imagined, Refusal>]) -> Result<(), EvalError> {
        self.ask(|evaluator| world(evaluator)?.refine(answers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::MoveCode;
    use crate::evaluator::fake::{Breakdown, Failing, Hashed, Perfect};
    use shakmaty::{Chess, Position};
    use std::sync::atomic::{AtomicU32, Ordering};

    fn hashed() -> Arc<dyn Evaluator> {
        Arc::new(Hashed::default())
    }

    #[test]
    fn the_fallback_takes_over_at_the_first_failure_and_stays() {
        let position = Chess::default();
        let legal = position.legal_moves();
        let batch = [Query { position: &position, legal: &legal }];
        let truth = hashed().evaluate(&batch);
        let opened = Arc::new(AtomicU32::new(0));
        let count = opened.clone();
        let first = Arc::new(Failing::after(2, Breakdown::Error));
        let fallback = Fallback::new(first, move |why| {
            assert!(matches!(why, EvalError::Device(_)), "{why}");
            count.fetch_add(1, Ordering::Relaxed);
            Some(hashed())
        });
        for call in 0..5 {
            assert_eq!(fallback.has_failed(), call > 2);
            assert_eq!(fallback.evaluate(&batch), truth);
        }
        assert_eq!(opened.load(Ordering::Relaxed), 1);
        assert!(fallback.transition().is_none());
    }

    #[test]
    fn only_a_device_is_given_up() {
        let fallback = Fallback::new(hashed(), |_| None);
        let position = Chess::default();
        let batch = [Query { position: &position, legal: &[] }];
        assert_eq!(fallback.evaluate(&batch), Err(EvalError::NoMoves));
        assert!(!fallback.has_failed());
        // Without a fallback every failure is reported.
        let fallback = Fallback::new(Arc::new(Failing::after(0, Breakdown::Error)), |_| None);
        for _ in 0..2 {
            assert!(matches!(fallback.evaluate(&batch), Err(EvalError::Device(_))));
            assert!(fallback.has_failed());
        }
    }

    #[test]
    fn a_world_model_has_a_fallback_too() {
        /// A device that fails at once.
        struct Gone;
        impl Evaluator for Gone {
            fn evaluate(&self, _: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError> {
                Err(EvalError::Device("gone".to_owned()))
            }
            fn transition(&self) -> Option<&dyn Transition> {
                Some(self)
            }
        }
        impl Transition for Gone {
            fn imagine(&self, _: &[Step<'_>]) -> Result<Vec<Result<Imagined, Refusal>>, EvalError> {
                Err(EvalError::Device("gone".to_owned()))
            }
        }
        let state = Chess::default();
        let action = MoveCode { from: 12, to: 28, promotion: 0 };
        let fallback =
            Fallback::new(Arc::new(Gone), |_| Some(Arc::new(Perfect(Hashed::default()))));
        let world = fallback.transition().expect("both have one");
        let answers = world.imagine(&[Step { state: &state, action }]).expect("the fallback's");
        assert_eq!(answers.len(), 1);
        assert!(answers[0].as_ref().is_ok_and(|imagined| imagined.legal.len() == 20));
        let fallback = Fallback::new(Arc::new(Gone), |_| Some(hashed()));
        let refused = fallback.transition().map(|world| world.imagine(&[]).is_err());
        assert_eq!(refused, Some(true), "a fallback without a world model says so");
    }
}

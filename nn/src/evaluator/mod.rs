//! Evaluators: the interface to a network. [`Evaluator`] returns values, action values and a policy;
//! [`Transition`] returns the position after a move, without rules.
//!
//! `cpu` and `burn` compute a network, `fake` needs none. `cached` and `fallback` wrap any evaluator,
//! `difference` compares two, and `self_check` compares every arithmetic and instruction set here. `outputs`
//! and `world_model` decode the heads' logits; [`Insight`] holds all of them, for people.

pub mod burn;
pub mod cached;
pub mod cpu;
mod difference;
mod error;
pub mod fake;
pub mod fallback;
mod insight;
mod outputs;
mod query;
pub mod self_check;
mod transition;
pub mod world_model;

pub use error::EvalError;
pub use insight::Insight;
pub use query::{Evaluation, Query};
pub use transition::{Imagined, Refusal, Step, Transition, grounded, is_true};

use crate::encode::Encoded;

/// A network that evaluates positions; shared by threads.
///
/// ```
/// use nn::evaluator::fake::Uniform;
/// use nn::{Evaluator, Query};
/// use shakmaty::{Chess, Position};
///
/// let position = Chess::default();
/// let legal = position.legal_moves();
/// let answers = Uniform.evaluate(&[Query { position: &position, legal: &legal }])?;
/// assert_eq!(answers[0].policy.len(), 20);
/// assert_eq!(answers[0].value, 0.5);
/// # Ok::<(), nn::EvalError>(())
/// ```
pub trait Evaluator: Send + Sync {
    /// Answers in order. Blocks. Batch size never changes an answer: not a bit of it by the kernels of the CPU, at most
    /// 1e-4 of a probability by burn. Every number of an answer is finite:
    /// implementations check their network's outputs, callers need not.
    ///
    /// # Errors
    /// The device failed or the network answered NaN or infinity.
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError>;

    /// [`Evaluator::evaluate`] for a caller that has already encoded the queries: `inputs` are
    /// [`Query::encode`] of `batch`, in order.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    fn evaluate_encoded(
        &self,
        batch: &[Query<'_>],
        _inputs: Vec<Encoded>,
    ) -> Result<Vec<Evaluation>, EvalError> {
        self.evaluate(batch)
    }

    /// Default batch per thread, where nothing was measured.
    fn preferred_batch(&self) -> usize {
        8
    }

    /// Batch sizes to benchmark on this machine, ascending; empty = use [`Evaluator::preferred_batch`].
    fn batches(&self) -> &[usize] {
        &[]
    }

    /// Batches to keep in flight, each by its own thread, so that the device never waits: two where it computes
    /// one while the next is gathered.
    fn in_flight(&self) -> usize {
        1
    }

    /// The same network as a world model, if it has one.
    fn transition(&self) -> Option<&dyn Transition> {
        None
    }
}

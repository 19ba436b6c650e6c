//! Evaluators: what the rest of the house asks of a network. [`Evaluator`] gives values, action values and a
//! policy of positions; [`Transition`] gives the position after a move, with no rules asked.
//!
//! `cpu` and `burn` compute a network, `fake` computes none. `cached` and `fallback` wrap any evaluator,
//! `difference` compares two, and `self_check` every way there is to compute one network here.
//! `outputs` and `world_model` turn the heads' logits into answers, whoever computed them; [`Insight`] is for
//! people, and holds all of them.

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
pub(crate) mod world_model;

pub use error::EvalError;
pub use insight::Insight;
pub use query::{Evaluation, Query};
pub use transition::{Imagined, MOST_MOVES, Refusal, Step, Transition, grounded, is_true};

use crate::encode::Encoded;

/// A network that evaluates positions. Shared by threads.
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
    /// Answers in order. Blocks. Batch size never changes an answer. Every number of an answer is finite:
    /// implementations check what their network says, callers need not.
    ///
    /// # Errors
    /// The device failed or the network answered NaN or infinity.
    fn evaluate(&self, batch: &[Query<'_>]) -> Result<Vec<Evaluation>, EvalError>;

    /// [`Evaluator::evaluate`] for a caller that has encoded the queries already: `inputs` are what
    /// [`Query::encode`] makes of `batch`, in order.
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

    /// The batch one thread should gather before it asks, where nothing was measured.
    fn preferred_batch(&self) -> usize {
        8
    }

    /// Batch sizes among which measuring finds the best on this machine, smallest first; empty = nothing
    /// to be found, take [`Evaluator::preferred_batch`].
    fn batches(&self) -> &[usize] {
        &[]
    }

    /// Batches to be asked about at once, each by a thread of its own, for the device never to wait: two where
    /// it computes one while the next is gathered.
    fn in_flight(&self) -> usize {
        1
    }

    /// The same network as a world, if it can be asked what follows a move.
    fn transition(&self) -> Option<&dyn Transition> {
        None
    }
}

//! Interface of the gradient: one batch's.

use super::loss::LossSums;
use crate::data::Example;
use std::fmt;

/// Computes gradients.
pub trait Step: Send {
    /// Loss sums of `batch` at `params`; `grads`, as long as `params`, is overwritten with the gradient of
    /// their total. Blocks.
    ///
    /// # Errors
    /// The device failed; the content of `grads` is unspecified then.
    fn gradient(
        &mut self,
        params: &[f32],
        batch: &[Example],
        grads: &mut [f32],
    ) -> Result<LossSums, StepError>;
}

/// Why there is no gradient: the device's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepError(pub String);

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "training step: {}", self.0)
    }
}

impl std::error::Error for StepError {}

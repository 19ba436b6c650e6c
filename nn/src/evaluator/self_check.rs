//! Whether every instruction set and arithmetic of this CPU gives the same answers: a user's hardware check.

use super::cpu::CpuEvaluator;
use super::difference::{CLOSE, answers, between};
use super::error::EvalError;
use super::query::Evaluation;
use crate::checkpoint::Network;
use crate::kernels::Isa;
use crate::kernels::gemm::Method;
use crate::precision::Arithmetic;

/// Largest difference of a probability or value that reordered sums may cause.
const ROUNDING: f32 = 1e-3;

/// One way to compute the network.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Instructions used.
    pub isa: Isa,
    /// Arithmetic of the products.
    pub arithmetic: Arithmetic,
    /// Agreement with plain loops in single precision.
    pub result: Result<Agreement, EvalError>,
}

/// Agreement of answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Largest difference of a probability or value from plain loops in single precision.
    pub most: f32,
    /// Whether that is within this arithmetic's rounding.
    pub is_rounding: bool,
    /// Largest difference of a probability or value between single positions and one batch.
    pub in_batches: f32,
}

impl Checked {
    /// Whether it passed.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.result.as_ref().is_ok_and(|found| found.is_rounding && found.in_batches <= ROUNDING)
    }
}

/// Computes `network` with every arithmetic and instruction set of this CPU, plain loops first.
///
/// # Errors
/// Plain loops fail.
pub fn self_check(network: &Network) -> Result<Vec<Checked>, EvalError> {
    let plain = Method { isa: Isa::Portable, arithmetic: Arithmetic::Single };
    let plain = answers(&CpuEvaluator::with(network, plain), usize::MAX)?;
    let sets = Isa::ALL.iter().copied().filter(|isa| *isa <= Isa::found());
    Ok(sets.flat_map(|isa| by(isa, network, &plain)).collect())
}

fn by(isa: Isa, network: &Network, plain: &[Evaluation]) -> Vec<Checked> {
    let all = [Arithmetic::Single, Arithmetic::Bf16, Arithmetic::Int8];
    let available = all.into_iter().filter(|arithmetic| arithmetic.available(isa));
    available
        .map(|arithmetic| Checked {
            isa,
            arithmetic,
            result: agreement(network, Method { isa, arithmetic }, plain),
        })
        .collect()
}

fn agreement(
    network: &Network,
    method: Method,
    plain: &[Evaluation],
) -> Result<Agreement, EvalError> {
    let evaluator = CpuEvaluator::with(network, method);
    let batched = answers(&evaluator, usize::MAX)?;
    let alone = answers(&evaluator, 1)?;
    let far = between(plain, &batched);
    Ok(Agreement {
        most: far.most,
        is_rounding: match method.arithmetic {
            Arithmetic::Single => far.most <= ROUNDING,
            Arithmetic::Bf16 => far.most <= CLOSE,
            Arithmetic::Int8 => far.is_rounding(),
        },
        in_batches: between(&batched, &alone).most,
    })
}

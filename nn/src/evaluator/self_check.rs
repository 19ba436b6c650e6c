//! Whether every set of instructions and every arithmetic that this CPU has answers alike: for a user who
//! wonders whether his machine computes as ours do.

use super::cpu::CpuEvaluator;
use super::difference::{CLOSE, answers, between};
use super::error::EvalError;
use super::query::Evaluation;
use crate::checkpoint::Network;
use crate::cpu::Isa;
use crate::precision::Arithmetic;

/// Largest difference of any probability or value between two ways to add up the same sums.
const ROUNDING: f32 = 1e-3;

/// One way to compute the network.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Instructions used.
    pub isa: Isa,
    /// The arithmetic of the products.
    pub arithmetic: Arithmetic,
    /// What it answers, against plain loops in single precision.
    pub result: Result<Agreement, EvalError>,
}

/// How the answers agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Largest difference of any probability or value to plain loops in single precision.
    pub most: f32,
    /// Whether that is rounding, for this arithmetic.
    pub is_rounding: bool,
    /// Largest difference of any probability or value between positions one by one and all together.
    pub in_batches: f32,
}

impl Checked {
    /// Nothing is wrong with it.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.result.as_ref().is_ok_and(|found| found.is_rounding && found.in_batches <= ROUNDING)
    }
}

/// Computes `network` in every way this CPU has, plain loops first. Limits the instructions of the whole process
/// meanwhile: nothing else may compute in it.
///
/// # Errors
/// Not even plain loops compute the network.
pub fn self_check(network: &Network) -> Result<Vec<Checked>, EvalError> {
    let before = Isa::used();
    Isa::Portable.limit();
    let plain = answers(&CpuEvaluator::new(network, Arithmetic::Single), usize::MAX);
    let checked = plain.map(|plain| {
        let sets = Isa::ALL.iter().copied().filter(|isa| *isa <= Isa::found());
        sets.flat_map(|isa| by(isa, network, &plain)).collect()
    });
    before.limit();
    checked
}

fn by(isa: Isa, network: &Network, plain: &[Evaluation]) -> Vec<Checked> {
    isa.limit();
    let all = [Arithmetic::Single, Arithmetic::Bf16, Arithmetic::Int8];
    let available = all.into_iter().filter(|arithmetic| arithmetic.available());
    available
        .map(|arithmetic| Checked {
            isa,
            arithmetic,
            result: agreement(network, arithmetic, plain),
        })
        .collect()
}

fn agreement(
    network: &Network,
    arithmetic: Arithmetic,
    plain: &[Evaluation],
) -> Result<Agreement, EvalError> {
    let evaluator = CpuEvaluator::new(network, arithmetic);
    let together = answers(&evaluator, usize::MAX)?;
    let alone = answers(&evaluator, 1)?;
    let far = between(plain, &together);
    Ok(Agreement {
        most: far.most,
        is_rounding: match arithmetic {
            Arithmetic::Single => far.most <= ROUNDING,
            Arithmetic::Bf16 => far.most <= CLOSE,
            Arithmetic::Int8 => far.is_rounding(),
        },
        in_batches: between(&together, &alone).most,
    })
}

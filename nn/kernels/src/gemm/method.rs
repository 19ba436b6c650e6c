//! How a product is computed.

use crate::isa::Isa;
use crate::precision::Arithmetic;

/// Instruction set and arithmetic of a product; packed operands keep theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// At most this set; the widest that the CPU has if it lacks this one.
    pub isa: Isa,
    /// Single precision, or bf16 with sums in single precision; without a kernel for bf16, single precision.
    pub arithmetic: Arithmetic,
}

impl Method {
    /// The arithmetic by the widest instruction set of this CPU.
    #[must_use]
    pub fn widest(arithmetic: Arithmetic) -> Method {
        Method { isa: Isa::found(), arithmetic }
    }
}

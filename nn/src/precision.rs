//! The precision that products are computed in, on any device. Which of them the CPU has kernels for is said
//! in `cpu::matmul`, what numbers are stored in by [`crate::checkpoint::Precision`].

use std::fmt;

/// What the factors of a product are rounded to; sums are in single precision always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// Single precision.
    #[default]
    Single,
    /// bf16, rounded to nearest: 8 bits of mantissa, twice the speed.
    Bf16,
    /// Integers of 8 bits in every product of weights over all tokens, in attention what is fastest (single precision, bf16, or fixed point of 16
    /// bits), single precision in the rest; for evaluation on the CPU alone.
    Int8,
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arithmetic::Single => "single precision",
            Arithmetic::Bf16 => "bf16",
            Arithmetic::Int8 => "int8",
        })
    }
}

/// A word that names no precision this CPU computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticError {
    /// Neither `auto`, `single`, `bf16` nor `int8`.
    Unknown,
    /// bf16, for which this CPU has no instructions.
    NoBf16,
    /// int8, for which this CPU has no instructions.
    NoInt8,
}

impl fmt::Display for ArithmeticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArithmeticError::Unknown => "expected auto, single, bf16 or int8",
            ArithmeticError::NoBf16 => "this CPU has no AVX512_BF16",
            ArithmeticError::NoInt8 => "this CPU has neither AVX2 nor Arm's dot products of bytes",
        })
    }
}

impl std::error::Error for ArithmeticError {}

//! Arithmetic of products, on any device. CPU kernels: `kernels::gemm`; storage precision:
//! `nn::checkpoint::Precision`.

use std::fmt;

/// Precision of a product's factors; sums are always in single precision or, for int8, exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// Single precision.
    #[default]
    Single,
    /// bf16, rounded to nearest: 8 bits of mantissa, twice the speed.
    Bf16,
    /// 8-bit integers in every product of weights over all tokens; attention uses the fastest arithmetic
    /// (single precision, bf16, or 16-bit fixed point), everything else single precision. Only for evaluation
    /// on the CPU.
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

/// An arithmetic name that is unknown or unsupported by this CPU.
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

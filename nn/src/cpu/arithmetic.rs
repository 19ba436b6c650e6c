//! Which arithmetic this CPU multiplies in, and which it is best at.

use super::int8::Kernel;
use super::isa::{self, Isa};
use crate::precision::{Arithmetic, ArithmeticError};
use std::str::FromStr;

impl Arithmetic {
    /// The fastest of floats that this CPU has and play does not suffer from.
    ///
    /// AVX512_BF16 alone is not enough: Intel's (Sapphire Rapids) multiplies bf16 more slowly than single
    /// precision, 0.66 times as fast, AMD's (Zen 5) 1.6 times as fast. AMX is 1.9 to 3.7 times as fast: `docs/src/speed.md`.
    #[must_use]
    pub fn best() -> Arithmetic {
        #[cfg(target_arch = "x86_64")]
        if Arithmetic::Bf16.available() && (Isa::used() == Isa::Amx || vendor() == *b"AuthenticAMD")
        {
            return Arithmetic::Bf16;
        }
        Arithmetic::Single
    }

    /// Whether there are kernels for it on this CPU: for single precision always.
    #[must_use]
    pub fn available(self) -> bool {
        match self {
            Arithmetic::Single => true,
            Arithmetic::Bf16 => Isa::used() >= Isa::Avx512 && isa::bf16(),
            Arithmetic::Int8 => Kernel::used().is_some(),
        }
    }
}

/// Who made this CPU.
#[cfg(target_arch = "x86_64")]
fn vendor() -> [u8; 12] {
    let found = std::arch::x86_64::__cpuid(0);
    let words = [found.ebx, found.edx, found.ecx].map(u32::to_le_bytes);
    std::array::from_fn(|i| words[i / 4][i % 4])
}

/// `auto`, `single`, `bf16` or `int8`.
impl FromStr for Arithmetic {
    type Err = ArithmeticError;

    fn from_str(text: &str) -> Result<Arithmetic, ArithmeticError> {
        match text {
            "auto" => Ok(Arithmetic::best()),
            "single" => Ok(Arithmetic::Single),
            "bf16" if Arithmetic::Bf16.available() => Ok(Arithmetic::Bf16),
            "bf16" => Err(ArithmeticError::NoBf16),
            "int8" if Arithmetic::Int8.available() => Ok(Arithmetic::Int8),
            "int8" => Err(ArithmeticError::NoInt8),
            _ => Err(ArithmeticError::Unknown),
        }
    }
}

//! Arithmetics that this CPU supports, and the fastest one.

use super::int8::Kernel;
use crate::isa;
use crate::isa::Isa;
use crate::precision::{Arithmetic, ArithmeticError};
use std::str::FromStr;

impl Arithmetic {
    /// The fastest floating-point arithmetic of this CPU with instructions up to `isa`; int8 is left to the caller
    /// because it loses accuracy.
    ///
    /// AVX512_BF16 alone is not enough: relative to single precision Intel's (Sapphire Rapids) runs at 0.66
    /// times the speed, AMD's (Zen 5) at 1.6 times. AMX is 1.9 to 3.7 times as fast: `docs/src/speed.md`.
    #[must_use]
    pub fn best(isa: Isa) -> Arithmetic {
        #[cfg(target_arch = "x86_64")]
        if Arithmetic::Bf16.available(isa)
            && (isa.available() == Isa::Amx || vendor() == *b"AuthenticAMD")
        {
            return Arithmetic::Bf16;
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = isa;
        Arithmetic::Single
    }

    /// Whether this CPU has kernels for the arithmetic with instructions up to `isa`; always true for single
    /// precision.
    #[must_use]
    pub fn available(self, isa: Isa) -> bool {
        match self {
            Arithmetic::Single => true,
            Arithmetic::Bf16 => isa.available() >= Isa::Avx512 && isa::bf16(),
            Arithmetic::Int8 => Kernel::fastest(isa).is_some(),
        }
    }
}

/// CPUID vendor string.
#[cfg(target_arch = "x86_64")]
fn vendor() -> [u8; 12] {
    let found = std::arch::x86_64::__cpuid(0);
    let words = [found.ebx, found.edx, found.ecx].map(u32::to_le_bytes);
    std::array::from_fn(|i| words[i / 4][i % 4])
}

/// `auto`, `single`, `bf16` or `int8`, if this CPU has kernels for it.
impl FromStr for Arithmetic {
    type Err = ArithmeticError;

    fn from_str(text: &str) -> Result<Arithmetic, ArithmeticError> {
        match text {
            "auto" => Ok(Arithmetic::best(Isa::found())),
            "single" => Ok(Arithmetic::Single),
            "bf16" if Arithmetic::Bf16.available(Isa::found()) => Ok(Arithmetic::Bf16),
            "bf16" => Err(ArithmeticError::NoBf16),
            "int8" if Arithmetic::Int8.available(Isa::found()) => Ok(Arithmetic::Int8),
            "int8" => Err(ArithmeticError::NoInt8),
            _ => Err(ArithmeticError::Unknown),
        }
    }
}

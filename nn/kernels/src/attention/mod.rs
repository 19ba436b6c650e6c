//! Attention of 64 tokens for play: scores, bias, softmax and the weighted mean of the values in one pass, a few rows at
//! a time, so that a row of scores stays in L1.
//!
//! | file | what | instructions |
//! |---|---|---|
//! | `single` | one head in single precision | AVX2, AVX-512, NEON |
//! | `int16` | one head in 16-bit fixed point | AVX2 |
//! | `bf16`, `bf16_softmax` | one head in bf16 | AVX512_BF16 |
//! | `bias_mixture` | dynamic biases mixed of patterns in 16-bit fixed point | AVX2, AVX512_VNNI |

#[cfg(target_arch = "x86_64")]
mod bf16;
#[cfg(target_arch = "x86_64")]
pub(crate) mod bf16_softmax;
#[cfg(target_arch = "x86_64")]
pub mod bias_mixture;
mod head;
#[cfg(target_arch = "x86_64")]
mod int16;
mod single;

use super::gemm::Method;
#[cfg(target_arch = "x86_64")]
use super::isa;
use super::isa::Isa;
use crate::TOKENS;
use crate::precision::Arithmetic;

pub use head::Head;

/// Scratch: one head's operands, packed for the arithmetic.
#[derive(Default)]
pub struct Operands {
    floats: single::Keys,
    #[cfg(target_arch = "x86_64")]
    halves: bf16::Bf16Scratch,
    #[cfg(target_arch = "x86_64")]
    fixed: int16::Int16Scratch,
}

/// Whether [`attend`] supports this head size by this method on this CPU; int8 means 16-bit fixed point. [`crate::amx`] computes
/// all heads of a position in one call.
pub fn supports(Method { isa, arithmetic }: Method, dim: usize) -> bool {
    match (arithmetic, isa.available()) {
        (Arithmetic::Single, Isa::Neon | Isa::Avx2) => dim.is_multiple_of(16),
        (Arithmetic::Single, Isa::Avx512 | Isa::Amx) => dim.is_multiple_of(32),
        #[cfg(target_arch = "x86_64")]
        (Arithmetic::Bf16, Isa::Avx512) => isa::bf16() && bf16::supports(dim),
        #[cfg(target_arch = "x86_64")]
        (Arithmetic::Int8, Isa::Avx2) => int16::supports(dim),
        _ => false,
    }
}

/// Writes each token's attention output, 64 rows; rows of `out` are `row` floats apart.
///
/// # Panics
/// If [`supports`] is false for the head or a slice is too short: a fault of the caller.
pub fn attend(
    method: Method,
    head: &Head<'_>,
    operands: &mut Operands,
    out: &mut [f32],
    row: usize,
) {
    let (isa, arithmetic) = (method.isa.available(), method.arithmetic);
    assert!(supports(method, head.dim), "heads of {} in {arithmetic}", head.dim);
    let len = (TOKENS - 1) * head.stride + head.dim;
    assert!(head.qkv.iter().all(|part| part.len() >= len) && head.stride >= head.dim, "rows");
    assert!(row >= head.dim && out.len() >= (TOKENS - 1) * row + head.dim, "room");
    let square = |bias: &[f32]| bias.len() >= TOKENS * TOKENS;
    assert!(square(head.bias) && head.dynamic.is_none_or(square), "bias");
    // SAFETY: `supports` found the instructions (AVX2 + FMA, AVX-512 F/BW/DQ, AVX512_BF16 or NEON) and the head
    // size for this kernel; queries, keys, values hold 64 rows of `dim` floats, `out` 64 rows `row` apart, both
    // biases 64 x 64 floats: all asserted above.
    unsafe {
        match arithmetic {
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Bf16 => bf16::attend(head, &mut operands.halves, out, row),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Int8 => int16::attend(head, &mut operands.fixed, out, row),
            _ => single::attend(isa, head, &mut operands.floats, out, row),
        }
    }
}

#[cfg(test)]
mod tests;

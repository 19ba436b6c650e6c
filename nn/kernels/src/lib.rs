//! Kernels of the network by hand, by operation and, inside, by instruction set; the only crate of ours with `unsafe`
//! code, each block with its argument. Safe functions check lengths and CPU features first. Every kernel has a reference
//! in plain loops that its tests compare it with. No chess, no network.
//!
//! - [`isa`]: which instructions this CPU has, and plain loops compiled for each set ([`by_isa`]).
//! - `simd`: vectors, reductions, prefetch, huge pages.
//! - [`ops`]: element-wise and row-wise operations as plain loops.
//! - [`norm`]: layer normalisation, softmax, squared ReLU.
//! - [`gemm`]: matrix products in single precision, bf16, int8 and int16.
//! - [`attention`]: attention of 64 tokens.
//! - `amx`: by AMX, products, attention and its gradient, and the steps of a training pass between them.
//! - [`precision`] and `arithmetic`: the arithmetics, and the fastest of this CPU.
//!
//! Packed operands keep the [`Isa`] that they were packed for; other functions have it as an argument. A set that the CPU
//! lacks becomes the widest that it has. No set is global.
//!
//! # What no machine of the regular tests has run
//! They run on AVX2 without AVX-512. These files compile there and run nothing:
//!
//! - AMX: the folder `amx`. `.ci/amx` runs its tests with the instructions carried out in software, on a CPU with
//!   AVX512_BF16.
//! - AVX512_BF16: `gemm::bf16`, `norm::bf16`, `attention::{bf16, bf16_softmax}`; AVX512_VNNI: `gemm::int8::{avx512_vnni,
//!   norm_quantize}`, half of `attention::bias_mixture`; AVX-512: `simd::{avx512, horizontal}`, `norm::moments`, and the
//!   AVX-512 parts of `norm`, `gemm` and `attention::single`. The tests run them on a CPU that has them, and print what
//!   they skip elsewhere.
//! - AVX-VNNI: `gemm::int8::avx_vnni`, likewise.
//! - NEON: `simd::neon`, `gemm::int8::neon`. `.ci/aarch64` runs them under an emulator.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

#[cfg(target_arch = "x86_64")]
pub mod amx;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod attention;
pub mod gemm;
pub mod isa;
pub mod norm;
pub mod ops;
pub mod precision;
mod simd;
#[cfg(test)]
mod testing;

pub use isa::Isa;
pub use simd::huge_pages;
pub use simd::prefetch::prefetch;

/// Tokens of a position, one for each square.
pub const TOKENS: usize = 64;

//! The parts of the kernels, by instruction set: one interface for vectors of floats ([`Vector`]: AVX2, AVX-512,
//! NEON), lanes of AVX-512, horizontal reductions; and two hints to the memory system.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod horizontal;
pub mod huge_pages;
#[cfg(target_arch = "aarch64")]
mod neon;
pub(crate) mod prefetch;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::transpose_four;
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::transpose_four;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use vector::Vector;

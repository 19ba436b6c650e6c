//! All that AMX does (Intel servers from Sapphire Rapids on), with AVX512_BF16 between its products. The other folders
//! have the same operations without it.
//!
//! | file | what | instead of |
//! |---|---|---|
//! | `tiles` | tiles: configuration, blocks of products | `simd` |
//! | `bf16`, `int8` | products | `gemm::microkernel`, `gemm::int8` |
//! | [`epilogues`] | the steps between the products of a training pass, while a block of sums is in L1 | `norm::bf16` |
//! | [`attention`] | all heads of a position in bf16, biases mixed on the way | [`crate::attention`] |
//! | [`gradient`] | the gradient of attention, head by head | products and [`crate::ops`] |
//!
//! `.ci/amx` tests this folder on a CPU without AMX, its instructions carried out in software.

pub mod attention;
pub(crate) mod bf16;
pub mod epilogues;
pub mod gradient;
pub(crate) mod int8;
pub(crate) mod tiles;

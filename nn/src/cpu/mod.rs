//! The network on the CPU, by hand: the forward pass for play, and its gradient, which trains several times
//! faster on two cores than a general tensor library. The burn module of `net` is the reference; tests compare
//! both.
//!
//! `unsafe` is confined to `isa` (dispatch by instruction set), `vector`, `rows` and `attention` (row-wise
//! kernels), `matmul`, `int8`, `sixteen` and `fixed_basis` (products of floats, bytes and 16-bit integers),
//! `tiles` (AMX), `quarters` and `moments` (reductions of several vectors), `fused` and `epilogues` (training
//! steps between and after products), each with a safe reference in its tests, and to `prefetch` and
//! `large_pages`, hints that change no result.

mod activations;
mod arithmetic;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod attention;
pub(crate) mod backward;
mod dynamic_bias;
#[cfg(target_arch = "x86_64")]
mod epilogues;
#[cfg(target_arch = "x86_64")]
mod fixed_basis;
pub(crate) mod forward;
#[cfg(target_arch = "x86_64")]
mod fused;
pub mod int8;
pub(crate) mod isa;
pub mod large_pages;
mod layers;
pub mod matmul;
#[cfg(target_arch = "x86_64")]
mod moments;
mod multihead;
pub mod ops;
mod pieces;
mod prefetch;
#[cfg(target_arch = "x86_64")]
mod quarters;
mod relations;
mod rows;
#[cfg(target_arch = "x86_64")]
mod sixteen;
pub mod stages;
#[cfg(target_arch = "x86_64")]
mod tiles;
mod trunk8;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;
mod weights;
mod weights8;

pub use activations::{Activations, HeadGradients, Heads, Scratch};
pub use backward::backward;
pub use forward::{forward, move_heads};
pub use isa::Isa;
pub use prefetch::prefetch;
pub use weights::Weights;

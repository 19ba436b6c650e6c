//! The network on the CPU, by hand: the forward pass that play uses and its gradient, which trains
//! several times faster on two cores than a general tensor library. The burn module of `net` says what
//! the right answers are; tests hold both to each other.
//!
//! `unsafe` stands in `isa` (calls of what is compiled for an instruction set), in `vector`, `rows` and
//! `attention` (kernels by row), in `matmul`, `int8`, `sixteen` and `fixed_basis` (products of floats, of bytes and of 16 bits), in `tiles`
//! (AMX), `quarters` and `moments` (sums of several vectors), which those are made of, in `fused` and `epilogues` (what training does between
//! products and with their sums), each time with its argument and a safe twin that tests compare it with, and in `prefetch` and `large_pages`, hints that change no result.

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

pub(crate) use activations::{Activations, HeadGradients, Heads, Scratch};
pub(crate) use backward::backward;
pub(crate) use forward::{forward, move_heads};
pub use isa::Isa;
pub use prefetch::prefetch;
pub(crate) use weights::Weights;

//! The network on the CPU, by hand: the forward pass for play, and its gradient, which trains several times
//! faster on two cores than a general tensor library. The burn module of `net` is the reference; tests compare
//! both. The kernels are in the crate [`kernels`].

mod activations;
pub(crate) mod backward;
mod dynamic_bias;
pub(crate) mod forward;
mod int8_trunk;
mod int8_weights;
mod layers;
mod multihead;
mod pieces;
pub mod profile;
mod relations;
mod weights;

pub use activations::{Activations, HeadGradients, Heads, Logits, Scratch};
pub use backward::backward;
pub use forward::{forward, move_heads};
pub use weights::Weights;

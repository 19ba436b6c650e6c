//! The network: value function, policy and world model in one (paper 000). No search, no training: that is the crate
//! `train`.
//!
//! # Data flow
//! ```text
//! Chess, moves ── encode ──► Encoded ──► trunk ──► tokens [64, width] ──► heads ──► logits
//!                                                                                     │
//!        Evaluation (value, WDL, action values, policy) ◄── evaluator::outputs ◄──────┤
//!        Imagined (next position, its moves) ◄── evaluator::world_model ◄─────────────┘
//! ```
//! `cpu` computes trunk and heads by hand, and their gradient, for play and training on a CPU. `net` defines the same network as a burn
//! module, for GPUs and as the reference of the tests. Both read one flat vector of parameters, laid out by
//! [`net::Layout`]; `checkpoint` stores it.
//!
//! # Heads
//! `n` positions, `k` moves each; `b` = 64 win-probability buckets.
//!
//! | head | logits | meaning |
//! |---|---|---|
//! | policy | `[n, k]` | which move to play |
//! | action value | `[n, k, b]` | win probability after each move |
//! | value | `[n, b]` | win probability |
//! | result | `[n, 3]` | the game will be lost, drawn, won |
//! | terminal | `[n, 3]` | the game is ongoing, lost, drawn |
//! | legality | `[n, 64, 64]` | (from, to) is a legal move; `[n, 64]`: moves from here promote |
//! | transition | `[n, 64, 16]` | the board after the marked action: piece classes and flags of each square |
//!
//! # Rooms
//! From the ground up; a room imports only rooms above it in this list.
//!
//! - [`kernels`], a crate of its own: all `unsafe` code; [`precision`] is there, too.
//! - [`rng`], [`unpack`], [`files`], [`numeric`]: no dependencies.
//! - [`encode`]: positions and moves as the network's input.
//! - [`net`], then [`cpu`], then [`parameter_file`] and [`checkpoint`]; [`device`] beside them.
//! - [`evaluator`]: the interface of the engine. [`Evaluator`] is the entry point.
//! - [`writer`] writes search trees as text, over boards that other code evaluates.
#![forbid(unsafe_code)]

pub mod checkpoint;
pub mod cpu;
pub mod device;
pub mod encode;
pub mod evaluator;
pub mod files;
pub mod net;
pub mod numeric;
pub mod parameter_file;
pub mod rng;
#[doc(hidden)]
pub mod testing;
pub mod unpack;
pub mod writer;

pub use evaluator::{EvalError, Evaluation, Evaluator, Imagined, Query, Refusal, Step, Transition};
pub use kernels::{self, by_isa, precision, precision::Arithmetic};

//! The network: value function, policy and world model in one (paper 000), its data and its training. No search.
//!
//! # Data flow
//! ```text
//! Chess, moves ── encode ──► Encoded ──► trunk ──► tokens [64, width] ──► heads ──► logits
//!                                                                                     │
//!        Evaluation (value, WDL, action values, policy) ◄── evaluator::outputs ◄──────┤
//!        Imagined (next position, its moves) ◄── evaluator::world_model ◄─────────────┘
//! ```
//! `cpu` computes trunk and heads by hand, for play and training on a CPU. `net` defines the same network as a burn
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
//! - [`rng`], [`precision`], [`files`], `numeric`: no dependencies.
//! - [`encode`]: positions and moves as the network's input.
//! - [`net`], then [`cpu`], then `parameter_file` and [`checkpoint`]; [`device`] beside them.
//! - [`data`]: labelled games and the stream of examples; [`metrics`] compares answers with labels.
//! - [`evaluator`]: the interface of the engine. [`Evaluator`] is the entry point.
//! - [`assess`] measures an evaluator on examples; [`train`] trains one.
//! - [`writer`] writes search trees as text, over boards that other code evaluates.
//! - [`nnue`]: a small, fast value network for alpha-beta searches, and its training.
#![deny(unsafe_code)]

pub mod assess;
pub mod checkpoint;
pub mod cpu;
pub mod data;
pub mod device;
pub mod encode;
pub mod evaluator;
pub mod files;
pub mod metrics;
pub mod net;
pub mod nnue;
mod numeric;
mod parameter_file;
pub mod precision;
pub mod rng;
pub mod train;
pub mod writer;

pub use evaluator::{EvalError, Evaluation, Evaluator, Imagined, Query, Refusal, Step, Transition};
pub use precision::Arithmetic;

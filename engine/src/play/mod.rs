//! From a position to a move: the engine behind the protocol, and the search without it.
//!
//! | room | what is in it |
//! |---|---|
//! | [`clock`] | how much time a move may use, its limits, the lag, the signals between GUI and search |
//! | [`network`] | which network answers; opened, measured, with a cache and a fallback |
//! | [`report`] | `info` lines |
//! | [`tree`] | what stays from one search to the next |
//! | [`players`] | players beside the tree search, and how any of them plays weaker or by lot |
//! | [`search`] | one search from `go` to `bestmove` |
//! | [`setup`], [`engine`] | what is given to the engine; position, options, networks and at most one search |
//! | [`analyst`], [`lineup`] | searches without the protocol, of one player or a team |
//!
//! Each room uses those above it. The positions after a move are [`crate::world`]'s.

pub mod analyst;
pub(crate) mod choices;
pub mod clock;
pub mod engine;
pub mod lineup;
pub mod network;
pub mod players;
pub mod report;
pub mod search;
pub mod setup;
pub mod tree;

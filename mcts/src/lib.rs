//! Lock-free Monte-Carlo tree search over any [`World`].

#![forbid(unsafe_code)]

mod audit;
mod backup;
mod batch;
mod compact;
mod node;
pub mod params;
mod pool;
pub mod puct;
mod rng;
mod root;
pub mod search;
mod select;
#[cfg(test)]
mod tests;
pub mod toy;
mod tree;
pub mod value;
pub mod world;

pub use audit::Audit;
pub use params::{FinalMove, Fpu, Params, VirtualValue};
pub use search::{Control, Flow, Line, Outcome, Searcher, Snapshot, View};
pub use value::Wdl;
pub use world::{Edge, Leaf, World};

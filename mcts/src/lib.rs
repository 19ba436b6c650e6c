//! Lock-free Monte-Carlo tree search over any [`World`].

pub mod search;
pub mod value;
pub mod world;

pub use search::{Control, Flow, Line, Outcome, Params, Searcher, Snapshot, View};
pub use value::Wdl;
pub use world::{Edge, Leaf, World};

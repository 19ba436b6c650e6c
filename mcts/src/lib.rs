//! Lock-free Monte-Carlo tree search over any [`World`]: no chess, no tensors, no unsafe code.
//!
//! A [`Searcher`] owns a tree. Its workers do **playouts**, a minibatch at a time, in four stages:
//!
//! 1. **Select** (`select`): clone the root's state and walk down, at each expanded node along the edge with
//!    the highest PUCT score (`puct`), stepping the state, to a node without an evaluation. One
//!    compare-exchange claims it. Virtual counts go on the path, most at the leaf, so that the next descent
//!    goes elsewhere. A minibatch is one leaf while the tree is small, and it is cut short rather than waited
//!    for.
//! 2. **Evaluate** (`worker`): evaluate all leaves of the minibatch in one call of the world. On the way to a device
//!    ([`Pipeline`]) the leaves of all workers wait in one `queue`: a free lane takes them as its batch, and the other
//!    workers select on.
//! 3. **Expand** (`finish`): publish the edges of each leaf.
//! 4. **Back up** (`backup`): add each leaf's value to every node of its path, flipped at each ply; the
//!    virtual counts come off in the same add. A game's end is a proof, and proofs travel up: one lost
//!    child wins, all children won loses.
//!
//! **The tree** (`tree`, `node`) is one reservation of 32-byte cells, all atomic words, addressed by 32-bit
//! indices. A node is one cell, its edges are a block of cells, a child exists once it is visited. A chess
//! position takes about 320 bytes. Workers append. When the memory is full they stop, compact the tree in place
//! (`compact`), keeping the most visited nodes, and continue. So a search may run indefinitely in any memory.
//! Re-rooting leaves garbage for the next compaction, and subtracts path ends of the longer path (`path_ends`).
//!
//! **Lock-free** means: selection, expansion and backup hold no lock and wait for no flag. The state of a
//! node only moves forward: Fresh, Claimed, then Expanded, Terminal, Refused or OutOfMemory. A descent
//! that meets a claimed leaf undoes itself (a collision). A worker without work sleeps until another has backed
//! up a minibatch, a millisecond at most.
//!
//! **Values** belong to the side to move of their own state; [`Wdl::flip`] is the only change of sign.
//! Scores are win probabilities in [0, 1].
//!
//! **The files**, from the ground up; none uses a file further down this list:
//!
//! | files | about |
//! |---|---|
//! | `value`, `world`, `params`, `rng`, `sync` | values, the game interface, all constants, seeded randomness, atomics |
//! | `node`, `tree`, `compact`, `path_ends`, `audit` | one node's words, the arena, its compaction, path-dependent ends, its invariants |
//! | `puct`, `root`, `line`, `stats`, `control`, `slot`, `queue`, `job`, `select`, `backup`, `finish` | formulas; the root's moves; best lines; counters; the caller's interface; one descent's leaf; leaves on their way to a device; shared state of workers; the descent; the backup; the end of playouts |
//! | `worker`, `pool`, `search` | one thread's minibatches, the threads, the [`Searcher`] |
//! | `toy`, `loom_models` | games for tests, every interleaving of small models |
//!
//! ```
//! use mcts::{Params, Patient, Searcher, toy::Nim};
//!
//! let mut searcher = Searcher::new(Params::default(), 1 << 20);
//! searcher.set_root([1, 2, 2]);
//! let outcome = searcher.run(&Nim, 1, Some(1000), &Patient);
//! assert_eq!(outcome.best, Some(0x0001), "take the single stone: 2 and 2 is lost for the opponent");
//! assert!(outcome.snapshot.lines[0].mate_plies.is_some());
//! ```

#![forbid(unsafe_code)]

mod audit;
mod backup;
mod compact;
mod control;
mod finish;
mod job;
mod line;
#[cfg(all(loom, test))]
mod loom_models;
mod node;
mod params;
mod path_ends;
mod pool;
mod puct;
mod queue;
mod rng;
mod root;
mod search;
mod select;
mod slot;
mod stats;
mod sync;
#[cfg(test)]
mod tests;
pub mod toy;
mod tree;
mod value;
mod worker;
mod world;

pub use audit::Audit;
pub use control::{Control, Patient, Snapshot, View};
pub use line::Line;
pub use params::{FinalMove, Fpu, Params, Pipeline, VirtualCounts};
pub use puct::Ranker;
pub use root::Race;
pub use search::{Ancestor, Outcome, Searcher};
pub use tree::RankedEdge;
pub use value::Wdl;
pub use world::{Edge, Leaf, World};

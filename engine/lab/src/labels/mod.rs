//! Labels by a strong engine: [`annotate`] evaluates a position's moves. [`label_job`] does so for many held-out positions,
//! [`label_file`] is their format. [`relabel`] labels positions of data files once more.
//!
//! The other files make training data from search trees: positions that a search evaluates, which differ from those of
//! games. [`harvest`] labels and stores them in parallel: moves that compete ([`fork_labels`]) at the end of random walks
//! ([`walk`]) in the tree search's tree, for the large network; [`quiet`] positions of the alpha-beta search, or all that
//! it evaluates ([`static_labels`]), for the small one.

pub mod annotate;
pub mod fork_labels;
pub mod harvest;
pub mod label_file;
pub mod label_job;
pub mod quiet;
pub mod relabel;
mod roots;
mod sampler;
pub mod static_labels;
pub mod successors;
pub mod walk;

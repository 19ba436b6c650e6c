//! Training data from search trees: positions that a search evaluates, which differ from those of games, labelled by
//! an annotator's short searches. [`harvest`] labels and stores them in parallel: moves that compete ([`fork_labels`])
//! at the end of random walks ([`walk`]) in the tree search's tree, for the large network; [`quiet`] positions of the
//! alpha-beta search, or all that it evaluates ([`static_labels`]), for the small one. [`relabel`] is another
//! source: positions of data files labelled once more.

pub mod fork_labels;
pub mod harvest;
pub mod quiet;
pub mod relabel;
mod roots;
mod sampler;
pub mod static_labels;
pub mod successors;
pub mod walk;

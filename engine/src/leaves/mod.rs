//! Training data from leaves of search trees: positions that a search asks the network about, which no game on file
//! holds, with the value and the move that an annotator's short search finds there. [`walk`] draws them,
//! [`harvest`] has many labelled and keeps them.

pub mod harvest;
pub mod walk;

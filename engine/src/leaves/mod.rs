//! Training data from search trees: positions that a search asks the network about, which no game on file holds,
//! with the values and the moves that an annotator's short searches find there. [`walk`] draws them, [`harvest`]
//! has many labelled and keeps them.

pub mod harvest;
pub mod walk;

//! Training data from search trees: positions that a search asks a network about, which no game on file holds,
//! with the values and the moves that an annotator's short searches find there. [`harvest`] has many labelled and keeps
//! them: [`competing`] moves on [`walk`]s through the tree search's tree, for the large network, or [`quiet`]
//! positions of the alpha-beta search, or all that it has [`asked`] about, for the small one.

pub mod asked;
pub mod competing;
pub mod harvest;
mod looks;
pub mod quiet;
mod roots;
pub mod successors;
pub mod walk;

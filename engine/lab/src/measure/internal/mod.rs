//! The internal search in the laboratory. [`lessons`] are the traces that teach a decoder minimax, [`weigh`] has those
//! that teach another to judge, from positions with deep labels; [`judged`] lets both write one trace. [`exam`] says how well
//! a decoder has learnt, [`survey`] how well it writes about positions of games, [`regret`] what its choices give away, and
//! [`node_values`] the evaluations of its nodes by another engine.

pub mod exam;
pub mod judged;
pub mod lessons;
pub mod node_values;
pub mod regret;
pub mod survey;
pub mod weigh;

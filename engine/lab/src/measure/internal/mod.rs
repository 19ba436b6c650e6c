//! The internal search in the laboratory. [`lessons`] are the traces that teach a decoder, [`exam`] measures how well it has
//! learnt, [`survey`] how well it writes about positions of games.

pub mod exam;
pub mod lessons;
pub mod survey;

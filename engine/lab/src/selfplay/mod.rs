//! Chess self-play (AlphaZero, paper 004): games of the network's tree search against itself, as training data.
//!
//! [`game`] plays one game, [`run`] many of them into a file, and [`gathered`] lets many games share the batches of a
//! GPU. [`search`] is for other games, too. Training is `mavka-lab train`'s, the gate `mavka-lab match`'s.

pub mod game;
pub mod gathered;
pub mod run;
pub mod search;

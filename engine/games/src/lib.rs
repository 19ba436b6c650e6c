//! Board games beside chess: Connect Four and Hex. Rules, exact solvers, and the tree search of `mcts` over them; no chess.
//!
//! | files | about |
//! |---|---|
//! | [`game`] | the trait of a game's rules |
//! | [`connect4`]; [`hex`], [`cells`] | the two games |
//! | [`solver`] | exact results: one alpha-beta search for both |
//! | [`world`], [`judges`] | a game as a world of the tree search; random games as evaluation |
//! | [`net`] | the network that judges positions, learned from nothing by the laboratory |
//! | [`player`] | chooses a move by tree search |
//! | [`board`], [`gtp`] | Connect Four in a terminal; Hex for HexGui |

#![forbid(unsafe_code)]

pub mod board;
pub mod cells;
pub mod connect4;
pub mod game;
pub mod gtp;
pub mod hex;
pub mod judges;
pub mod net;
pub mod player;
pub mod solver;
pub mod world;

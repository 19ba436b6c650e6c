//! The laboratory: what measures, compares, labels and trains. The product, `mavka`, knows nothing of it.
//!
//! | room | what is in it |
//! |---|---|
//! | [`conventional`] | the players of paper 002 without a network: minimax, alpha-beta, UCT |
//! | [`games`] | learning Connect Four and Hex by self-play |
//! | `diversity` | how players of a team differ |
//! | `league` | matches and leagues of UCI engines |
//! | `leaves` | training data: leaves of search trees, labelled by another engine |
//! | [`measure`] | puzzles, accuracy, imagination, tuning |
//! | `plots` | pictures of all of these |
//! | `players` | how the players of a chess network differ, and what they are paid for it |
//! | `selfplay` | games of the network against itself, as training data |
//! | `speed` | speed of the network, the tree and training |
//! | [`command`] | the command line; nothing imports it |

#![forbid(unsafe_code)]

pub mod command;
pub mod conventional;
mod diversity;
pub mod games;
mod league;
mod leaves;
pub mod measure;
mod players;
mod plots;
mod selfplay;
mod speed;

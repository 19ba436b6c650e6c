//! The laboratory: what measures, compares, labels and trains. The product, `mavka`, knows nothing of it.
//!
//! | room | what is in it |
//! |---|---|
//! | [`conventional`] | the players of paper 002 without a network: minimax, alpha-beta, UCT |
//! | [`games`] | learning Connect Four and Hex by self-play |
//! | `uci_client`, `openings`, `matches`, `league` | UCI engines as players; openings; matches; leagues |
//! | `labels` | labels by a strong engine: of held-out positions, of leaves of search trees, of data files again |
//! | [`measure`] | puzzles, accuracy, imagination, tuning |
//! | `diversity` | how players of a team differ, what they are paid for it, and what they find together |
//! | `plots` | pictures of all of these |
//! | `selfplay` | games of the network against itself, as training data |
//! | `speed` | speed of the network, the tree and training |
//! | [`command`] | the command line; nothing imports it |

#![forbid(unsafe_code)]

pub mod command;
pub mod conventional;
mod diversity;
pub mod games;
mod labels;
mod league;
mod matches;
pub mod measure;
mod openings;
mod plots;
mod selfplay;
mod speed;
mod spread;
mod uci_client;

//! The joint of the house: the executable a GUI loads, and the home of everything that needs search
//! *and* network.
//!
//! | room | what is in it |
//! |---|---|
//! | [`chess`] | moves, games, endings |
//! | [`syzygy`] | endgame tables |
//! | [`world`] | what the search takes to happen after a move: [`world::RulesWorld`], [`world::LearnedWorld`] |
//! | [`conventional`] | players without a network: minimax, alpha-beta, UCT |
//! | [`internal`] | the search tree that the network writes itself |
//! | [`play`] | from a position to a move: the [`Engine`], the search, the clock |
//! | [`uci`] | the loop between GUI and engine, the options |
//! | [`measure`] | speeds, signatures, puzzles, accuracy, imagination |
//! | [`league`] | matches and leagues of UCI engines |
//! | [`analyse`] | whole games with scores, better lines and glyphs |
//! | [`command`] | the command line; nothing imports it |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod analyse;
pub mod chess;
pub mod command;
pub mod conventional;
pub mod doctor;
pub mod files;
pub mod internal;
pub mod interrupt;
pub mod league;
pub mod measure;
pub mod play;
pub mod progress;
pub mod random;
pub mod stderr_log;
pub mod syzygy;
pub mod uci;
pub mod world;

pub use chess::action::Action;
pub use chess::game::Game;
pub use play::engine::{Engine, Setup};
pub use uci::run::{run, run_with};

//! The joint of the house: the executable a GUI loads, and the home of everything that needs search
//! *and* network.
//!
//! | room | what is in it |
//! |---|---|
//! | `errors`, `files`, `streams`, `fnv`, `workers`, `progress`, `interrupt`, `stderr_log` | what errors share, files that outlive a kill, standard input and output, a hash, threads, bars, Ctrl-C, the log |
//! | `markup` | boards and text as pages and pictures show them |
//! | [`chess`] | moves, games, endings, perft |
//! | [`syzygy`] | endgame tables |
//! | [`world`] | what the search takes to happen after a move: [`world::RulesWorld`], [`world::LearnedWorld`] |
//! | `alphabeta` | alpha-beta search with a small network of its own: a player beside the tree search |
//! | `conventional` | players without a network: minimax, alpha-beta, UCT |
//! | `internal` | the search tree that the network writes itself |
//! | [`play`] | from a position to a move: the [`Engine`], the search, the clock |
//! | [`uci`] | the loop between GUI and engine, the options |
//! | `league` | matches and leagues of UCI engines |
//! | `leaves` | training data: leaves of search trees, labelled by another engine |
//! | [`measure`] | speeds, signatures, puzzles, accuracy, imagination |
//! | `analyse` | whole games with scores, better lines and glyphs |
//! | [`doctor`] | tries all that playing rests on |
//! | [`command`] | the command line; nothing imports it |
//!
//! Who embeds the engine talks UCI to an [`Engine`] or a [`run_with`], or asks a [`play::analyst::Analyst`] for lines.
//! The rooms without a link are nobody else's business.

#![forbid(unsafe_code)]

pub mod alphabeta;
mod analyse;
pub mod chess;
pub mod command;
pub mod conventional;
pub mod doctor;
mod errors;
mod files;
mod fnv;
mod internal;
mod interrupt;
mod league;
mod leaves;
mod markup;
pub mod measure;
pub mod play;
mod progress;
mod stderr_log;
mod streams;
pub mod syzygy;
pub mod uci;
mod workers;
pub mod world;

pub use chess::action::Action;
pub use chess::game::Game;
pub use play::engine::{Engine, Setup};
pub use uci::run::{run, run_with};

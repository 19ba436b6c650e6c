//! The joint of the house: the executable a GUI loads, and the home of everything that needs search
//! *and* network.
//!
//! | room | what is in it |
//! |---|---|
//! | [`process`] | the process and its machine: files that outlive a kill, standard input and output, threads, memory, time, Ctrl-C, the log |
//! | [`fnv`], [`team`] | a hash; which player of a team moves |
//! | [`output`], [`options`] | the one writer to the GUI, the options and their values |
//! | [`markup`] | boards and text as pages and pictures show them |
//! | [`pgn`] | games of PGN files, in any spelling |
//! | [`world`] | what the search takes to happen after a move: [`world::RulesWorld`], [`world::LearnedWorld`] |
//! | [`internal`] | the search tree that the network writes itself |
//! | [`play`] | from a position to a move: the [`Engine`], the search, the clock |
//! | [`uci`] | the loop between GUI and engine |
//! | [`eval`] | what the network sees in one position, and the boards that it imagines |
//! | [`mod@bench`] | the signature of what plays, and its speed |
//! | [`analyse`] | whole games with scores, better lines and glyphs |
//! | [`terminal`] | a game against the engine in a terminal |
//! | [`doctor`] | tries all that playing rests on |
//! | [`command`] | the command line; nothing imports it |
//!
//! A program that embeds the engine talks UCI to an [`Engine`] or a [`run_with`], or asks a [`play::analyst::Analyst`] for lines.
//! The laboratory (`engine/lab`) uses the rest.

#![forbid(unsafe_code)]

pub mod analyse;
pub mod bench;
pub mod command;
pub mod doctor;
pub mod eval;
pub mod fnv;
pub mod internal;
pub mod markup;
pub mod options;
pub mod output;
pub mod pgn;
pub mod play;
pub mod process;
pub mod team;
pub mod terminal;
pub mod uci;
pub mod world;

pub use chess::action::Action;
pub use chess::game::Game;
pub use play::engine::Engine;
pub use play::setup::Setup;
pub use uci::run::{run, run_with};

//! The joint of the house: the executable a GUI loads, and the home of everything that needs search
//! *and* network.
//!
//! A line from the GUI comes in through [`mod@run`], is typed by `uci`, and reaches the [`Engine`]. `go`
//! starts a [`search`] on its own thread: a [`world::RulesWorld`] (rules from shakmaty, judgement from
//! `nn`) or a [`world::LearnedWorld`] (`nn` alone) under `mcts`, ended by its [`stopper`], reported by [`report`]. What may be set is one table,
//! [`options`]; how long a move may take is arithmetic, [`clock`]; which network answers is one file,
//! [`network`].
//!
//! What measures an engine from outside: the [`league`] plays matches, [`puzzles`] counts what it solves,
//! [`rollout`] is the baseline that everything must beat.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod action;
pub mod clock;
pub mod command;
pub mod direct;
pub mod engine;
pub mod game;
pub mod host;
pub mod league;
pub mod limits;
pub mod network;
pub mod options;
pub mod output;
pub mod puzzles;
pub mod random;
pub mod report;
pub mod rollout;
pub mod run;
pub mod search;
pub mod signal;
pub mod stderr_log;
pub mod stopper;
pub mod tree;
pub mod variety;
pub mod warm_up;
pub mod world;

pub use action::Action;
pub use engine::{Engine, Setup};
pub use game::Game;
pub use run::{run, run_with};

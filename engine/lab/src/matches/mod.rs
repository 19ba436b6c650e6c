//! Matches between UCI engines, played and refereed here, and the stage on which leagues play, too. Engines are not
//! trusted: every move is checked by the rules, clocks are kept here.
//!
//! [`game`] referees between two clients of [`crate::uci_client`] on the [`stage`]. A match ([`runner`]) counts results in
//! a [`tally`], with statistics by [`elo`], [`sprt`] and [`clocks`], and output by [`pgn`] and [`csv`].

pub mod clocks;
pub mod csv;
pub mod elo;
pub mod game;
pub mod pgn;
pub mod rules;
pub mod runner;
pub mod sprt;
pub mod stage;
pub mod tally;

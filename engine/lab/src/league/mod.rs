//! Matches and leagues between UCI engines, played and refereed here. A *client* of the protocol: independent of
//! search and networks, so that any engine can play.
//!
//! Games are played on the [`stage`]: [`openings`] has the initial positions, [`game`] referees between two
//! [`player`]s connected by a [`transport`]. A *match* ([`runner`]) counts results in a [`tally`], with statistics by
//! [`elo`], [`sprt`] and [`clocks`], and output by [`pgn`] and [`csv`]. A *league* is configured by [`config`]; a
//! [`tournament`] uses [`pairing`], [`book`] and [`journal`], with statistics by [`ratings`] and [`standings`] and
//! output by [`report`].
//!
//! Engines are not trusted: every move is checked by the rules, clocks are kept here.

pub mod book;
pub mod clocks;
pub mod config;
pub mod csv;
pub mod elo;
pub mod game;
pub mod journal;
pub mod limit;
pub mod openings;
pub mod pairing;
pub mod pgn;
pub mod player;
pub mod ratings;
pub mod report;
pub mod rules;
pub mod runner;
pub mod sprt;
pub mod stage;
pub mod standings;
pub mod tally;
pub mod tournament;
pub mod transport;

#[cfg(test)]
pub(crate) mod fake;

pub use limit::Limit;
pub use openings::Opening;
pub use player::{Fault, Player, SearchAnswer, Timeouts};
pub use rules::Seat;
pub use runner::Match;
pub use transport::{Process, Transport};

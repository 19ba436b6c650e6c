//! The league: games between UCI engines, played and refereed here. It is a *client* of the
//! protocol and knows nothing of search or networks, so any engine can sit on either chair.
//!
//! Every game is played on the [`stage`]: [`openings`] has the starts, [`game`] referees between two
//! [`player`]s, who talk over a [`transport`]. A *match* ([`runner`]) counts two players in a [`tally`],
//! [`elo`] and [`sprt`] judge, [`clocks`] watch, [`pgn`] and [`csv`] remember. A *league* is read by [`config`]; a [`tournament`] asks
//! [`pairing`] who meets whom; [`book`] and [`journal`] remember; [`ratings`] and [`standings`] judge;
//! [`report`] shows.
//!
//! The engines are never trusted: every move is checked by the rules, every clock is kept here.

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
pub use player::{Fault, Patience, Player, Thought};
pub use rules::Seat;
pub use runner::Match;
pub use transport::{Process, Transport};

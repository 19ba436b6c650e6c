//! The league: matches between UCI engines, played and refereed here. It is a *client* of the
//! protocol and knows nothing of search or networks, so any engine can sit on either chair.
//!
//! A match goes through these rooms:
//! [`openings`] picks the starts → [`runner`] hands each start to a worker, twice, with colours
//! exchanged → [`game`] referees one game between two [`player`]s, who talk over a [`transport`] →
//! [`tally`] counts, [`elo`] judges, [`pgn`] and [`csv`] remember.
//!
//! The engines are never trusted: every move is checked by the rules, every clock is kept here.

pub mod csv;
pub mod elo;
pub mod game;
pub mod limit;
pub mod openings;
pub mod pgn;
pub mod player;
pub mod rules;
pub mod runner;
pub mod tally;
pub mod transport;

#[cfg(test)]
pub(crate) mod fake;

pub use elo::Judgement;
pub use limit::Limit;
pub use openings::Opening;
pub use player::{Fault, Patience, Player};
pub use rules::{Ending, Played, Rules, Seat};
pub use runner::Match;
pub use tally::Tally;
pub use transport::{Process, Transport};

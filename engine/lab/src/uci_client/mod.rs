//! A client of UCI engines, independent of search and networks, so that any engine can play: a [`player`] connected by a
//! [`transport`] searches under a [`limit`].

pub mod answer;
#[cfg(test)]
pub(crate) mod fake;
pub mod limit;
pub mod player;
pub mod transport;

pub use answer::SearchAnswer;
pub use limit::Limit;
pub use player::{Fault, Player, Timeouts};
pub use transport::{Process, Transport};

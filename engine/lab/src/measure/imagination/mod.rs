//! How far the world that the network imagines holds: [`survey`] counts over many lines and searches, ply by ply.

mod counts;
mod game_probe;
mod plot;
mod search_probe;
pub mod survey;

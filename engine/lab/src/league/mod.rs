//! Leagues of UCI engines: [`config`] describes one, a [`tournament`] plays it by [`pairing`], [`book`] and [`journal`],
//! with statistics by [`ratings`] and [`standings`] and output by [`report`].

pub mod book;
pub mod config;
pub mod journal;
pub mod pairing;
pub mod ratings;
pub mod report;
pub mod standings;
pub mod tournament;

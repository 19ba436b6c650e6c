//! A match: pairs of games between two engines, played on the [`Stage`].

use super::rules::{PlayedGame, Rules, Seat};
use super::sprt::{Sprt, SprtVerdict};
use super::stage::{Job, Schedule, Stage};
use super::tally::Tally;
use crate::openings::Opening;
use crate::uci_client::limit::Limit;
use crate::uci_client::player::{Fault, Player};
use crate::uci_client::transport::Transport;
use shakmaty::ByColor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Configuration of a match, without the engines.
#[derive(Clone, Debug)]
pub struct Match {
    /// Used cyclically; the standard initial position if empty.
    pub openings: Vec<Opening>,
    /// A pair is one opening, played with both colours.
    pub games: usize,
    pub concurrency: usize,
    /// Limits of the first and the second player.
    pub limits: [Limit; 2],
    pub rules: Rules,
    /// Sequential test that may end the match early.
    pub sprt: Option<Sprt>,
    /// Set from outside to end the match; aborted games do not count.
    pub stop: Arc<AtomicBool>,
}

/// A finished game.
#[derive(Debug)]
pub struct FinishedGame<'a> {
    /// Number of its pair, from 0.
    pub pair: usize,
    pub white: Seat,
    pub opening: &'a Opening,
    pub played: &'a PlayedGame,
    pub limits: ByColor<Limit>,
    /// Including this game.
    pub tally: &'a Tally,
}

/// Result of a match.
#[derive(Clone, Debug)]
pub struct MatchResult {
    pub tally: Tally,
    pub verdict: Option<SprtVerdict>,
    /// An engine could not be (re)started; earlier games count.
    pub fault: Option<Fault>,
}

/// Seats by agent index.
const SEATS: [Seat; 2] = [Seat::First, Seat::Second];

impl Match {
    /// Plays all games. `seat` starts an engine, on any thread; `listen` is called on this thread for each game in
    /// order of completion, and ends the match by returning false. Blocks.
    pub fn run<T, S>(&self, seat: S, listen: impl FnMut(FinishedGame<'_>) -> bool) -> MatchResult
    where
        T: Transport,
        S: Fn(Seat) -> Result<Player<T>, Fault> + Sync,
    {
        let mut count = MatchState {
            plan: self,
            listen,
            number: 0,
            over: false,
            tally: Tally::default(),
            verdict: None,
        };
        let concurrency = self.concurrency.clamp(1, self.games.max(1));
        let stage = Stage { concurrency, kept: SEATS.len(), rules: self.rules };
        let fault = stage.run(&mut count, |agent| seat(SEATS[agent % SEATS.len()]));
        MatchResult { tally: count.tally, verdict: count.verdict, fault }
    }
}

/// State of a match.
struct MatchState<'a, L> {
    plan: &'a Match,
    listen: L,
    /// Number of the next game.
    number: usize,
    over: bool,
    tally: Tally,
    verdict: Option<SprtVerdict>,
}

impl<L> MatchState<'_, L> {
    fn stopped(&self) -> bool {
        // Relaxed: the flag publishes nothing else.
        self.plan.stop.load(Ordering::Relaxed)
    }
}

impl<L: FnMut(FinishedGame<'_>) -> bool> Schedule for MatchState<'_, L> {
    fn next(&mut self) -> Option<Job> {
        if self.over || self.stopped() || self.number >= self.plan.games {
            return None;
        }
        let (pair, game) = (self.number / 2, self.number % 2);
        self.number += 1;
        let openings = &self.plan.openings;
        let [first, second] = self.plan.limits;
        let (agents, limits) = match game {
            0 => (ByColor { white: 0, black: 1 }, ByColor { white: first, black: second }),
            _ => (ByColor { white: 1, black: 0 }, ByColor { white: second, black: first }),
        };
        let opening = match openings.len() {
            0 => Opening::default(),
            count => openings[pair % count].clone(),
        };
        Some(Job { pair, game, agents, limits, opening, seed: None })
    }

    fn finished(&mut self, job: Job, played: PlayedGame) {
        if self.stopped() && played.ending.termination() == "abandoned" {
            return;
        }
        let white = SEATS[job.agents.white];
        self.tally.book(job.pair, white, &played);
        let go_on = (self.listen)(FinishedGame {
            pair: job.pair,
            white,
            opening: &job.opening,
            played: &played,
            limits: job.limits,
            tally: &self.tally,
        });
        self.verdict = self.verdict.or_else(|| self.plan.sprt?.verdict(&self.tally.pairs));
        self.over |= !go_on || self.verdict.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::super::sprt::BoundUnit;
    use super::*;
    use crate::openings;
    use crate::uci_client::fake::first_mover;
    use std::sync::atomic::AtomicUsize;

    fn a_match(games: usize) -> Match {
        Match {
            openings: vec![],
            games,
            concurrency: 2,
            limits: [Limit::Nodes(1), Limit::Nodes(2)],
            rules: Rules { max_plies: 6, ..Rules::default() },
            sprt: None,
            stop: Arc::default(),
        }
    }

    #[test]
    fn a_raised_flag_ends_the_match() {
        let games = Match { concurrency: 1, ..a_match(10) };
        let end = games.run(
            |_| first_mover(None),
            |report| {
                games.stop.store(report.pair == 1, Ordering::Relaxed);
                true
            },
        );
        assert!(end.fault.is_none());
        assert_eq!(end.tally.games(), 3);
    }

    #[test]
    fn all_games_are_played_in_pairs() {
        let text = "4k3/8/8/8/8/8/8/R3K3 w - - 0 1\n4k3/8/8/8/8/8/8/1R2K3 w - - 0 1\n";
        let games = Match { openings: openings::read(text, false).unwrap(), ..a_match(6) };
        let mut seen = vec![];
        let end = games.run(
            |_| first_mover(None),
            |report| {
                seen.push((report.pair, report.white, report.opening.line));
                true
            },
        );
        assert!(end.fault.is_none());
        seen.sort_by_key(|&(pair, white, _)| (pair, white == Seat::Second));
        let (first, second) = (Seat::First, Seat::Second);
        assert_eq!(
            seen,
            [
                (0, first, 1),
                (0, second, 1),
                (1, first, 2),
                (1, second, 2),
                (2, first, 1),
                (2, second, 1)
            ]
        );
        assert_eq!(end.tally.pairs, [0, 0, 3, 0, 0]);
        assert_eq!(end.tally.adjudicated, 6);
    }

    #[test]
    fn crashed_engine_loses_and_comes_back() {
        let births = AtomicUsize::new(0);
        let end = Match { concurrency: 1, ..a_match(4) }.run(
            |seat| match seat {
                Seat::First => first_mover(None),
                Seat::Second => {
                    births.fetch_add(1, Ordering::Relaxed);
                    first_mover(Some("EOF"))
                }
            },
            |_| true,
        );
        assert_eq!(end.tally.wins, 4);
        assert_eq!(end.tally.second.crashes, 4);
        assert_eq!(births.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn illegal_mover_loses_and_stays() {
        let births = AtomicUsize::new(0);
        let end = Match { concurrency: 1, ..a_match(4) }.run(
            |seat| match seat {
                Seat::First => {
                    births.fetch_add(1, Ordering::Relaxed);
                    first_mover(Some("bestmove e2e5"))
                }
                Seat::Second => first_mover(None),
            },
            |_| true,
        );
        assert_eq!(end.tally.losses, 4);
        assert_eq!(end.tally.first.illegal_moves, 4);
        assert_eq!(births.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn engine_that_does_not_start_ends_the_match() {
        let end = a_match(100).run(
            |seat| match seat {
                Seat::First => first_mover(None),
                Seat::Second => Err(Fault::Absent("no such file".to_owned())),
            },
            |_| true,
        );
        assert_eq!(end.fault, Some(Fault::Absent("no such file".to_owned())));
        assert_eq!(end.tally.games(), 0);
    }

    #[test]
    fn sequential_test_ends_the_match() {
        let test = Sprt { elo0: 0.0, elo1: 100.0, unit: BoundUnit::Logistic };
        let games = Match { sprt: Some(test), concurrency: 1, ..a_match(20_000) };
        let end = games.run(
            |seat| match seat {
                Seat::First => first_mover(None),
                Seat::Second => first_mover(Some("bestmove e2e5")),
            },
            |_| true,
        );
        assert_eq!(end.verdict, Some(SprtVerdict::Accepted));
        assert!(end.tally.games() < 100, "{}", end.tally.games());
    }

    #[test]
    fn listener_can_end_the_match() {
        let end = Match { concurrency: 1, ..a_match(20_000) }.run(|_| first_mover(None), |_| false);
        assert!(end.tally.games() < 1000, "{}", end.tally.games());
    }
}

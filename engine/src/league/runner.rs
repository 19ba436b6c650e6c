//! The match: pairs of games handed to workers, each worker with two engines of its own. Results come
//! back to the calling thread, which alone counts and writes.

use super::elo::{Sprt, Verdict};
use super::game;
use super::limit::Limit;
use super::openings::Opening;
use super::player::{Fault, Player};
use super::rules::{Played, Rules, Seat};
use super::tally::Tally;
use super::transport::Transport;
use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use shakmaty::ByColor;
use std::thread;

/// Everything about a match but the engines.
#[derive(Clone, Debug)]
pub struct Match {
    /// Used in turn, again from the start when they run out; the initial position if there are none.
    pub openings: Vec<Opening>,
    /// Each pair is one opening, played with both colours.
    pub games: usize,
    pub concurrency: usize,
    /// Of the first and the second player.
    pub limits: [Limit; 2],
    pub rules: Rules,
    /// Ends the match early.
    pub sprt: Option<Sprt>,
}

/// A game on its way to a worker.
#[derive(Clone, Copy, Debug)]
struct Job {
    number: usize,
}

impl Job {
    fn pair(self) -> usize {
        self.number / 2
    }

    fn white(self) -> Seat {
        if self.number.is_multiple_of(2) { Seat::First } else { Seat::Second }
    }
}

/// A finished game on its way back.
#[derive(Debug)]
pub struct Report<'a> {
    /// From 0.
    pub pair: usize,
    pub white: Seat,
    pub opening: &'a Opening,
    pub played: &'a Played,
    pub limits: ByColor<Limit>,
    /// With this game in it.
    pub tally: &'a Tally,
}

/// How the match ended.
#[derive(Clone, Debug)]
pub struct Conclusion {
    pub tally: Tally,
    pub verdict: Option<Verdict>,
    /// An engine could not be started (again); the games before it count.
    pub fault: Option<Fault>,
}

impl Match {
    /// Plays all games. `seat` starts an engine, on any thread; `listen` hears of each game, on this one,
    /// in the order of completion, and ends the match by returning false. Blocks.
    pub fn run<T, S>(&self, seat: S, mut listen: impl FnMut(Report<'_>) -> bool) -> Conclusion
    where
        T: Transport,
        S: Fn(Seat) -> Result<Player<T>, Fault> + Sync,
    {
        let (jobs, queue) = unbounded();
        for number in 0..self.games {
            // The queue is held below, so this cannot fail.
            let _ = jobs.send(Job { number });
        }
        drop(jobs);
        // Hand to hand: no worker runs ahead of a decision to end the match.
        let (results, finished) = bounded(0);
        let initial = Opening::default();
        let mut tally = Tally::default();
        let mut verdict = None;
        let mut fault = None;
        thread::scope(|scope| {
            for _ in 0..self.concurrency.clamp(1, self.games.max(1)) {
                let (queue, results, seat, initial) =
                    (queue.clone(), results.clone(), &seat, &initial);
                scope.spawn(move || self.work(seat, initial, &queue, &results));
            }
            drop(results);
            for (job, result) in &finished {
                let played: Played = match result {
                    Ok(played) => played,
                    Err(error) => {
                        fault.get_or_insert(error);
                        discard(&queue);
                        continue;
                    }
                };
                tally.book(job.pair(), job.white(), &played);
                let go_on = listen(Report {
                    pair: job.pair(),
                    white: job.white(),
                    opening: self.opening(job, &initial),
                    played: &played,
                    limits: self.limits(job),
                    tally: &tally,
                });
                verdict = verdict.or_else(|| self.sprt?.verdict(&tally.pairs));
                if !go_on || verdict.is_some() {
                    discard(&queue);
                }
            }
        });
        Conclusion { tally, verdict, fault }
    }

    fn opening<'a>(&'a self, job: Job, initial: &'a Opening) -> &'a Opening {
        match self.openings.len() {
            0 => initial,
            count => &self.openings[job.pair() % count],
        }
    }

    fn limits(&self, job: Job) -> ByColor<Limit> {
        let [first, second] = self.limits;
        match job.white() {
            Seat::First => ByColor { white: first, black: second },
            Seat::Second => ByColor { white: second, black: first },
        }
    }

    /// One worker: two engines, game after game.
    fn work<T, S>(
        &self,
        seat: &S,
        initial: &Opening,
        queue: &Receiver<Job>,
        results: &Sender<(Job, Result<Played, Fault>)>,
    ) where
        T: Transport,
        S: Fn(Seat) -> Result<Player<T>, Fault> + Sync,
    {
        let mut first = None;
        let mut second = None;
        for job in queue {
            let result = seated(&mut first, || seat(Seat::First)).and_then(|first| {
                let second = seated(&mut second, || seat(Seat::Second))?;
                let players = match job.white() {
                    Seat::First => ByColor { white: first, black: second },
                    Seat::Second => ByColor { white: second, black: first },
                };
                game::play(players, self.opening(job, initial), self.limits(job), &self.rules)
            });
            // A lost engine is started anew; one that only broke the rules or its time stays.
            for chair in [&mut first, &mut second] {
                chair.take_if(|player| player.is_lost());
            }
            if results.send((job, result)).is_err() {
                return;
            }
        }
    }
}

/// The player on this chair, called in if it is empty.
fn seated<T: Transport>(
    chair: &mut Option<Player<T>>,
    call: impl FnOnce() -> Result<Player<T>, Fault>,
) -> Result<&mut Player<T>, Fault> {
    let player = match chair.take() {
        Some(player) => player,
        None => call()?,
    };
    Ok(chair.insert(player))
}

fn discard(queue: &Receiver<Job>) {
    while queue.try_recv().is_ok() {}
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::super::openings;
    use super::super::player::Patience;
    use super::*;
    use crate::chess::game::Game;
    use shakmaty::{Chess, Position};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn a_match(games: usize) -> Match {
        Match {
            openings: vec![],
            games,
            concurrency: 2,
            limits: [Limit::Nodes(1), Limit::Nodes(2)],
            rules: Rules { max_plies: 6, ..Rules::default() },
            sprt: None,
        }
    }

    /// Plays the first legal move of the position it is given, but for the trick at its first `go`.
    fn first_mover(trick: Option<&'static str>) -> Result<Player<Fake>, Fault> {
        let mut position = Chess::default();
        let fake = Fake::polite(move |line| {
            let mut words = line.split(' ');
            match words.next() {
                Some("position") => {
                    let (start, moves) = line.split_once(" moves ").unwrap_or((line, ""));
                    position = match start.strip_prefix("position fen ") {
                        Some(fen) => Game::from_fen(fen, false).unwrap().position().clone(),
                        None => Chess::default(),
                    };
                    for word in moves.split_ascii_whitespace() {
                        let action: shakmaty::uci::UciMove = word.parse().unwrap();
                        position.play_unchecked(action.to_move(&position).unwrap());
                    }
                    vec![]
                }
                Some("go") => {
                    let best = position.legal_moves()[0];
                    let text = match trick {
                        Some(trick) => trick.to_owned(),
                        None => {
                            format!("bestmove {}", best.to_uci(shakmaty::CastlingMode::Standard))
                        }
                    };
                    vec![(1, text)]
                }
                _ => vec![],
            }
        });
        Player::greet(fake, &[], Patience::default())
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
        let test = Sprt { elo0: 0.0, elo1: 100.0 };
        let games = Match { sprt: Some(test), concurrency: 1, ..a_match(20_000) };
        let end = games.run(
            |seat| match seat {
                Seat::First => first_mover(None),
                Seat::Second => first_mover(Some("bestmove e2e5")),
            },
            |_| true,
        );
        assert_eq!(end.verdict, Some(Verdict::Accepted));
        assert!(end.tally.games() < 100, "{}", end.tally.games());
    }

    #[test]
    fn listener_can_end_the_match() {
        let end = Match { concurrency: 1, ..a_match(20_000) }.run(|_| first_mover(None), |_| false);
        assert!(end.tally.games() < 1000, "{}", end.tally.games());
    }
}

//! Distributes games to workers, each with its own engines. A [`Schedule`] chooses games one at a time, so that a
//! choice may depend on earlier results; results return to the calling thread, which counts and writes.
//! `workers::deal` cannot be used: it needs all tasks in advance.

use super::game::{self, Start};
use super::rules::{PlayedGame, Rules};
use crate::openings::Opening;
use crate::uci_client::limit::Limit;
use crate::uci_client::player::{Fault, Player};
use crate::uci_client::transport::Transport;
use crossbeam::channel::{Receiver, Sender, unbounded};
use shakmaty::{ByColor, Color};
use std::thread;

/// A game to play.
#[derive(Clone, Debug)]
pub struct Job {
    /// Number of its pair, from 0: one opening, played with both colours.
    pub pair: usize,
    /// Index in the pair, 0 or 1.
    pub game: usize,
    /// Indices of the agents.
    pub agents: ByColor<usize>,
    /// Limits of both.
    pub limits: ByColor<Limit>,
    /// Initial position.
    pub opening: Opening,
    /// Seed for engines that draw moves at random.
    pub seed: Option<u64>,
}

/// Chooses games and receives results. Called by one thread.
pub trait Schedule {
    /// The next game; None if there is none until another one ends.
    fn next(&mut self) -> Option<Job>;

    /// Called at the end of a game.
    fn finished(&mut self, job: Job, played: PlayedGame);
}

/// Execution parameters.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Number of concurrent games; at least one.
    pub concurrency: usize,
    /// Engines that a worker keeps running between games; at least two.
    pub kept: usize,
    /// Rules of the referee.
    pub rules: Rules,
}

impl Stage {
    /// Plays until the schedule is exhausted. `start` starts the agent of an index, on any thread. Blocks. Returns the
    /// fault of an engine that could not be started, which ends the play.
    pub fn run<T, S>(&self, schedule: &mut dyn Schedule, start: S) -> Option<Fault>
    where
        T: Transport,
        S: Fn(usize) -> Result<Player<T>, Fault> + Sync,
    {
        let workers = self.concurrency.max(1);
        let mut fault = None;
        thread::scope(|scope| {
            let (jobs, queue) = unbounded();
            let (results, finished) = unbounded();
            for _ in 0..workers {
                let (queue, results, start) = (queue.clone(), results.clone(), &start);
                scope.spawn(move || self.work(start, &queue, &results));
            }
            drop(results);
            let mut under_way = 0;
            loop {
                // No prefetching of games: the schedule may decide to end.
                while fault.is_none() && under_way < workers {
                    let Some(job) = schedule.next() else { break };
                    // Cannot fail: the queue lives longer.
                    under_way += usize::from(jobs.send(job).is_ok());
                }
                if under_way == 0 {
                    break;
                }
                let Ok((job, result)) = finished.recv() else { break };
                under_way -= 1;
                match result {
                    Ok(played) => schedule.finished(job, played),
                    Err(error) => fault = fault.take().or(Some(error)),
                }
            }
        });
        fault
    }

    /// A worker's loop.
    fn work<T, S>(
        &self,
        start: &S,
        queue: &Receiver<Job>,
        results: &Sender<(Job, Result<PlayedGame, Fault>)>,
    ) where
        T: Transport,
        S: Fn(usize) -> Result<Player<T>, Fault> + Sync,
    {
        let mut engines = Engines { running: Vec::new(), kept: self.kept.max(2) };
        for job in queue {
            let result = engines.play(&job, &self.rules, start);
            if results.send((job, result)).is_err() {
                return;
            }
        }
    }
}

/// Running engines of one worker, most recently used last.
struct Engines<T: Transport> {
    running: Vec<(usize, Player<T>)>,
    kept: usize,
}

impl<T: Transport> Engines<T> {
    fn play<S>(&mut self, job: &Job, rules: &Rules, start: &S) -> Result<PlayedGame, Fault>
    where
        S: Fn(usize) -> Result<Player<T>, Fault>,
    {
        let mut players = Vec::with_capacity(2);
        for color in Color::ALL {
            let agent = job.agents[color];
            players.push((agent, self.take(agent).map_or_else(|| start(agent), Ok)?));
        }
        let result = match players.as_mut_slice() {
            [(_, white), (_, black)] => game::play(
                ByColor { white, black },
                &Start { opening: &job.opening, limits: job.limits, seed: job.seed },
                rules,
            ),
            _ => Err(Fault::Absent("a game has two players".to_owned())),
        };
        // A lost engine is restarted; one that broke the rules or its time limit is kept.
        self.running.extend(players.into_iter().filter(|(_, player)| !player.is_lost()));
        let surplus = self.running.len().saturating_sub(self.kept);
        self.running.drain(..surplus);
        result
    }

    fn take(&mut self, agent: usize) -> Option<Player<T>> {
        let place = self.running.iter().position(|(number, _)| *number == agent)?;
        Some(self.running.remove(place).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uci_client::fake::first_mover;
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    /// A number of games between agents in turn; records concurrency.
    struct Turns {
        left: usize,
        agents: usize,
        under_way: usize,
        most: usize,
        done: BTreeSet<usize>,
    }

    impl Schedule for Turns {
        fn next(&mut self) -> Option<Job> {
            self.left = self.left.checked_sub(1)?;
            self.under_way += 1;
            self.most = self.most.max(self.under_way);
            let white = self.left % self.agents;
            let limit = Limit::Nodes(1);
            Some(Job {
                pair: self.left,
                game: 0,
                agents: ByColor { white, black: (white + 1) % self.agents },
                limits: ByColor { white: limit, black: limit },
                opening: Opening::default(),
                seed: None,
            })
        }

        fn finished(&mut self, job: Job, _played: PlayedGame) {
            self.under_way -= 1;
            self.done.insert(job.pair);
        }
    }

    fn stage(concurrency: usize, kept: usize) -> Stage {
        Stage { concurrency, kept, rules: Rules { max_plies: 4, ..Rules::default() } }
    }

    fn turns(games: usize) -> Turns {
        Turns { left: games, agents: 3, under_way: 0, most: 0, done: BTreeSet::new() }
    }

    #[test]
    fn every_game_is_played_once_and_no_more_at_a_time_than_allowed() {
        for concurrency in [1, 3] {
            let mut schedule = turns(20);
            let fault = stage(concurrency, 2).run(&mut schedule, |_| first_mover(None));
            assert_eq!(fault, None);
            assert_eq!(schedule.done.len(), 20);
            assert_eq!((schedule.under_way, schedule.most), (0, concurrency));
        }
    }

    #[test]
    fn engines_are_kept_between_games_as_far_as_there_is_room() {
        let births = |kept| {
            let started = Mutex::new(Vec::new());
            stage(1, kept).run(&mut turns(9), |agent| {
                started.lock().unwrap().push(agent);
                first_mover(None)
            });
            started.into_inner().unwrap().len()
        };
        assert_eq!(births(3), 3, "three agents, three starts");
        assert_eq!(births(2), 10, "each game needs the one that has just left");
    }

    #[test]
    fn an_engine_that_does_not_start_ends_the_play() {
        let mut schedule = turns(20);
        let fault = stage(1, 3).run(&mut schedule, |agent| match agent {
            0 => Err(Fault::Absent("gone".to_owned())),
            _ => first_mover(None),
        });
        assert_eq!(fault, Some(Fault::Absent("gone".to_owned())));
        assert!(schedule.done.len() < 3, "{:?}", schedule.done);
    }
}

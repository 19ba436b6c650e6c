//! The stage: games handed to workers, each worker with engines of its own. Which game comes next is a
//! [`Schedule`]'s to say, one game at a time, so that a choice can rest on the results before it; results
//! come back to the calling thread, which alone counts and writes. `workers::deal` cannot serve here: it
//! wants all tasks at the beginning, and the next game may depend on the results so far.

use super::game::{self, Start};
use super::limit::Limit;
use super::openings::Opening;
use super::player::{Fault, Player};
use super::rules::{Played, Rules};
use super::transport::Transport;
use crossbeam::channel::{Receiver, Sender, unbounded};
use shakmaty::{ByColor, Color};
use std::thread;

/// A game to be played.
#[derive(Clone, Debug)]
pub struct Job {
    /// Number of the pair, from 0: one opening, played with both colours.
    pub pair: usize,
    /// 0 or 1 within the pair.
    pub game: usize,
    /// Numbers of the agents.
    pub agents: ByColor<usize>,
    /// What each may spend.
    pub limits: ByColor<Limit>,
    /// Where the game begins.
    pub opening: Opening,
    /// For engines that draw moves at random.
    pub seed: Option<u64>,
}

/// Says which game comes next, and hears how each ended. Called by one thread.
pub trait Schedule {
    /// The next game to begin; None if there is none, at least until another one has ended.
    fn next(&mut self) -> Option<Job>;

    /// A game has ended.
    fn finished(&mut self, job: Job, played: Played);
}

/// How games are played.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Games at the same time; at least one.
    pub concurrency: usize,
    /// Engines that a worker keeps running between its games, at least two.
    pub kept: usize,
    /// What the referee applies.
    pub rules: Rules,
}

impl Stage {
    /// Plays until the schedule has no more games. `start` starts the agent of that number, on any thread.
    /// Blocks. The answer is why an engine could not be started, which ends the play.
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
                // No worker runs ahead of a decision to end: a game is given out when one is wanted.
                while fault.is_none() && under_way < workers {
                    let Some(job) = schedule.next() else { break };
                    // Cannot fail: the queue is held above.
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

    /// One worker: game after game, with the engines it has started.
    fn work<T, S>(
        &self,
        start: &S,
        queue: &Receiver<Job>,
        results: &Sender<(Job, Result<Played, Fault>)>,
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

/// The engines of one worker, those used last at the end.
struct Engines<T: Transport> {
    running: Vec<(usize, Player<T>)>,
    kept: usize,
}

impl<T: Transport> Engines<T> {
    fn play<S>(&mut self, job: &Job, rules: &Rules, start: &S) -> Result<Played, Fault>
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
        // A lost engine is started anew; one that only broke the rules or its time stays.
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
    use super::super::fake::first_mover;
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    /// So many games between agents in turn; remembers what was under way with what.
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

        fn finished(&mut self, job: Job, _played: Played) {
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

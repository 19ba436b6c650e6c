//! The answer to a search that ends late: on a busy machine the searching threads wait for a core. A thread that only sleeps
//! until the hard limit gets one sooner, and answers with the best move found so far.

use super::signal::Signal;
use chess::action::Action;
use mcts::Snapshot;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Watches the clock of one search.
pub struct Timekeeper<'a> {
    signal: &'a Signal,
    /// The last snapshot of the search.
    found: Mutex<Option<Snapshot<Action>>>,
    ended: AtomicBool,
}

impl<'a> Timekeeper<'a> {
    /// Nothing has been found yet.
    #[must_use]
    pub fn new(signal: &'a Signal) -> Self {
        Timekeeper { signal, found: Mutex::default(), ended: AtomicBool::new(false) }
    }

    /// The search would answer this now. A snapshot without a line is no answer.
    pub fn on_found(&self, snapshot: Snapshot<Action>) {
        if snapshot.lines.is_empty() {
            return;
        }
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        // Bound, so that its lock has ended before the signal's begins.
        let is_first = found().replace(snapshot).is_none();
        if is_first {
            self.signal.notify(|| {});
        }
    }

    /// Runs `search`. If it is not over a little after its hard limit, another thread gives the best found so far to
    /// `answer`; without any, as soon as there is one.
    pub fn watch<T>(
        &self,
        search: impl FnOnce() -> T,
        answer: impl FnOnce(Snapshot<Action>) + Send,
    ) -> T {
        if !self.signal.has_limit() {
            return search();
        }
        thread::scope(|scope| {
            let wait = || self.wait().map_or((), answer);
            let thread = thread::Builder::new().name("timekeeper".to_owned());
            if let Err(why) = thread.spawn_scoped(scope, wait) {
                log::warn!("the clock is kept by the searching threads alone: {why}");
            }
            // A panic ends the search, too.
            let _end = End(self);
            search()
        })
    }

    /// The snapshot to answer with; None if the search ends in time.
    fn wait(&self) -> Option<Snapshot<Action>> {
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: the signal's lock orders it.
        let has_ended = || self.ended.load(Ordering::Relaxed);
        self.signal.wait_until(|is_late| has_ended() || is_late && found().is_some());
        found().take().filter(|_| !has_ended())
    }
}

/// Ends the timekeeper's thread.
struct End<'a>(&'a Timekeeper<'a>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let Timekeeper { signal, ended, .. } = self.0;
        signal.notify(|| ended.store(true, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::clock::Budget;
    use crate::play::clock::limits::Limits;
    use crate::process::time::ManualClock;
    use chess::game::Game;
    use mcts::{Line, Wdl};
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    const HARD: Duration = Duration::from_millis(12);

    fn signal(budget: Option<Budget>) -> (Arc<ManualClock>, Signal) {
        let clock = Arc::new(ManualClock::default());
        let limits = Limits { budget, ..Limits::default() };
        let signal = Signal::new(clock.clone(), Duration::ZERO, &limits);
        (clock, signal)
    }

    fn limit() -> Option<Budget> {
        Some(Budget { soft: HARD, hard: HARD, flag: HARD, flexible: true })
    }

    /// One line of this many visits.
    fn found(visits: u64) -> Snapshot<Action> {
        let moves = Game::default().legal_actions().into_iter().take(1).collect();
        let value = Wdl::from_score_and_draw(0.5, 0.0);
        let line = Line { moves, visits, value, mate_plies: None, prior: 0.5, q: 0.5 };
        Snapshot { lines: vec![line], ..Snapshot::default() }
    }

    #[test]
    fn a_late_search_is_answered_while_it_runs_with_the_last_or_the_first_that_it_found() {
        for is_found_in_time in [true, false] {
            let (clock, signal) = signal(limit());
            let timekeeper = Timekeeper::new(&signal);
            let (answer, answered) = mpsc::channel();
            let search = || {
                timekeeper.on_found(Snapshot::default());
                if is_found_in_time {
                    timekeeper.on_found(found(1));
                    timekeeper.on_found(found(2));
                }
                clock.advance(2 * HARD);
                signal.notify(|| {});
                if !is_found_in_time {
                    timekeeper.on_found(found(3));
                }
                answered.recv().unwrap()
            };
            let answer = move |found: Snapshot<Action>| answer.send(found.lines[0].visits).unwrap();
            let visits = timekeeper.watch(search, answer);
            assert_eq!(visits, if is_found_in_time { 2 } else { 3 });
        }
    }

    #[test]
    fn a_search_that_ends_in_time_has_no_other_answer() {
        for budget in [limit(), None] {
            let (clock, signal) = signal(budget);
            let timekeeper = Timekeeper::new(&signal);
            let search = || {
                timekeeper.on_found(found(1));
                clock.advance(HARD);
                signal.notify(|| {});
            };
            timekeeper.watch(search, |_| panic!("it has ended at its limit"));
        }
    }
}

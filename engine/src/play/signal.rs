//! What the GUI's thread tells one search: stop, ponderhit, and when the answer may be printed.
//!
//! Each search owns its signal, so a late `stop` can only reach the search it was meant for.

use super::limits::Limits;
use crate::time::Clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// No moment at all.
const NEVER: u64 = u64::MAX;

/// Shared by the GUI's thread and one search.
pub struct Signal {
    clock: Arc<dyn Clock>,
    stop: AtomicBool,
    answered: AtomicBool,
    heard: Duration,
    /// When our clock began to run, in nanoseconds; `NEVER` while pondering.
    started: AtomicU64,
    /// How long it may run from then on, in nanoseconds.
    hard: u64,
    infinite: bool,
    gate: Mutex<()>,
    opened: Condvar,
}

impl Signal {
    /// The signal of a search that `go` asked for at `heard`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, heard: Duration, limits: &Limits) -> Signal {
        Signal {
            clock,
            stop: AtomicBool::new(false),
            answered: AtomicBool::new(false),
            heard,
            started: AtomicU64::new(if limits.ponder { NEVER } else { nanos(heard) }),
            hard: limits.budget.map_or(NEVER, |budget| nanos(budget.hard)),
            infinite: limits.infinite,
            gate: Mutex::new(()),
            opened: Condvar::new(),
        }
    }

    /// Ends the search; its answer is due at once.
    pub fn stop(&self) {
        self.open(|| {
            // Relaxed: the flag is all the workers need; the answer itself travels through the gate's lock.
            self.stop.store(true, Ordering::Relaxed);
        });
    }

    /// The pondered move was played: our clock runs from now. Does nothing unless pondering.
    pub fn ponderhit(&self) {
        let now = nanos(self.clock.now());
        self.open(|| {
            // Relaxed: a single number that publishes nothing else.
            let _ = self.started.compare_exchange(NEVER, now, Ordering::Relaxed, Ordering::Relaxed);
        });
    }

    /// The answer is printed next: from now on the search's thread only ends.
    pub fn answer(&self) {
        // Release and Acquire: a GUI that has read the answer finds the search over.
        self.answered.store(true, Ordering::Release);
    }

    /// The answer is printed, or about to be.
    #[must_use]
    pub fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    fn open(&self, change: impl FnOnce()) {
        // Changing under the lock is what keeps `wait` from missing the notification.
        let _gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        change();
        self.opened.notify_all();
    }

    /// The GUI said `stop`, or the hard time is used up. Cheap: every worker polls it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_stopped()
            || self.hard != NEVER && self.used().is_some_and(|used| nanos(used) >= self.hard)
    }

    /// The GUI said `stop`.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        // Relaxed: see `stop`.
        self.stop.load(Ordering::Relaxed)
    }

    /// Time since `go` was heard, pondering included.
    #[must_use]
    pub fn since_go(&self) -> Duration {
        self.clock.now().saturating_sub(self.heard)
    }

    /// Time used of our clock; None while pondering.
    #[must_use]
    pub fn used(&self) -> Option<Duration> {
        // Relaxed: see `ponderhit`.
        let started = self.started.load(Ordering::Relaxed);
        (started != NEVER).then(|| self.clock.now().saturating_sub(Duration::from_nanos(started)))
    }

    /// Blocks until the answer may be printed: at once, or after `stop` (infinite) or `ponderhit` (ponder).
    pub fn wait(&self) {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_stopped() && (self.infinite || self.used().is_none()) {
            gate = self.opened.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NEVER).min(NEVER - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::clock::Budget;
    use crate::time::ManualClock;

    fn signal(hard: u64, ponder: bool, infinite: bool) -> (Arc<ManualClock>, Signal) {
        let clock = Arc::new(ManualClock::default());
        let hard = Duration::from_millis(hard);
        let budget = Some(Budget { soft: hard, hard, flag: hard, flexible: true });
        let limits = Limits { ponder, infinite, budget, ..Limits::default() };
        let signal = Signal::new(clock.clone(), Duration::ZERO, &limits);
        (clock, signal)
    }

    #[test]
    fn the_clock_runs_from_ponderhit() {
        let (clock, signal) = signal(100, true, false);
        clock.advance(Duration::from_secs(60));
        assert!(!signal.is_over());
        signal.ponderhit();
        clock.advance(Duration::from_millis(99));
        assert!(!signal.is_over());
        // A second ponderhit must not turn the clock back.
        signal.ponderhit();
        clock.advance(Duration::from_millis(1));
        assert!(signal.is_over());
        signal.wait();
    }

    #[test]
    fn infinite_waits_for_stop_alone() {
        let (_, signal) = signal(1, false, true);
        signal.ponderhit();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| signal.wait());
            signal.stop();
            waiting.join().unwrap();
        });
        assert!(signal.is_stopped());
    }
}

//! Signals of the GUI's thread to one search: stop, ponderhit, and when the answer may be printed.
//!
//! Each search owns its signal, so a late `stop` can only reach the search it was meant for.

use super::limits::Limits;
use crate::process::time::Clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// No moment at all.
const NEVER: u64 = u64::MAX;
/// Time that a search has after its hard limit for its end and its answer, where its threads have a core. Guess.
const GRACE: Duration = Duration::from_millis(2);

/// Shared by the GUI's thread and one search.
pub struct Signal {
    clock: Arc<dyn Clock>,
    stop: AtomicBool,
    answered: AtomicBool,
    /// Time used of our clock when the answer was printed before the search's end.
    early: OnceLock<Duration>,
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
            early: OnceLock::new(),
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
        self.notify(|| {
            // Relaxed: the flag is all the workers need; the answer itself travels through the gate's lock.
            self.stop.store(true, Ordering::Relaxed);
        });
    }

    /// The pondered move was played: our clock runs from now. Does nothing unless pondering.
    pub fn ponderhit(&self) {
        let now = nanos(self.clock.now());
        self.notify(|| {
            // Relaxed: a single number that publishes nothing else.
            let _ = self.started.compare_exchange(NEVER, now, Ordering::Relaxed, Ordering::Relaxed);
        });
    }

    /// The answer is printed next: from now on the search's thread only ends.
    pub fn answer(&self) {
        // Release and Acquire: a GUI that has read the answer finds the search over.
        self.answered.store(true, Ordering::Release);
    }

    /// The answer has been printed while the search goes on.
    pub fn answered_early(&self) {
        if let Some(used) = self.used() {
            self.early.get_or_init(|| used);
        }
    }

    /// Time used of our clock when the answer was printed, if that was before the search's end.
    #[must_use]
    pub fn used_early(&self) -> Option<Duration> {
        self.early.get().copied()
    }

    /// The answer is printed, or about to be.
    #[must_use]
    pub fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    /// Changes what a thread waits for.
    pub fn notify(&self, change: impl FnOnce()) {
        // Changing under the lock is what keeps those who wait from missing the notification.
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

    /// A clock ends the search, now or from `ponderhit` on.
    #[must_use]
    pub fn has_limit(&self) -> bool {
        self.hard != NEVER
    }

    /// Blocks until `is_over` is true, whose argument says that the search should have ended: asked at once, at each
    /// [`Signal::notify`] and when that moment comes.
    pub fn wait_until(&self, is_over: impl Fn(bool) -> bool) {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = self.time_left();
            if is_over(left.is_some_and(|left| left.is_zero())) {
                return;
            }
            gate = match left.filter(|left| !left.is_zero()) {
                Some(left) => {
                    let woken = self.opened.wait_timeout(gate, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.opened.wait(gate).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Until the search should have ended; None while pondering, without a limit, or on a test's clock.
    fn time_left(&self) -> Option<Duration> {
        // Relaxed: see `ponderhit`.
        let started = self.started.load(Ordering::Relaxed);
        if started == NEVER || !self.has_limit() {
            return None;
        }
        let end = Duration::from_nanos(started.saturating_add(self.hard)) + GRACE;
        self.clock.time_until(end)
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
    use crate::process::time::ManualClock;

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

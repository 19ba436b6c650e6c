//! Where time comes from. The clock is a parameter, so that tests and the bench move it themselves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time since some fixed moment. Shared by threads; never goes back.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Duration;

    /// How long a thread may sleep until the clock shows `moment`, zero if it does; None where that depends on a
    /// test, which moves the clock. Moves no clock itself.
    fn time_until(&self, moment: Duration) -> Option<Duration>;
}

/// The machine's own monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn time_until(&self, moment: Duration) -> Option<Duration> {
        Some(moment.saturating_sub(self.now()))
    }
}

/// A clock that moves `step` further each time it is read, or only by [`ManualClock::advance`] (step zero).
#[derive(Debug, Default)]
pub struct ManualClock {
    nanos: AtomicU64,
    step: u64,
}

impl ManualClock {
    /// A clock that moves by `step` at each look.
    #[must_use]
    pub fn stepping(step: Duration) -> ManualClock {
        ManualClock { nanos: AtomicU64::new(0), step: nanos(step) }
    }

    /// Moves the clock.
    pub fn advance(&self, by: Duration) {
        // Relaxed: the number itself is all that is shared.
        self.nanos.fetch_add(nanos(by), Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        // Relaxed: as above.
        Duration::from_nanos(self.nanos.fetch_add(self.step, Ordering::Relaxed))
    }

    fn time_until(&self, moment: Duration) -> Option<Duration> {
        // One that moves by itself would be late at another step each time.
        let shows = self.step == 0 && self.now() >= moment;
        shows.then_some(Duration::ZERO)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_on_demand() {
        let clock = ManualClock::default();
        assert_eq!(clock.now(), clock.now());
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.now(), Duration::from_secs(1));
        let stepping = ManualClock::stepping(Duration::from_millis(1));
        assert!(stepping.now() < stepping.now());
    }
}

//! How much time one move may use: a pure function of what the GUI said.

pub(crate) mod lag;
pub(crate) mod limits;
pub(crate) mod signal;
pub(crate) mod timekeeper;

use crate::options::settings::MOVES_LEFT;
use std::time::Duration;

/// The mover's clock, in milliseconds as the GUI gave them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockState {
    /// Time left; may be zero or negative.
    pub remaining: i64,
    /// Added after each move.
    pub increment: i64,
    /// Moves until the next time control; None or 0 = the rest of the game.
    pub moves_to_go: Option<u32>,
}

/// The share of their soft limits that recent moves used. Easy moves end early; what they leave is given to
/// the others, or the clock would stay half full (after lc0's time manager "smooth", its `timeuse`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUse {
    share: f64,
}

/// Share of the time known for the first move of a game. Guess.
const FIRST_SHARE: f64 = 0.8;
/// No move gets more than three times its even share because others were easy. Guess; lc0's bound is 0.34.
const LEAST_SHARE: f64 = 0.35;
/// Weight of one move among its predecessors. Guess: a dozen moves are remembered.
const LEARNING: f64 = 0.08;

impl Default for TimeUse {
    fn default() -> TimeUse {
        TimeUse { share: FIRST_SHARE }
    }
}

impl TimeUse {
    /// A move took `used` of its soft limit `soft`.
    pub fn learn(&mut self, used: Duration, soft: Duration) {
        let share = used.as_secs_f64() / soft.as_secs_f64().max(1e-6);
        self.share += LEARNING * (share.min(1.0) - self.share);
    }

    /// The soft limit of which a usual move takes `wanted` milliseconds.
    fn soft_for(self, wanted: i64) -> i64 {
        (wanted as f64 / self.share.clamp(LEAST_SHARE, 1.0)) as i64
    }
}

/// The part of the options and the game so far in a budget.
#[derive(Clone, Copy, Debug)]
pub struct TimeSettings {
    /// Milliseconds that each move loses on its way to the GUI.
    pub overhead: i64,
    /// Moves that a game without time control is taken to last from here on.
    pub moves_left: i64,
    /// The GUI will let the engine ponder.
    pub ponder: bool,
    /// How the moves before used their time.
    pub time_use: TimeUse,
    /// Milliseconds of the clock that are kept for stalls of the machine (`crate::play::clock::lag`).
    pub reserve: i64,
    /// Milliseconds by which a search may miss the hard limit on this machine (`crate::play::clock::lag`).
    pub overrun: i64,
}

impl Default for TimeSettings {
    fn default() -> TimeSettings {
        TimeSettings {
            overhead: 0,
            moves_left: MOVES_LEFT,
            ponder: false,
            time_use: TimeUse::default(),
            reserve: 0,
            overrun: 0,
        }
    }
}

/// How long one move may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The aim; a search may leave it early, or stretch it when its best move wavers.
    pub soft: Duration,
    /// Never passed.
    pub hard: Duration,
    /// When the clock runs out, less the overhead.
    pub flag: Duration,
    /// False for `movetime`: the GUI asked for exactly that long.
    pub flexible: bool,
}

/// Ten years: beyond any game, far from any overflow.
const LONGEST_MS: i64 = 10 * 365 * 86_400_000;
/// Minimum moves to go without an increment: the clock must last the whole game. Guess.
const SUDDEN_DEATH: i64 = 32;
/// Most moves to a time control that get their share now. Guess.
const MOST_TO_GO: i64 = 32;
/// Clock, in milliseconds, that no move can keep to. Adapters that subtract their own overhead send it.
const OVERDRAWN: i64 = 1;

impl Budget {
    /// For `movetime`.
    #[must_use]
    pub fn fixed(movetime: i64, settings: TimeSettings) -> Budget {
        let total = movetime.clamp(1, LONGEST_MS);
        let overrun = settings.overrun.clamp(0, total / 4);
        let time = millis(total - reserve(total, settings.overhead) - overrun);
        Budget { soft: time, hard: time, flag: time, flexible: false }
    }

    /// For a running clock. Pondering spends a quarter more, because the opponent's time is ours too.
    #[must_use]
    pub fn from_clock(clock: ClockState, settings: TimeSettings) -> Budget {
        let overhead = settings.overhead;
        let increment = clock.increment.clamp(0, LONGEST_MS);
        let remaining = match clock.remaining {
            // A GUI that lets an overdrawn clock run grants the increment. A move gets an eighth of it, so that the clock
            // recovers.
            ..=OVERDRAWN => (increment / 2).max(OVERDRAWN),
            remaining => remaining.min(LONGEST_MS),
        };
        let usable = remaining - reserve(remaining, overhead);
        // Without an increment the clock must be spent in the end, reserve and all.
        let most = if increment > 0 { usable } else { usable / 8 };
        let spendable = usable - settings.reserve.clamp(0, most);
        let expected = match increment {
            0 => settings.moves_left.max(SUDDEN_DEATH),
            _ => settings.moves_left.max(1),
        };
        let moves = clock
            .moves_to_go
            .filter(|moves| *moves > 0)
            .map_or(expected, |moves| i64::from(moves).min(MOST_TO_GO));
        // Each later move brings its increment and costs its overhead. With 10 ms a move and 50 ms overhead
        // there is nothing left to spend, and the share of the clock must shrink with the clock.
        let gain = (increment - overhead.max(0)).max(increment / 4);
        let even = (spendable + gain.saturating_mul(moves - 1)) / moves;
        let mut soft = settings.time_use.soft_for(even);
        if settings.ponder {
            soft += soft / 4;
        }
        // The last move before the control may use what is left, less a fifth for surprises; otherwise no
        // single move takes more than a quarter of the clock.
        let ceiling = match moves {
            1 => spendable.min(remaining * 4 / 5),
            2 => spendable / 2,
            _ => spendable / 4,
        };
        // Half the increment comes back whatever is kept, less what the answer takes beyond the limit.
        let overrun = settings.overrun.max(0);
        let floor = ((increment - overrun).max(increment / 4) / 2).min(usable / 4);
        let hard = soft.saturating_mul(3).min(ceiling).max(floor).min(usable - overrun).max(1);
        Budget {
            soft: millis(soft.max(floor).min(hard)),
            hard: millis(hard),
            flag: millis(usable),
            flexible: true,
        }
    }
}

/// The part of `total` kept for the way to the GUI: the option's value, but at most a twentieth, so that
/// a short clock is not all overhead.
fn reserve(total: i64, overhead: i64) -> i64 {
    overhead.clamp(0, total / 20)
}

fn millis(ms: i64) -> Duration {
    Duration::from_millis(ms.max(1).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(remaining: i64, increment: i64, moves_to_go: Option<u32>) -> ClockState {
        ClockState { remaining, increment, moves_to_go }
    }

    #[test]
    fn hard_never_reaches_the_flag_and_soft_never_passes_hard() {
        let times = [i64::MIN, -5, 0, 1, 2, 10, 99, 1_000, 60_000, 7_200_000, i64::MAX];
        let increments = [i64::MIN, -1, 0, 1, 10, 100, 60_000, i64::MAX];
        for remaining in times {
            for increment in increments {
                for moves in [None, Some(0), Some(1), Some(2), Some(40), Some(u32::MAX)] {
                    for overhead in [0, 50, 5_000] {
                        let state = clock(remaining, increment, moves);
                        let settings =
                            TimeSettings { overhead, ponder: true, ..TimeSettings::default() };
                        let budget = Budget::from_clock(state, settings);
                        assert!(budget.soft <= budget.hard);
                        assert!(budget.soft >= Duration::from_millis(1));
                        let granted = if remaining <= 1 { increment / 2 } else { remaining };
                        let flag = Duration::from_millis(granted.max(2).unsigned_abs());
                        assert!(budget.hard < flag, "{remaining} {increment} {moves:?} {budget:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn overhead_takes_at_most_a_twentieth() {
        let hard = |movetime| Budget::fixed(movetime, usual()).hard.as_millis();
        assert_eq!([100, 10_000, 0, -7].map(hard), [95, 9_950, 1, 1]);
    }

    #[test]
    fn an_overdrawn_clock_is_lent_a_share_of_the_increment() {
        let hard = |remaining, increment| {
            Budget::from_clock(clock(remaining, increment, None), usual()).hard.as_millis()
        };
        for remaining in [1, 0, -500, i64::MIN] {
            assert!((100..200).contains(&hard(remaining, 1_000)), "{remaining}");
            assert_eq!(hard(remaining, 0), 1, "{remaining}");
        }
        assert!(hard(10, 1_000) < 10, "a clock that may be right is kept");
    }

    #[test]
    fn late_answers_shorten_the_limits() {
        let late = |overrun| TimeSettings { overrun, ..usual() };
        let fixed = |overrun| Budget::fixed(500, late(overrun)).hard.as_millis();
        assert_eq!([0, 30, 9_000].map(fixed), [475, 445, 350]);
        let low = |overrun| Budget::from_clock(clock(52, 50, None), late(overrun)).hard.as_millis();
        assert_eq!([0, 20, 45, 400].map(low), [12, 12, 5, 1]);
        // A clock below its reserve recovers though each answer is late.
        let settings = TimeSettings { reserve: 200, ..late(30) };
        let mut left = 80;
        for _ in 0..50 {
            let budget = Budget::from_clock(clock(left, 50, None), settings);
            left += 50 - 30 - i64::try_from(budget.hard.as_millis()).unwrap();
        }
        assert!(left >= 200, "{left}");
    }

    /// The default options at the start of a game.
    fn usual() -> TimeSettings {
        TimeSettings { overhead: 50, ..TimeSettings::default() }
    }

    /// Milliseconds left of a clock of 10 s and 0.1 s a move after `moves` moves that each use `share` of
    /// their soft limit, without any lag.
    fn left_after(moves: u32, share: f64) -> i64 {
        let (mut left, mut settings) = (10_000, usual());
        for _ in 0..moves {
            let budget = Budget::from_clock(clock(left, 100, None), settings);
            let used = budget.soft.mul_f64(share);
            settings.time_use.learn(used, budget.soft);
            left += 100 - i64::try_from(used.as_millis()).unwrap();
        }
        left
    }

    #[test]
    fn moves_that_end_early_leave_their_time_to_others() {
        for share in [0.4, 0.6, 0.8, 1.0] {
            let left = left_after(60, share);
            assert!((1_000..2_000).contains(&left), "{share}: {left} ms");
        }
    }

    #[test]
    fn the_overhead_of_a_move_is_charged_once() {
        let soft = |overhead, moves| {
            let mut settings = TimeSettings { overhead, ..TimeSettings::default() };
            settings.time_use.share = 1.0;
            Budget::from_clock(clock(10_000, 1_000, Some(moves)), settings).soft.as_millis()
        };
        for moves in [10, 20, 30] {
            assert_eq!(soft(0, moves) - soft(100, moves), 100, "{moves} moves to go");
        }
    }

    #[test]
    fn a_reserve_is_kept_while_an_increment_feeds_the_clock() {
        let lowest = |reserve, increment| {
            let settings = TimeSettings { reserve, ..usual() };
            let mut left = 500;
            for _ in 0..200 {
                let budget = Budget::from_clock(clock(left, increment, None), settings);
                left += increment - i64::try_from(budget.hard.as_millis()).unwrap();
            }
            left
        };
        assert!(lowest(0, 6) < 50);
        assert!(lowest(100, 6) >= 100);
        assert!(lowest(100, 0) < 50, "it is spent where nothing else is left");
    }

    /// Plays `moves` moves, each taking its whole hard budget plus `lag`; returns the time left.
    fn worst_game(start: i64, increment: i64, lag: i64, moves: u32) -> i64 {
        let mut left = start;
        for _ in 0..moves {
            let budget = Budget::from_clock(clock(left, increment, None), usual());
            left -= i64::try_from(budget.hard.as_millis()).unwrap() + lag;
            if left < 0 {
                return left;
            }
            left += increment;
        }
        left
    }

    #[test]
    fn a_game_of_hard_limits_does_not_lose_on_time() {
        assert!(worst_game(10_000, 100, 20, 300) > 0);
        assert!(worst_game(1_000, 10, 5, 300) > 0);
        assert!(worst_game(60_000, 0, 0, 80) > 0);
    }
}

//! Lag: the time that a move loses outside its search, to a stall of the machine or on the way to the GUI and back.
//! It is measured in each game. Two to four times the worst is kept as a reserve of the clock; searches end earlier where
//! answers were late (`docs/src/search.md`).

use super::{Budget, ClockState};
use chess::game::Game;
use std::time::Duration;

/// The lag assumed before any is measured, in milliseconds. Guess.
const FIRST: f64 = 10.0;
/// The overrun assumed before any is measured, in milliseconds. Guess.
const FIRST_OVERRUN: f64 = 5.0;
/// Factor by which the worst lag fades with each move. Guess: half of it is left after 34 moves.
const FADING: f64 = 0.98;
/// Reserve per millisecond of the worst lag: the next stall may be a longer one. Guess.
const RESERVE: f64 = 2.0;
/// Up to this lag, in milliseconds, the reserve is twice as much: a short stall says less of the longest. Guess.
const SHORT: f64 = 100.0;
/// A longer overrun, in milliseconds, is an exception, such as a network that was loaded on the clock.
const LONGEST_OVERRUN: f64 = 250.0;
/// A longer lag, in milliseconds, is taken for a clock that was set by hand.
const LONGEST: i64 = 2_000;

/// The lag of one game's moves.
#[derive(Clone, Debug)]
pub struct Lag {
    /// In milliseconds, fading.
    worst: f64,
    /// By which searches missed their hard limits: in milliseconds, fading.
    overrun: f64,
    /// The GUI's clock at the next move if no time were lost.
    expected: Option<Expected>,
}

#[derive(Clone, Debug)]
struct Expected {
    /// Milliseconds.
    remaining: i64,
    /// Positions of the game when the engine moved, and the last one's key.
    positions: usize,
    key: u64,
}

impl Default for Lag {
    fn default() -> Lag {
        Lag { worst: FIRST, overrun: FIRST_OVERRUN, expected: None }
    }
}

impl Lag {
    /// Milliseconds of the clock that no search should spend.
    #[must_use]
    pub fn reserve(&self) -> i64 {
        (RESERVE * (self.worst + self.worst.min(SHORT))) as i64
    }

    /// Milliseconds by which a search should end earlier than its time does: beside other busy programs, its threads
    /// wait for a core.
    #[must_use]
    pub fn overrun(&self) -> i64 {
        (RESERVE * self.overrun) as i64
    }

    /// A `go` came in `game` with the mover's `clock`. Time that is missing from it is lag, if the game is the one
    /// that the engine moved in last.
    pub fn on_go(&mut self, game: &Game, clock: ClockState) {
        let Some(expected) = self.expected.take() else { return };
        let keys = game.keys();
        let same = keys.len() == expected.positions + 2
            && keys.get(expected.positions - 1) == Some(&expected.key);
        let lost = expected.remaining.saturating_sub(clock.remaining);
        if same && lost <= LONGEST {
            self.see(lost as f64);
        }
    }

    /// The longest time that a search did not look at its clock: one evaluation, or a stall in it.
    pub fn on_pause(&mut self, pause: Duration) {
        self.see(1e3 * pause.as_secs_f64());
    }

    /// A search ended after `used` of a `budget`; its answer may have been printed before ([`super::timekeeper`]).
    pub fn on_end(&mut self, budget: Budget, used: Duration) {
        self.overrun *= FADING;
        let overrun = 1e3 * used.saturating_sub(budget.hard).as_secs_f64();
        if overrun <= LONGEST_OVERRUN {
            self.overrun = self.overrun.max(overrun);
            self.see(overrun);
        }
    }

    /// The engine has moved in `game`, and `used` as much of its `clock`.
    pub fn on_best_move(&mut self, game: &Game, clock: ClockState, used: Duration) {
        self.worst *= FADING;
        let used = i64::try_from(used.as_millis()).unwrap_or(i64::MAX);
        let remaining = clock.remaining.saturating_sub(used).saturating_add(clock.increment);
        let keys = game.keys();
        self.expected =
            keys.last().map(|key| Expected { remaining, positions: keys.len(), key: *key });
    }

    fn see(&mut self, lag: f64) {
        self.worst = self.worst.max(lag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(remaining: i64) -> ClockState {
        ClockState { remaining, increment: 10, moves_to_go: None }
    }

    /// The lag after a move of 100 ms of 1,000 without a pause, and a clock of `remaining` at the next one, two plies
    /// later if `moves` are played.
    fn after(remaining: i64, moves: [&str; 2]) -> Lag {
        let (mut game, mut lag) = (Game::default(), Lag::default());
        lag.on_go(&game, clock(1_000));
        lag.on_best_move(&game, clock(1_000), Duration::from_millis(100));
        for text in moves.iter().filter(|text| !text.is_empty()) {
            game.play_uci(text).unwrap();
        }
        lag.on_go(&game, clock(remaining));
        lag
    }

    #[test]
    fn time_missing_from_the_next_clock_is_lag() {
        let usual = after(910, ["e2e4", "e7e5"]).reserve();
        assert!(usual < 4 * FIRST as i64);
        assert_eq!(after(905, ["e2e4", "e7e5"]).reserve(), usual, "less than is assumed");
        assert_eq!(after(810, ["e2e4", "e7e5"]).reserve(), 400);
        assert_eq!(after(510, ["e2e4", "e7e5"]).reserve(), 1_000);
        assert_eq!(after(5_000, ["e2e4", "e7e5"]).reserve(), usual, "a new time control");
        assert_eq!(after(i64::MIN, ["e2e4", "e7e5"]).reserve(), usual, "set by hand");
        assert_eq!(after(810, ["", ""]).reserve(), usual, "not the next move");
    }

    #[test]
    fn a_pause_of_the_search_is_remembered_and_fades() {
        let (game, mut lag) = (Game::default(), Lag::default());
        let mut play = |pause| {
            lag.on_pause(Duration::from_millis(pause));
            lag.on_best_move(&game, clock(1_000), Duration::ZERO);
            lag.reserve()
        };
        assert_eq!(play(80), 313);
        let later = (0..34).map(|_| play(1)).last();
        assert!(later.is_some_and(|later| (140..180).contains(&later)), "{later:?}");
    }

    #[test]
    fn late_answers_are_remembered_and_fade() {
        let mut lag = Lag::default();
        let mut answer = |used| {
            let hard = Duration::from_millis(100);
            let budget = Budget { soft: hard, hard, flag: hard, flexible: false };
            lag.on_end(budget, Duration::from_millis(used));
            lag.overrun()
        };
        assert_eq!((answer(90), answer(120)), (9, 40));
        assert!(answer(3_000) <= 40, "a network was loaded");
        let later = (0..200).map(|_| answer(99)).last();
        assert_eq!(later, Some(0), "the machine has nothing else to do");
    }
}

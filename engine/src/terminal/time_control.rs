//! Clocks of both players.

use shakmaty::{ByColor, Color};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Longest time of a game and of an increment: a day.
const LONGEST: f64 = 86_400.0;

/// Time for a game, and more for each move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeControl {
    /// At the start.
    pub base: Duration,
    /// Added after each move.
    pub increment: Duration,
}

/// A time control that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeControlError;

impl fmt::Display for TimeControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a time for the game and more for each move, such as 5m+3s, 90s or 1h")
    }
}

impl std::error::Error for TimeControlError {}

impl FromStr for TimeControl {
    type Err = TimeControlError;

    /// `5m+3s`, `90s`, `1h`.
    fn from_str(text: &str) -> Result<TimeControl, TimeControlError> {
        let (base, increment) = text.split_once('+').unwrap_or((text, "0s"));
        let (base, increment) = (duration(base)?, duration(increment)?);
        match base.is_zero() {
            true => Err(TimeControlError),
            false => Ok(TimeControl { base, increment }),
        }
    }
}

fn duration(text: &str) -> Result<Duration, TimeControlError> {
    let text = text.trim();
    let unit = |(name, seconds)| text.strip_suffix(name).map(|number| (number, seconds));
    let (number, unit) = [("h", 3600.0), ("m", 60.0), ("s", 1.0)]
        .into_iter()
        .find_map(unit)
        .ok_or(TimeControlError)?;
    let seconds = number.trim().parse::<f64>().map_err(|_| TimeControlError)? * unit;
    match (0.0..=LONGEST).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(TimeControlError),
    }
}

impl TimeControl {
    /// The value of the tag TimeControl, `300+3`, in seconds.
    #[must_use]
    pub fn tag(self) -> String {
        match (self.base.as_secs_f64(), self.increment.as_secs_f64()) {
            (base, 0.0) => format!("{base}"),
            (base, increment) => format!("{base}+{increment}"),
        }
    }

    /// Reads such a tag.
    #[must_use]
    pub fn of_tag(value: &str) -> Option<TimeControl> {
        let (base, increment) = value.split_once('+').unwrap_or((value, "0"));
        format!("{base}s+{increment}s").parse().ok()
    }
}

/// The time that both players have left.
#[derive(Clone, Copy, Debug)]
pub struct GameClocks {
    /// The time control of both sides.
    pub control: TimeControl,
    left: ByColor<Duration>,
}

impl GameClocks {
    /// Clocks before the first move.
    #[must_use]
    pub fn new(control: TimeControl) -> GameClocks {
        GameClocks { control, left: ByColor { white: control.base, black: control.base } }
    }

    /// Sets one clock.
    pub fn set(&mut self, color: Color, left: Duration) {
        self.left[color] = left;
    }

    /// The time that a player has left.
    #[must_use]
    pub fn left(&self, color: Color) -> Duration {
        self.left[color]
    }

    /// A player thought for this long. False if the time is over.
    pub fn spend(&mut self, color: Color, used: Duration) -> bool {
        self.left[color] = self.left[color].saturating_sub(used);
        !self.left[color].is_zero()
    }

    /// A player has moved.
    pub fn add_increment(&mut self, color: Color) {
        self.left[color] += self.control.increment;
    }
}

/// The comment that keeps the time left after a move.
#[must_use]
pub fn clock_comment(left: Duration) -> String {
    format!("[%clk {}]", clock_text(left))
}

/// The time in such a comment.
#[must_use]
pub fn clock_in(comment: &str) -> Option<Duration> {
    let (_, rest) = comment.split_once("[%clk ")?;
    let (text, _) = rest.split_once(']')?;
    let add = |sum: Option<f64>, part: &str| Some(sum? * 60.0 + part.trim().parse::<f64>().ok()?);
    let seconds = text.split(':').fold(Some(0.0), add)?;
    (0.0..=10.0 * LONGEST).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

/// `0:04:58`, to the second below.
#[must_use]
pub fn clock_text(left: Duration) -> String {
    let seconds = left.as_secs();
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_controls_are_read_and_kept_in_a_tag() {
        for (text, base, increment, tag) in [
            ("5m+3s", 300.0, 3.0, "300+3"),
            ("90s", 90.0, 0.0, "90"),
            ("1h", 3600.0, 0.0, "3600"),
            ("0.5m + 0.1s", 30.0, 0.1, "30+0.1"),
        ] {
            let control: TimeControl = text.parse().unwrap();
            assert_eq!(control.base.as_secs_f64(), base, "{text}");
            assert_eq!(control.increment.as_secs_f64(), increment, "{text}");
            assert_eq!((control.tag().as_str(), TimeControl::of_tag(tag)), (tag, Some(control)));
        }
        for text in ["", "5", "5m3s", "0s", "-1m", "NaNs", "infs", "1e9h", "+3s", "5m+", "é"] {
            assert!(text.parse::<TimeControl>().is_err(), "{text}");
        }
        assert_eq!(TimeControl::of_tag("40/7200:3600"), None);
    }

    #[test]
    fn clocks_run_down_and_are_kept_in_comments() {
        let mut clocks = GameClocks::new("1m+2s".parse().unwrap());
        assert!(clocks.spend(Color::White, Duration::from_millis(2_500)));
        clocks.add_increment(Color::White);
        assert_eq!(clock_comment(clocks.left(Color::White)), "[%clk 0:00:59]");
        assert_eq!(clock_text(clocks.left(Color::Black)), "0:01:00");
        assert!(!clocks.spend(Color::Black, Duration::from_secs(60)));
        let second = Duration::from_secs;
        assert_eq!(clock_in("[%eval 0.1] [%clk 1:00:05]"), Some(second(3605)));
        assert_eq!(clock_in("[%clk 0:59.5]"), Some(Duration::from_millis(59_500)));
        for text in ["", "[%clk ]", "[%clk x]", "[%clk -1]", "[%clk 1"] {
            assert_eq!(clock_in(text), None, "{text}");
        }
    }
}

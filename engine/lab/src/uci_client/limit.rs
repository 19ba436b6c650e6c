//! Limit of a player: clock, time per move, nodes or depth.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use uci::Go;

/// Limit of one player for the whole match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `base` per game, or per `moves` moves; `increment` per move.
    Clock {
        base: Duration,
        increment: Duration,
        moves: Option<u32>,
    },
    MoveTime(Duration),
    Nodes(u64),
    Depth(u32),
}

impl Limit {
    /// The PGN tag `TimeControl`: `-` unless it is a time.
    #[must_use]
    pub fn pgn(&self) -> String {
        match self {
            Limit::Clock { base, increment, moves } => {
                let moves = moves.map(|moves| format!("{moves}/")).unwrap_or_default();
                let base = base.as_secs_f64();
                if increment.is_zero() {
                    format!("{moves}{base}")
                } else {
                    format!("{moves}{base}+{}", increment.as_secs_f64())
                }
            }
            Limit::MoveTime(time) => format!("1/{}", time.as_secs_f64()),
            Limit::Nodes(_) | Limit::Depth(_) => "-".to_owned(),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Clock { .. } => f.write_str(&self.pgn()),
            Limit::MoveTime(time) => write!(f, "{} ms a move", time.as_millis()),
            Limit::Nodes(nodes) => write!(f, "{nodes} nodes"),
            Limit::Depth(depth) => write!(f, "depth {depth}"),
        }
    }
}

/// Text that is no time control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockError(String);

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no time control; write [MOVES/]SECONDS[+INCREMENT], as in 10+0.1",
            self.0
        )
    }
}

impl std::error::Error for ClockError {}

/// Parses a clock: `10+0.1`, `40/60`, `1:30+1` (minutes and seconds).
impl FromStr for Limit {
    type Err = ClockError;

    fn from_str(text: &str) -> Result<Limit, ClockError> {
        read_clock(text).ok_or_else(|| ClockError(text.to_owned()))
    }
}

fn read_clock(text: &str) -> Option<Limit> {
    let (moves, rest) = match text.split_once('/') {
        Some((moves, rest)) => (Some(moves.parse().ok().filter(|&moves| moves > 0)?), rest),
        None => (None, text),
    };
    let (base, increment) = rest.split_once('+').unwrap_or((rest, "0"));
    let base = match base.split_once(':') {
        Some((minutes, seconds)) => read_seconds(minutes)? * 60 + read_seconds(seconds)?,
        None => read_seconds(base)?,
    };
    let increment = read_seconds(increment)?;
    if base.is_zero() && increment.is_zero() {
        return None;
    }
    Some(Limit::Clock { base, increment, moves })
}

fn read_seconds(text: &str) -> Option<Duration> {
    // Four months: no overflow.
    let longest = Duration::from_secs(10_000_000);
    Duration::try_from_secs_f64(text.parse().ok()?).ok().filter(|&time| time <= longest)
}

/// One player's clock during a game.
#[derive(Clone, Debug)]
pub struct Clock {
    limit: Limit,
    left: Duration,
    /// Moves until the next time control, if any.
    moves_left: Option<u32>,
}

impl Clock {
    #[must_use]
    pub fn new(limit: Limit) -> Clock {
        match limit {
            Limit::Clock { base, increment, moves } => {
                // As in GUIs, the first move's increment is added before it.
                Clock { limit, left: base + increment, moves_left: moves }
            }
            _ => Clock { limit, left: Duration::ZERO, moves_left: None },
        }
    }

    /// Time for the next move; None without a time limit.
    #[must_use]
    pub fn budget(&self) -> Option<Duration> {
        match self.limit {
            Limit::Clock { .. } => Some(self.left),
            Limit::MoveTime(time) => Some(time),
            Limit::Nodes(_) | Limit::Depth(_) => None,
        }
    }

    /// Subtracts one move. False if the flag fell: more than `margin` over the budget.
    pub fn spend(&mut self, elapsed: Duration, margin: Duration) -> bool {
        let Some(budget) = self.budget() else {
            return true;
        };
        if elapsed > budget + margin {
            return false;
        }
        if let Limit::Clock { base, increment, moves } = self.limit {
            self.left = self.left.saturating_sub(elapsed) + increment;
            if let Some(left) = &mut self.moves_left {
                *left -= 1;
                if *left == 0 {
                    *left = moves.unwrap_or(1);
                    self.left += base;
                }
            }
        }
        true
    }

    /// The `go` command for this clock; `other` is the opponent's.
    #[must_use]
    pub fn go(&self, other: &Clock, white: bool) -> Go {
        let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let mut go = Go::default();
        match self.limit {
            Limit::Nodes(nodes) => go.nodes = Some(nodes),
            Limit::Depth(depth) => go.depth = Some(depth),
            Limit::MoveTime(time) => go.movetime = Some(milliseconds(time).max(1)),
            Limit::Clock { .. } => {
                let (white, black) = if white { (self, other) } else { (other, self) };
                // Omitted for a player without a clock.
                let shown = |clock: &Clock| match clock.limit {
                    Limit::Clock { increment, .. } => {
                        (Some(milliseconds(clock.left).max(1)), Some(milliseconds(increment)))
                    }
                    _ => (None, None),
                };
                (go.wtime, go.winc) = shown(white);
                (go.btime, go.binc) = shown(black);
                go.movestogo = self.moves_left;
            }
        }
        go
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: Duration = Duration::from_millis(10);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn clocks_are_read_as_people_write_them() {
        let clock = |base, increment, moves| {
            Ok(Limit::Clock { base: ms(base), increment: ms(increment), moves })
        };
        assert_eq!("10+0.1".parse(), clock(10_000, 100, None));
        assert_eq!("40/60".parse(), clock(60_000, 0, Some(40)));
        assert_eq!("1:30+1".parse(), clock(90_000, 1000, None));
        assert_eq!("0+0.1".parse(), clock(0, 100, None));
        for bad in ["", "0", "-1", "ten", "0/10", "10+", "10+x", "1e400", "1e15", "nan"] {
            assert!(bad.parse::<Limit>().is_err(), "{bad}");
        }
    }

    #[test]
    fn clocks_are_printed_as_they_were_read() {
        for text in ["10+0.1", "40/60", "0.2+0.01"] {
            assert_eq!(text.parse::<Limit>().map(|limit| limit.pgn()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn increment_comes_with_every_move_the_first_included() {
        let mut clock = Clock::new("1+0.5".parse().unwrap());
        assert_eq!(clock.budget(), Some(ms(1500)));
        assert!(clock.spend(ms(700), MARGIN));
        assert_eq!(clock.budget(), Some(ms(1300)));
    }

    #[test]
    fn flag_falls_only_beyond_the_margin() {
        let mut clock = Clock::new("1".parse().unwrap());
        assert!(clock.clone().spend(ms(1010), MARGIN));
        assert!(!clock.spend(ms(1011), MARGIN));
    }

    #[test]
    fn moves_to_go_counts_down_and_refills() {
        let mut clock = Clock::new("2/1".parse().unwrap());
        let other = clock.clone();
        assert_eq!(
            clock.go(&other, true).to_string(),
            "go wtime 1000 btime 1000 winc 0 binc 0 movestogo 2"
        );
        clock.spend(ms(400), MARGIN);
        assert_eq!(
            clock.go(&other, false).to_string(),
            "go wtime 1000 btime 600 winc 0 binc 0 movestogo 1"
        );
        clock.spend(ms(400), MARGIN);
        assert_eq!(clock.budget(), Some(ms(1200)));
    }

    #[test]
    fn limits_without_a_clock_never_lose_on_time() {
        let mut nodes = Clock::new(Limit::Nodes(400));
        assert!(nodes.spend(ms(1_000_000), MARGIN));
        let clock = Clock::new("1".parse().unwrap());
        assert_eq!(nodes.go(&clock, true).to_string(), "go nodes 400");
        assert_eq!(clock.go(&nodes, false).to_string(), "go btime 1000 binc 0");
    }
}
